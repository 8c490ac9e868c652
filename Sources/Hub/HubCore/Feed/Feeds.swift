import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// The feeds: the subscriptions, and the messages to each listener (Protocol §7).
///
@DoorActor
final class Feeds {
    let store: Store
    let loop: PollLoop
    let context: Context
    let logger: Logger
    private(set) var facts: HubContext
    /// Set by ``open(_:)``.
    private(set) weak var door: Door?

    /// The owner's feed first, then those of instances.
    var all: [Feed] = [] { didSet { changes.note() } }
    let changes = FeedChanges()
    /// The number of the feed endpoint of an instance; it is kept as long as the hub runs.
    var numbers: [String: Int] = [:]
    /// Whether the network feeds stay closed for now.
    var isNetworkPaused = false

    /// The feeds for the message that is being published.
    private var chosen: [Feed] = []
    /// The message that is being sent, and its place; the memory is reused.
    private var outgoing = Multipart()
    private var placeText: [UInt8] = []
    var bodies: RecentBodies
    /// Whether a pulse is scheduled, in addition to the regular one.
    private var isPulseDue = false

    init(of store: Store, on loop: PollLoop, in context: Context, _ facts: HubContext, logger: Logger) {
        (self.store, self.loop, self.context) = (store, loop, context)
        (self.facts, self.logger, bodies) = (facts, logger, RecentBodies(from: store.head))
    }

    /// Opens the owner's feed.
    func open(_ door: Door) throws(ZeroMQError) {
        self.door = door
        let feed = Feed(facts.endpoints.feed, .open, from: store.head, changes: changes)
        try open(feed)
        all.insert(feed, at: 0)
        pulseRegularly()
    }

    func close() {
        for feed in all { feed.close() }
        all = []
    }

    /// Applies a changed `hub.conf`.
    func adopt(_ facts: HubContext) {
        let formerPersons = self.facts.personsByName
        self.facts = facts
        // A person may have another name now.
        bodies.forget(upTo: store.cursor.sequence)
        for feed in all {
            let grant = feed.grant.map { facts.reading(of: $0.instance) }
            guard grant != feed.grant else { continue }
            feed.grant = grant
            feed.shared = SharedTopics(from: store.head)
        }
        announcePersons(since: formerPersons)
    }

    /// Notifies the owner's listeners of persons that were added, removed or changed in `hub.conf` (R8.61).
    private func announcePersons(since old: [String: HubPerson]) {
        let new = facts.personsByName
        for name in Set(old.keys).union(new.keys).sorted() where old[name] != new[name] {
            let event = old[name] == nil ? "added" : new[name] == nil ? "removed" : "changed"
            let body = ["person": name, "event": event, "time": facts.clock.time.text]
            announce(.person, RawJSON(encoding: body), to: .owner)
        }
    }

    // MARK: - Publishing

    /// Publishes the records of a commit, in the order of the sequence.
    ///
    /// - Parameters:
    ///   - publications: built one by one, and not at all if no feed needs them.
    ///   - isBackfill: whether they are only counted for `previous`, without being published (R7.4).
    func publish(_ publications: some Sequence<Publication>, isBackfill: Bool = false) {
        readSubscriptions()
        let isHeard = !isBackfill && all.contains { !$0.audience.isEmpty }
        let sharing = all.filter { feed in
            guard feed.grant?.sharesTopics == true else { return false }
            if feed.listensToSharedTopics { return true }
            // Nothing is counted while there are no listeners; a follower that comes later has to ask for everything before it.
            feed.shared = SharedTopics(from: store.head)
            return false
        }
        guard isHeard || !sharing.isEmpty else { return }
        let epoch = store.epoch
        let isDelivered = door?.deliveries.pumps.isEmpty == false
        var topics = TopicMemory()
        for publication in publications {
            let record = publication.record
            let topic = topics.topic(of: record)
            if isHeard { choose(topic, publication.readership) } else { chosen.removeAll() }
            var ownPlaces: [(feed: Feed, previous: Int64)] = []
            for feed in sharing {
                guard let grant = feed.grant, grant.shares(topic, of: record.type),
                    grant.allows(publication.readership, by: facts.clock)
                else { continue }
                let previous = feed.shared.pass(topic, record.sequence)
                if let index = chosen.firstIndex(where: { $0 === feed }) {
                    chosen.remove(at: index)
                    ownPlaces.append((feed, previous))
                }
            }
            guard !chosen.isEmpty || !ownPlaces.isEmpty else { continue }
            let body = bodies.body(of: record, isNeededAgain: isDelivered)
            func send(_ previous: Int64) {
                sendToSubscribers(
                    topic, FeedPosition(sequence: record.sequence, previous: previous, epoch: epoch), body)
            }
            if !chosen.isEmpty { send(publication.previous) }
            for (feed, previous) in ownPlaces {
                chosen = [feed]
                send(previous)
            }
        }
    }

    /// Publishes a message that is not stored, to all listeners of the topic that may read it.
    func publish(_ topic: Topic, _ body: [UInt8], to readership: AllowedReaders) {
        choose(topic, readership)
        if !chosen.isEmpty { sendToSubscribers(topic, .passing(in: store.epoch), body[...]) }
    }

    /// Publishes a rare message, after it has read the new subscriptions.
    func announce(_ topic: Topic, _ body: RawJSON, to readership: AllowedReaders) {
        readSubscriptions()
        publish(topic, body.bytes, to: readership)
    }

    /// Publishes to the listeners of one feed.
    func publish(_ topic: Topic, _ body: [UInt8], on feed: Feed) {
        chosen = [feed]
        sendToSubscribers(topic, .passing(in: store.epoch), body[...])
    }

    /// The feeds with a listener that wants the topic and may read it.
    @discardableResult
    func choose(_ topic: Topic, _ readership: AllowedReaders) -> [Feed] {
        chosen.removeAll(keepingCapacity: true)
        for feed in all where feed.wants(topic, for: readership, by: facts.clock) { chosen.append(feed) }
        return chosen
    }

    private func sendToSubscribers(_ topic: Topic, _ place: FeedPosition, _ body: ArraySlice<UInt8>) {
        // Moved into a local variable meanwhile, because Swift checks each access to a property of an object at run time.
        var frames = Multipart()
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
                pauseIfOverloaded(feed)
            } catch {
                isBroken(feed, error)
            }
        }
    }

    func isBroken(_ feed: Feed, _ error: ZeroMQError) {
        logger.error("a feed has failed", metadata: ["feed": "\(feed.endpoint)", "error": "\(error)"])
    }

    // MARK: - The pulse

    private static let (pulseAfterBurst, regularPulse) = (Duration.milliseconds(500), Duration.seconds(30))

    /// Schedules a pulse, because the head has moved and listeners must know within a second (R7.3).
    func headDidChange() {
        guard !isPulseDue else { return }
        isPulseDue = true
        loop.schedule(after: Self.pulseAfterBurst) { [weak self] in self?.publishPulse() }
    }

    private func publishPulse() {
        isPulseDue = false
        let cursor = store.cursor
        bodies.forget(upTo: cursor.sequence)
        let body = Pulse(epoch: cursor.epoch, head: cursor.sequence, time: facts.clock.time.text)
        announce(.pulse, RawJSON(encoding: body), to: .everyone)
    }

    private func pulseRegularly() {
        guard !all.isEmpty else { return }
        publishPulse()
        publishDeniedSubscriptions()
        loop.schedule(after: Self.regularPulse) { [weak self] in self?.pulseRegularly() }
    }
}
