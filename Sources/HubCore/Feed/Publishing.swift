import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

// MARK: - Publishing

extension Door {
    /// Publishes what a commit stored, in the order of the sequence.
    ///
    /// - Parameter publications: made one by one, and none at all while nobody listens to anything.
    func publish(_ publications: some Sequence<Publication>) {
        readSubscriptions()
        guard feeds.contains(where: { !$0.audience.isEmpty }) else { return }
        let epoch = store.epoch
        for publication in publications {
            choose(publication.topic, publication.readership)
            guard !chosen.isEmpty else { continue }
            encoded.removeAll(keepingCapacity: true)
            RecordEncoder.append(publication.record, to: &encoded)
            let place = Place(sequence: publication.record.sequence, previous: publication.previous, epoch: epoch)
            sendToChosen(publication.topic, place, encoded[...])
        }
    }

    /// Publishes what is not stored to all that listen to the topic and may read it.
    func publish(_ topic: Topic, _ body: [UInt8], to readership: Readership) {
        choose(topic, readership)
        if !chosen.isEmpty { sendToChosen(topic, .passing(in: store.epoch), body[...]) }
    }

    /// Fills `chosen` with the feeds on which somebody wants the topic and may read it.
    func choose(_ topic: Topic, _ readership: Readership) {
        chosen.removeAll(keepingCapacity: true)
        for feed in feeds where feed.wants(topic, for: readership) { chosen.append(feed) }
    }

    func sendToChosen(_ topic: Topic, _ place: Place, _ body: ArraySlice<UInt8>) {
        var frames = Multipart()  // As the door's, out of the actor meanwhile.
        swap(&frames, &outgoing)
        defer { swap(&frames, &outgoing) }
        frames.removeAll()
        frames.append(topic.text)
        placeText.removeAll(keepingCapacity: true)
        place.append(to: &placeText)
        frames.append(placeText)
        frames.append(body)
        for (index, feed) in chosen.enumerated() {
            do throws(ZeroMQError) {
                if index < chosen.count - 1 {
                    var copy = frames.copy()
                    try feed.send(&copy)
                } else {
                    try feed.send(&frames)
                }
            } catch {
                isBroken(feed, error)
            }
        }
    }

    func isBroken(_ feed: Feed, _ error: ZeroMQError) {
        logger.error("a feed broke", metadata: ["feed": "\(feed.endpoint)", "error": "\(error)"])
    }

    /// The head has moved: say so within a second (R7.3).
    func headMoved() {
        onDeliveries { $0.wakeAll() }
        guard pulse.begin() else { return }
        loop.schedule(after: Pulse.afterBurst) { [weak self] in self?.assumeIsolated { $0.sayPulse() } }
    }

    private func sayPulse() {
        pulse.said()
        readSubscriptions()
        let cursor = store.cursor
        let body = RawJSON(
            encoding:
                PulseBody(epoch: cursor.epoch, head: cursor.sequence, time: facts.clock.time.text))
        publish(.pulse, body.bytes, to: .everyone)
    }

    func pulseRegularly() {
        sayPulse()
        publishWhatIsInVain()
        loop.schedule(after: Pulse.regularly) { [weak self] in self?.assumeIsolated { $0.pulseRegularly() } }
    }
}

/// When the pulse is due.
struct Pulse {
    static let afterBurst = Duration.milliseconds(500)
    static let regularly = Duration.seconds(30)
    private var isDue = false

    /// Whether a pulse has to be scheduled now.
    mutating func begin() -> Bool {
        defer { isDue = true }
        return !isDue
    }

    mutating func said() { isDue = false }
}

private struct PulseBody: Encodable {
    let epoch: String
    let head: Int64
    let time: String
}
