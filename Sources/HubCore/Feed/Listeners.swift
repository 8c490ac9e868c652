import HubStore
import HubSessions
import HubWire
import Logging
import Samples
import ZeroMQ

// MARK: - The feeds

extension Door {
    /// Opens the owner's feed.
    func openFeed() throws(ZeroMQError) {
        let feed = Feed(facts.endpoints.feed, .open, changes: feedChanges)
        try open(feed)
        feeds.insert(feed, at: 0)
    }

    /// Opens the feed of an instance, or finds it open.
    ///
    /// - Returns: its endpoint; nobody answers there if it could not be opened, which the log says.
    func openFeed(of instance: String) -> String {
        if let feed = feed(of: instance) { return feed.endpoint }
        let number = feedNumbers[instance] ?? feedNumbers.count + 1
        feedNumbers[instance] = number
        let feed = Feed(
            facts.endpoints.pluginFeed(number), .token(domain: LaunchTokens.feedDomain(of: instance)),
            grant: facts.reading(of: instance), changes: feedChanges)
        do throws(ZeroMQError) {
            try open(feed)
            feeds.append(feed)
        } catch {
            logger.error("a plugin's feed cannot be opened", metadata: ["plugin": "\(instance)", "error": "\(error)"])
        }
        return feed.endpoint
    }

    /// Ends the connections of all that listen as this instance.
    func closeFeed(of instance: String) {
        feed(of: instance)?.close()
        feeds.removeAll { $0.grant?.instance == instance }
    }

    /// Instances whose processes run have one; `nil` asks for the owner's.
    func feed(of instance: String?) -> Feed? { feeds.first { $0.grant?.instance == instance } }

    private func open(_ feed: Feed) throws(ZeroMQError) {
        // A commit is published faster than a listener reads: it should not lose what one session may give at a time.
        let instance = feed.grant?.instance
        try feed.open(in: context, on: loop, queue: facts.policy.credit.records) { [weak self] in
            self?.assumeIsolated { door in
                if let feed = door.feed(of: instance) { door.readSubscriptions(of: feed) }
            }
        }
    }

    /// Learns who listens to what.
    ///
    /// XPUB tells the first subscription to a prefix and the last unsubscription.
    private func readSubscriptions(of feed: Feed) {
        do throws(ZeroMQError) {
            for prefix in try feed.readSubscriptions() { tellIfInVain(prefix, feed) }
        } catch {
            logger.error("a feed broke", metadata: ["feed": "\(feed.endpoint)", "error": "\(error)"])
        }
        if feed.audience.isTooLarge { rest(feed) }
    }

    func readSubscriptions() {
        for feed in feeds { readSubscriptions(of: feed) }
    }

    /// Too many subscriptions: the feed's listeners are sent away, and libzmq lets go of what it kept for them.
    ///
    /// They connect again by themselves, and `previous` tells them what they missed.
    private func rest(_ feed: Feed) {
        let whose = feed.grant?.instance ?? "the owner"
        logger.warning(
            "a feed has too many subscriptions and rests",
            metadata: ["of": "\(whose)", "prefixes": "\(feed.audience.prefixes.count)", "for": "\(Self.restOfFeed)"])
        if let instance = feed.grant?.instance {
            ledger.failed(
                instance,
                "its listeners subscribed to more than \(feed.audience.bound.prefixes) prefixes; its feed rested",
                isGrave: false)
        }
        feed.close()
        let instance = feed.grant?.instance
        loop.schedule(after: Self.restOfFeed) { [weak self] in self?.assumeIsolated { $0.wakeFeed(of: instance) } }
    }

    /// Opens a feed that is closed, now or as soon as it can be.
    func wakeFeed(of instance: String?) {
        // The instance may have ended and begun again meanwhile.
        guard let feed = feed(of: instance), !feed.isOpen else { return }
        guard !feed.isOnNetwork || network.restsUntil <= now else { return }
        do throws(ZeroMQError) {
            try open(feed)
            feed.hasFailed = false
        } catch {
            // After a close libzmq needs a moment to let go of a port.
            if !feed.hasFailed, error.code != .addressInUse {
                feed.hasFailed = true
                logger.error("a feed cannot be opened", metadata: ["feed": "\(feed.endpoint)", "error": "\(error)"])
            }
            loop.schedule(after: feed.hasFailed ? .seconds(2) : .milliseconds(100)) { [weak self] in
                self?.assumeIsolated { $0.wakeFeed(of: instance) }
            }
        }
    }

