import HubWire
import Samples
import ZeroMQ

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What passes and is never stored: LIVE and EVENT (Protocol §5.2).
extension Bus {
    /// What all plain LIVE messages of a session and type have in common on the feed.
    ///
    /// A session's type, grant and person do not change while it lasts, so the second message of a type is judged by the first.
    struct Passage {
        /// As the source spells it.
        let type: [UInt8]
        let topic: Topic
        let readership: Readership
        /// What the hub adds to the body.
        let added: [UInt8]
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
            guard let live = PlainLive(body), let passage = passage(live.type, of: guest) else { return false }
            guard let isAdmitted = sessions.admitPassing(from: peer, at: now) else { return false }
            guard isAdmitted else { return true }
            choose(passage.topic, passage.readership)
            if !chosen.isEmpty { sendToChosen(live, passage) }
            return true
        }
    }

    private func passage(_ type: UnsafeRawBufferPointer, of guest: Guest) -> Passage? {
        if let passage = guest.passage, passage.type.count == type.count,
            passage.type.withUnsafeBytes({ $0.isSame(as: type) })
        {
            return passage
        }
        guard let id = guest.registry.resolve(String(decoding: type, as: UTF8.self))?.id,
            guest.policy.grants.write.allows(type: id.rawValue)
        else { return nil }
        let person = person(of: nil, guest)?.name
        let passage = Passage(
            type: Array(type), topic: .live(type: id.rawValue, person: person, plugin: guest.hello.plugin),
            readership: .record(type: id, person: person),
            added: PlainLive.added(person: person, plugin: guest.hello.plugin))
        guest.passage = passage
        return passage
    }

    private func sendToChosen(_ live: PlainLive, _ passage: Passage) {
        let most = live.count(adding: passage.added)
        if encoded.count < most { encoded = Array(repeating: 0, count: most) }
        let count = encoded.withUnsafeMutableBytes {
            live.write(adding: passage.added, time: facts.clock.time, to: $0)
        }
        sendToChosen(passage.topic, .passing, encoded[..<count])
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

extension UnsafeRawBufferPointer {
    /// Whether both hold the same bytes; of equal length.
    fileprivate func isSame(as other: UnsafeRawBufferPointer) -> Bool {
        guard let left = baseAddress, let right = other.baseAddress else { return true }
        return memcmp(left, right, count) == 0
    }
}
