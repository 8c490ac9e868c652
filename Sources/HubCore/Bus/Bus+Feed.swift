import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

// MARK: - The feed

extension Bus {
    /// Learns who listens to what.
    ///
    /// XPUB tells the first subscription to a prefix and the last unsubscription.
    func readSubscriptions() {
        do throws(ZeroMQError) {
            var message = Message()
            for _ in 0..<PollLoop.messagesPerTurn {
                guard try feed?.receive(into: &message) == true else {
                    audience.isKnown = true
                    return
                }
                audience.heard(message.bytes)
            }
            audience.isKnown = false
        } catch {
            logger.error("the feed broke", metadata: ["error": "\(error)"])
        }
    }

    /// Publishes what a commit stored, in the order of the sequence.
    ///
    /// - Parameter publications: made one by one, and none at all while nobody listens to anything.
    func publish(_ publications: some Sequence<Publication>) {
        readSubscriptions()
        guard !audience.isEmpty else { return }
        for publication in publications where audience.wants(publication.topic) {
            encoded.removeAll(keepingCapacity: true)
            RecordEncoder.append(publication.record, to: &encoded)
            publish(publication.topic, publication.place, encoded)
        }
    }

    func publish(_ topic: Topic, _ place: Place, _ body: [UInt8]) {
        outgoing.removeAll()
        outgoing.append(topic.text)
        placeText.removeAll(keepingCapacity: true)
        place.append(to: &placeText)
        outgoing.append(placeText)
        outgoing.append(body)
        do throws(ZeroMQError) {
            // XPUB drops for a listener that does not read, and for it alone (R7.5).
            _ = try feed?.sendMultipart(&outgoing)
        } catch {
            logger.error("the feed broke", metadata: ["error": "\(error)"])
        }
    }

    /// The head has moved: say so within a second (R7.3).
    func headMoved() {
        guard pulse.begin() else { return }
        loop.schedule(after: Pulse.afterBurst) { [weak self] in self?.assumeIsolated { $0.sayPulse() } }
    }

    private func sayPulse() {
        pulse.said()
        readSubscriptions()
        let cursor = store.cursor
        let body = JSONText().object(
            PulseBody(epoch: cursor.epoch, head: cursor.sequence, time: facts.clock.time.text))
        publish(.pulse, .passing, body.bytes)
    }

    func pulseRegularly() {
        sayPulse()
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
