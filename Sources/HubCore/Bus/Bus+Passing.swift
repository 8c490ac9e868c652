import HubWire
import Samples
import ZeroMQ

/// What passes and is never stored: LIVE and EVENT (Protocol §5.2).
extension Bus {
    /// Takes a plain LIVE message on the lane: no message is made of it, only the frames that go out.
    ///
    /// Somebody who steps on a scale, or a waveform, sends these faster than all else together.
    /// - Returns: `false` when it is nothing for the lane; then nothing has happened.
    func takeLive(_ message: borrowing Multipart, on lane: inout LiveLane, at now: Int64) -> Bool {
        guard message.count == 3, Verb.isLive(message.unsafeBytes(of: 1)) else { return false }
        let peer = RoutingID(message.unsafeBytes(of: 0))
        if lane.guest?.reference.peer != peer {
            leave(&lane)
            guard let guest = guests[peer], let allowance = sessions.lendPassing(of: peer) else { return false }
            lane.enter(guest, allowance, at: now)
        }
        // Whether it comes over the endpoint that its sender is known from.
        guard let guest = lane.guest, message.property("User-Id", is: guest.logIn),
            let live = lane.track.reader.read(message.unsafeBytes(of: 2)),
            lane.track.isOf(live.type) || begin(&lane.track, live.type, of: guest)
        else { return false }
        guard lane.admit(at: now) else { return true }
        lane.track.listen(as: feedChanges.count) { topic, readership in
            choose(topic, readership)
            return chosen
        }
        guard !lane.track.feeds.isEmpty else { return true }
        lane.track.stamp(facts.clock.time, at: looks)
        if lane.isFull { lane.send(isBroken) }
        lane.append(live)
        return true
    }

    private func begin(_ track: inout LiveTrack, _ type: UnsafeRawBufferPointer, of guest: Guest) -> Bool {
        guard let id = guest.registry.resolve(String(decoding: type, as: UTF8.self))?.id,
            guest.policy.grants.write.allows(type: id.rawValue)
        else { return false }
        let person = person(of: nil, guest)?.name
        track.begin(
            type, .live(type: id.rawValue, person: person, plugin: guest.hello.plugin),
            .record(type: id, person: person),
            PlainLive.Addition(person: person, plugin: guest.hello.plugin, time: facts.clock.time))
        return true
    }

    private func leave(_ lane: inout LiveLane) {
        guard let left = lane.leave() else { return }
        sessions.takeBack(left.allowance, from: left.peer, at: left.heardAt)
    }

    /// Sends what is on the lane and gives back what it holds: before anything else happens, so that all keeps its order.
    func clear(_ lane: inout LiveLane) {
        lane.send(isBroken)
        leave(&lane)
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