    private static let restOfFeed = Duration.seconds(1)
}

// MARK: - What a listener may not read

extension Door {
    /// A listener that can never hear anything is told so, once for each session and prefix (R7.7), and on the feed (R7.10).
    private func tellIfInVain(_ prefix: [UInt8], _ feed: Feed) {
        guard let grant = feed.grant else { return }
        guard !grant.canMatch(prefix: prefix) else {
            if Topic.notice.text.utf8.starts(with: prefix) { publishWhatIsInVain(feed) }
            return
        }
        publish([prefix], inVainOn: feed)
        let instance = grant.instance
        logOfSessions(
            .notice, "a plugin listens to what it may not read",
            ["plugin": "\(instance)", "topic": "\(Self.printable(prefix))"])
        for (peer, client) in clients where client.hello.instance == instance { tell(peer, prefix) }
    }

    /// A session has begun: what its instance's listeners have subscribed to before in vain.
    func tellWhatIsInVain(_ peer: RoutingID) {
        guard let client = clients[peer], let feed = feed(of: client.hello.instance), let grant = feed.grant else {
            return
        }
        for prefix in Self.prefixes(of: feed, inVainFor: grant) { tell(peer, prefix) }
    }

    private static func prefixes(of feed: Feed, inVainFor grant: ReadGrant) -> [[UInt8]] {
        feed.audience.prefixes.filter { !grant.canMatch(prefix: $0) }.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Who has no session hears on the feed itself what it may not read; again with every regular pulse, for those who came later.
    func publishWhatIsInVain() {
        for feed in feeds { publishWhatIsInVain(feed) }
    }

    private func publishWhatIsInVain(_ feed: Feed) {
        guard let grant = feed.grant, feed.wants(.notice, for: .instance(grant.instance)) else { return }
        publish(Self.prefixes(of: feed, inVainFor: grant).prefix(Client.mostToldInVain), inVainOn: feed)
    }

    private func publish(_ prefixes: some Collection<[UInt8]>, inVainOn feed: Feed) {
        guard let grant = feed.grant, let scope = facts.instances[grant.instance]?.grants.read,
            feed.wants(.notice, for: .instance(grant.instance))
        else { return }
        for prefix in prefixes {
            let notice = NoticeBody(
                level: "warning", subject: "feed", instance: grant.instance,
                text: Self.refusal(of: prefix, grant.instance, scope), time: facts.clock.time.text)
            chosen = [feed]
            sendToChosen(.notice, .passing(in: store.epoch), RawJSON(encoding: notice).bytes[...])
        }
    }

    private static func refusal(of prefix: [UInt8], _ instance: String, _ scope: Grants.Scope) -> String {
        let types = scope.types.isEmpty ? "no type" : scope.types.joined(separator: ", ")
        return "the feed: \(instance) may not read \"\(printable(prefix))\"; "
            + "hub.conf and its manifest let it read \(types) of \(scope.persons.joined(separator: ", "))"
    }

    private func tell(_ peer: RoutingID, _ prefix: [UInt8]) {
        guard let client = clients[peer], client.toldInVain.count < Client.mostToldInVain,
            client.toldInVain.insert(prefix).inserted
        else { return }
        let reason = Self.refusal(of: prefix, client.hello.instance, client.policy.grants.read)
        send(.error(WireError(.forbidden, reason)), to: peer)
    }

    /// What a peer made up, fit for a log and for a sentence.
    private static func printable(_ prefix: [UInt8]) -> String {
        let shown = prefix.prefix(128).map { byte in
            (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "\"") ? Character(UnicodeScalar(byte)) : "?"
        }
        return String(shown) + (prefix.count > 128 ? "…" : "")
    }
}
