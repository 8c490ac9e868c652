import HubWire
import Samples
import ZeroMQ

/// What passes and is never stored: LIVE and EVENT (Protocol §5.2).
extension Bus {
    /// What all plain LIVE messages of a session and type have in common on the feed.
    ///
    /// A session's type, grant and person do not change while it lasts, so the second message of a type is judged by the first.
    final class Passage {
        /// As the source spells it.
        let type: [UInt8]
        let topic: Topic
        let readership: Readership
        /// The first two frames.
        var topicFrame: Message
        var placeFrame: Message
        /// What the hub adds to the body, and since which look at the clock.
        var (addition, addedAt): (PlainLive.Addition, Int)
        /// Where somebody listens who may read it, and as of which change of the feeds.
        var (listened, listenedAt): ([Feed], Int?) = ([], nil)

        init(
            type: UnsafeRawBufferPointer, _ topic: Topic, _ readership: Readership, _ addition: PlainLive.Addition,
            at look: Int
        ) {
            (self.type, self.topic, self.readership) = (Array(type), topic, readership)
            (self.addition, addedAt) = (addition, look)
            topicFrame = Message(topic.text)
            placeFrame = Message(Place.passing.description)
        }
    }

    /// The short way of a LIVE message from the door to the feed: no message is made of it, only the frames that go out.
    ///
    /// Somebody who steps on a scale, or a waveform, sends these faster than all else together.
    /// - Returns: `false` when it is nothing for the short way; then nothing has happened.
    func passPlainLive(
        _ message: borrowing Multipart, of guest: Guest, from peer: RoutingID, at now: Int64
    ) -> Bool {
        guard message.count == 3 else { return false }
        return message.lend(2) { body in
            guard let live = guest.liveReader.read(body), let passage = passage(live.type, of: guest) else {
                return false
            }
            guard let isAdmitted = sessions.admitPassing(from: peer, at: now) else { return false }
            if isAdmitted { send(live, on: passage) }
            return true
        }
    }

    private func passage(_ type: UnsafeRawBufferPointer, of guest: Guest) -> Passage? {
        if let passage = guest.passage, passage.type.withUnsafeBytes({ $0.isSame(as: type) }) { return passage }
        guard let id = guest.registry.resolve(String(decoding: type, as: UTF8.self))?.id,
            guest.policy.grants.write.allows(type: id.rawValue)
        else { return nil }
        let person = person(of: nil, guest)?.name
        let passage = Passage(
            type: type, .live(type: id.rawValue, person: person, plugin: guest.hello.plugin),
            .record(type: id, person: person),
            PlainLive.Addition(person: person, plugin: guest.hello.plugin, time: facts.clock.time), at: looks)
        guest.passage = passage
        return passage
    }

    private func send(_ live: PlainLive, on passage: Passage) {
        if passage.listenedAt != feedChanges.count {
            choose(passage.topic, passage.readership)
            (passage.listened, passage.listenedAt) = (chosen, feedChanges.count)
        }
        guard !passage.listened.isEmpty else { return }
        if passage.addedAt != looks {
            passage.addition.set(facts.clock.time)
            passage.addedAt = looks
        }
        var frames = Multipart()
        swap(&frames, &outgoing)
        defer { swap(&frames, &outgoing) }
        frames.removeAll()
        frames.append(passage.topicFrame.copy())
        frames.append(passage.placeFrame.copy())
        frames.append(size: live.count(adding: passage.addition)) { live.write(adding: passage.addition, to: $0) }
        send(&frames, on: passage.listened)
    }

    func pass(_ live: LiveValue, of guest: Guest) {
        guard let type = guest.registry.resolve(live.type) else {
            let nearest = guest.registry.suggestion(for: live.type).map { "; did you mean \"\($0)\"?" } ?? ""
            return complain(WireError(.field, "LIVE.type: no such type\(nearest)"), to: guest)
        }
        guard guest.policy.grants.write.allows(type: type.id.rawValue) else {
            return complain(
                WireError(.forbidden, "LIVE.type: \(guest.hello.instance) may not write \(type.id)"), to: guest)
        }
        let person = person(of: live.subject, guest)
        publish(
            .live(type: type.id.rawValue, person: person?.name, plugin: guest.hello.plugin),
            body: live.body,
            adding: [("person", person.map { .string($0.name) } ?? RawJSON(trusted: Array("null".utf8)))], of: guest,
            to: .record(type: type.id, person: person?.name))
    }

    private func person(of subject: Subject?, _ guest: Guest) -> Person? {
        facts.rules.assignment(of: subject, instance: guest.hello.instance, allowed: guest.policy.persons).person
    }

    func pass(_ event: DeviceEvent, of guest: Guest) {
        let instance = guest.hello.instance
        if event.isResolved {
            ledger.recovered(instance)
        } else if event.severity == .error {
            ledger.failed(instance, event.text ?? event.event)
        }
        // Of others nothing is kept: anybody may invent names.
        if facts.instances[instance] != nil { devices.note(event, of: instance, at: facts.clock.now()) }
        publish(
            .device(plugin: guest.hello.plugin, event: event.event), body: event.body,
            adding: [("instance", .string(instance))], of: guest, to: .instance(instance))
    }

    private func publish(
        _ topic: Topic, body: RawJSON, adding members: [(name: String, value: RawJSON)], of guest: Guest,
        to readership: Readership
    ) {
        let common: [(name: String, value: RawJSON)] = [
            ("source", .string(guest.hello.plugin)), ("time", .string(facts.clock.time.text)),
        ]
        guard let body = body.setting(members + common) else { return }
        publish(topic, .passing, body.bytes, to: readership)
    }

    func complain(_ error: WireError, to guest: Guest) {
        send(.error(error), to: guest.reference.peer)
    }
}
