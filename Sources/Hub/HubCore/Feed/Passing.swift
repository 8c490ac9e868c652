import HubStore
import HubWire
import Logging
import Samples
import ZeroMQ

/// Handles messages that are published and never stored: LIVE and EVENT (Protocol §5.2).
extension Door {
    /// Adds a plain LIVE message to the burst: it is not decoded, only the outgoing frames are built.
    ///
    /// A scale with a person on it, or a waveform, sends these faster than all other messages together.
    /// - Returns: `false` if the message does not fit the burst; then nothing was changed.
    func takeLive(_ message: borrowing Multipart, on burst: inout LiveFastPath, at now: Int64) -> Bool {
        guard message.count == 3, Verb.isLive(message.unsafeBytes(of: 1)),
            message.unsafeBytes(of: 2).count <= facts.policy.limits.passingBytes
        else { return false }
        let peer = RoutingID(message.unsafeBytes(of: 0))
        if burst.client?.reference.peer != peer {
            leave(&burst)
            guard let client = clients[peer], let allowance = sessions.takePassingAllowance(of: peer) else {
                return false
            }
            burst.enter(client, allowance, at: now)
        }
        // Checks that the message comes over the endpoint that its sender is known from.
        guard let client = burst.client, message.property("User-Id", is: client.logIn),
            let live = burst.track.reader.read(message.unsafeBytes(of: 2)),
            burst.track.matchesPrevious(live) || begin(&burst.track, live, of: client)
        else { return false }
        guard burst.admit(at: now) else { return true }
        burst.track.listen(as: feeds.changes.count) { feeds.choose($0, $1) }
        guard !burst.track.feeds.isEmpty else { return true }
        burst.track.stamp(facts.clock.time, at: burst.look)
        if burst.isFull { burst.send(feeds.isBroken) }
        burst.append(live)
        return true
    }

    private func begin(_ track: inout LiveSessionState, _ live: PlainLive, of client: Client) -> Bool {
        let unit = live.unit.map { String(decoding: $0, as: UTF8.self) }
        guard
            let id = try? type(
                of: String(decoding: live.type, as: UTF8.self), unit: unit, hasValue: live.hasValue, client)
        else { return false }
        let person = person(of: nil, client)?.name
        track.begin(
            live, .live(type: id.rawValue, person: person, plugin: client.hello.plugin),
            .record(type: id, person: person, plugin: client.hello.plugin, end: .max), .passing(in: store.epoch),
            PlainLive.Addition(person: person, plugin: client.hello.plugin, time: facts.clock.time))
        return true
    }

    /// The type of a LIVE that may be published: the feed must only carry valid types and units (R5.10).
    private func type(
        of name: String, unit: String?, hasValue: Bool, _ client: Client
    ) throws(WireError) -> TypeID {
        guard let type = client.registry.resolve(name) else {
            let nearest = client.registry.suggestion(for: name).map { "; did you mean \"\($0)\"?" } ?? ""
            throw WireError(.field, "LIVE.type: no such type\(nearest)")
        }
        guard client.policy.grants.write.allows(type: type.id.rawValue) else {
            throw WireError(.forbidden, "LIVE.type: \(client.hello.instance) may not write \(type.id)")
        }
        guard hasValue || unit != nil else { return type.id }
        guard type.kind == .quantity, let own = type.unit else {
            throw WireError(
                .field, "LIVE.value: \(type.id) is of kind \(type.kind), which has no value and no unit here")
        }
        guard let unit else { throw WireError(.field, "LIVE.unit: missing; \(type.id) is in \"\(own)\"") }
        if unit == own { return type.id }
        do throws(UnitError) {
            _ = try type.canonicalValue(1, unit: unit)
        } catch {
            throw WireError(.field, "LIVE.unit: \(error); expected \"\(own)\" or a unit of the same dimension")
        }
        return type.id
    }

    private func leave(_ burst: inout LiveFastPath) {
        guard let left = burst.leave() else { return }
        sessions.returnPassingAllowance(left.allowance, from: left.peer, at: left.heardAt)
    }

    /// Sends the burst and returns the lent data before any other work, so that the order of messages is kept.
    func clear(_ burst: inout LiveFastPath) {
        burst.send(feeds.isBroken)
        leave(&burst)
    }

    func pass(_ live: LiveValue, of client: Client) {
        do throws(WireError) {
            let type = try type(of: live.type, unit: live.unit, hasValue: live.value != nil, client)
            let person = person(of: live.subject, client)
            publish(
                .live(type: type.rawValue, person: person?.name, plugin: client.hello.plugin), body: live.body,
                adding: [("person", person.map { .string($0.name) } ?? RawJSON(trusted: Array("null".utf8)))],
                of: client, to: .record(type: type, person: person?.name, plugin: client.hello.plugin, end: .max))
        } catch {
            // LIVE has no answer (R5.8), so the author of the source finds the reason in the log.
            sessions.noteDropped()
            logOfSessions(
                .notice, "a LIVE was dropped",
                ["instance": "\(client.hello.instance)", "reason": "\(error.reason.prefix(256))"])
        }
    }

    private func person(of subject: Subject?, _ client: Client) -> Person? {
        facts.rules.assignment(of: subject, instance: client.hello.instance, allowed: client.policy.persons).person
    }

    func pass(_ event: DeviceEvent, of client: Client) {
        let instance = client.hello.instance
        if event.isResolved {
            plugins.counters.recovered(instance)
        } else if event.isError {
            plugins.counters.failed(
                instance, event.text ?? event.event, isSevere: event.severity == .error,
                isEnding: event.event == "failed")
        }
        // Nothing is kept for other instances, because any program may invent names.
        if facts.instances[instance] != nil { plugins.devices.note(event, of: instance, at: facts.clock.now()) }
        publish(
            .device(plugin: client.hello.plugin, event: event.event), body: event.body,
            adding: [("instance", .string(instance))], of: client, to: .instance(instance))
    }

    private func publish(
        _ topic: Topic, body: RawJSON, adding members: [(name: String, value: RawJSON)], of client: Client,
        to readership: AllowedReaders
    ) {
        let common: [(name: String, value: RawJSON)] = [
            ("source", .string(client.hello.plugin)), ("time", .string(facts.clock.time.text)),
        ]
        guard let body = body.setting(members + common) else { return }
        feeds.publish(topic, body.bytes, to: readership)
    }
}
