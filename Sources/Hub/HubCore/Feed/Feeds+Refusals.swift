import HubWire
import Logging
import Samples

/// Reports denied subscriptions in the sessions of the listener's instance (R7.7), and on the feed (R7.10).
extension Feeds {
    func reportDeniedSubscription(_ prefix: [UInt8], _ feed: Feed) {
        guard let grant = feed.grant, let door else { return }
        guard !grant.canMatch(prefix: prefix) else {
            if Topic.notice.text.utf8.starts(with: prefix) { publishDeniedSubscriptions(feed) }
            return
        }
        publish([prefix], inVainOn: feed)
        door.logOfSessions(
            .notice, "a plugin subscribes to records that it may not read",
            ["plugin": "\(grant.instance)", "topic": "\(Self.printable(prefix))"])
        for client in door.clients.values where client.hello.instance == grant.instance { tell(client, inVain: prefix) }
    }

    /// Sends a new session the earlier denied subscriptions of its instance's listeners.
    func reportDeniedSubscriptions(to client: Client) {
        guard let feed = feed(of: client.hello.instance), let grant = feed.grant else { return }
        for prefix in Self.prefixes(of: feed, inVainFor: grant) { tell(client, inVain: prefix) }
    }

    /// Sends a session that its instance's listeners may not read this prefix, once for each prefix.
    private func tell(_ client: Client, inVain prefix: [UInt8]) {
        guard client.reportedDenials.count < Client.maximumReportedDenials,
            client.reportedDenials.insert(prefix).inserted
        else { return }
        let reason = Self.refusal(of: prefix, client.hello.instance, client.policy.grants.read)
        door?.send(.error(WireError(.forbidden, reason)), to: client.reference.peer)
    }

    private static func prefixes(of feed: Feed, inVainFor grant: ReadGrant) -> [[UInt8]] {
        feed.audience.prefixes.filter { !grant.canMatch(prefix: $0) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Publishes the denied subscriptions on each feed, for listeners without a session; every regular pulse repeats it for new listeners.
    func publishDeniedSubscriptions() {
        for feed in all { publishDeniedSubscriptions(feed) }
    }

    private func publishDeniedSubscriptions(_ feed: Feed) {
        guard let grant = feed.grant, feed.wants(.notice, for: .instance(grant.instance), by: facts.clock) else {
            return
        }
        publish(Self.prefixes(of: feed, inVainFor: grant).prefix(Client.maximumReportedDenials), inVainOn: feed)
    }

    private func publish(_ prefixes: some Collection<[UInt8]>, inVainOn feed: Feed) {
        guard let grant = feed.grant, let scope = facts.instances[grant.instance]?.grants.read,
            feed.wants(.notice, for: .instance(grant.instance), by: facts.clock)
        else { return }
        for prefix in prefixes {
            let notice = NoticeBody(
                level: "warning", subject: "feed", instance: grant.instance,
                text: Self.refusal(of: prefix, grant.instance, scope), time: facts.clock.time.text)
            publish(.notice, RawJSON(encoding: notice).bytes, on: feed)
        }
    }

    private static func refusal(of prefix: [UInt8], _ instance: String, _ scope: Grants.Scope) -> String {
        let types = scope.types.isEmpty ? "no type" : scope.types.joined(separator: ", ")
        return "the feed: \(instance) may not read \"\(printable(prefix))\"; "
            + "its manifest asks to read \(types), and hub.conf gives it \(scope.persons.joined(separator: ", "))"
    }

    /// A text that a peer sent, made fit for a log and for a sentence.
    private static func printable(_ prefix: [UInt8]) -> String {
        let shown = prefix.prefix(128).map { byte in
            (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") ? Character(UnicodeScalar(byte)) : "?"
        }
        return String(shown) + (prefix.count > 128 ? "…" : "")
    }
}
