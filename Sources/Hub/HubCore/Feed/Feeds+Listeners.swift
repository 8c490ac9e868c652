import HubStore
import HubWire
import Logging
import ZeroMQ

/// Opens and closes feeds, and tracks their listeners.
extension Feeds {
    /// Opens the feed of an instance, or finds it open.
    ///
    /// - Returns: its endpoint; if opening failed, the log has the error and no socket answers there.
    func open(for instance: String) -> String {
        if let feed = feed(of: instance) { return feed.endpoint }
        let number = numbers[instance] ?? numbers.count + 1
        numbers[instance] = number
        let feed = Feed(
            facts.endpoints.pluginFeed(number), .token(domain: LaunchTokens.feedDomain(of: instance)),
            grant: facts.reading(of: instance), from: store.head, changes: changes)
        do throws(ZeroMQError) {
            try open(feed)
            all.append(feed)
        } catch {
            logger.error("a plugin's feed cannot be opened", metadata: ["plugin": "\(instance)", "error": "\(error)"])
        }
        return feed.endpoint
    }

    /// Ends the connections of all listeners of this instance.
    func close(of instance: String) {
        feed(of: instance)?.close()
        all.removeAll { $0.grant?.instance == instance }
    }

    /// The feed of an instance whose processes run; `nil` stands for the owner's.
    func feed(of instance: String?) -> Feed? { all.first { $0.grant?.instance == instance } }

    func open(_ feed: Feed) throws(ZeroMQError) {
        // A commit is published faster than a listener reads, so the queue holds as many records as one session may give at a time.
        let instance = feed.grant?.instance
        try feed.open(in: context, on: loop, queue: facts.policy.credit.records) { [weak self] in
            if let self, let feed = self.feed(of: instance) { self.readSubscriptions(of: feed) }
        }
    }

    // MARK: - On the network

    /// Opens and closes the feeds that other machines reach, to match `hub.conf`.
    ///
    /// - Parameters:
    ///   - endpoints: the endpoints by instance.
    ///   - key: the hub's own key; `nil` if no key is required.
    func follow(remote endpoints: [String: String], key: CurveSecretKey?) {
        for feed in all where feed.isOnNetwork {
            if let instance = feed.grant?.instance, endpoints[instance] != feed.endpoint { close(of: instance) }
        }
        for (instance, endpoint) in endpoints where feed(of: instance) == nil {
            let domain = LaunchTokens.feedDomain(of: instance)
            let security: Feed.Security = key.map { .key($0, domain: domain) } ?? .anyone(domain: domain)
            all.append(
                Feed(
                    endpoint, security, grant: facts.reading(of: instance), from: store.head,
                    changes: changes))
            wake(of: instance)
        }
    }

    /// Closes the feeds of other machines until ``wakeNetwork()``.
    func pauseNetwork() {
        isNetworkPaused = true
        for feed in all where feed.isOnNetwork { feed.close() }
    }

    func wakeNetwork() {
        isNetworkPaused = false
        for instance in all.filter(\.isOnNetwork).compactMap(\.grant?.instance) { wake(of: instance) }
    }

    /// Ends the connections of an instance on another machine; it may reconnect at once with a valid key.
    func renew(of instance: String) {
        guard let feed = feed(of: instance), feed.isOnNetwork else { return }
        feed.close()
        wake(of: instance)
    }

    // MARK: - Subscriptions

    func readSubscriptions() {
        for feed in all { readSubscriptions(of: feed) }
    }

    /// Reads the new subscriptions of a feed.
    ///
    /// XPUB reports the first subscription to a prefix and the last unsubscription.
    private func readSubscriptions(of feed: Feed) {
        do throws(ZeroMQError) {
            for prefix in try feed.readSubscriptions() { reportDeniedSubscription(prefix, feed) }
        } catch {
            isBroken(feed, error)
        }
        if feed.audience.isTooLarge {
            rest(
                feed,
                "its listeners subscribed to \(feed.audience.prefixes.count) prefixes, and at most \(feed.audience.bound.prefixes) are kept"
            )
        }
    }

    private static let pause = Duration.seconds(1)

    /// Closes feeds for a moment if their messages are so large that a listener that does not read may keep too much memory (R7.11).
    func pauseOverloadedSockets() {
        for feed in all { pauseIfOverloaded(feed) }
    }

    func pauseIfOverloaded(_ feed: Feed) {
        guard feed.volume.bytes > facts.maximumFeedBytes else { return }
        rest(
            feed,
            "its last messages have \(feed.volume.bytes) bytes, and at most \(facts.maximumFeedBytes) are kept for a listener that does not read"
        )
    }

    /// Disconnects the feed's listeners, so that libzmq frees the messages that it kept for them.
    ///
    /// Listeners reconnect automatically, and `previous` shows them the gap.
    private func rest(_ feed: Feed, _ reason: String) {
        let instance = feed.grant?.instance
        logger.warning(
            "a feed is paused",
            metadata: ["of": "\(instance ?? "the owner")", "reason": "\(reason)", "for": "\(Self.pause)"])
        if let instance { door?.plugins.counters.failed(instance, "\(reason); its feed was paused", isSevere: false) }
        feed.close()
        loop.schedule(after: Self.pause) { [weak self] in self?.wake(of: instance) }
    }

    /// Opens a feed that is closed, now or as soon as possible.
    private func wake(of instance: String?) {
        // The instance may have ended and started again meanwhile.
        guard let feed = feed(of: instance), !feed.isOpen else { return }
        guard !feed.isOnNetwork || !isNetworkPaused else { return }
        do throws(ZeroMQError) {
            try open(feed)
            feed.hasFailed = false
        } catch {
            // After a close, libzmq needs a moment to release the port.
            if !feed.hasFailed, error.code != .addressInUse {
                feed.hasFailed = true
                logger.error("a feed cannot be opened", metadata: ["feed": "\(feed.endpoint)", "error": "\(error)"])
            }
            loop.schedule(after: feed.hasFailed ? .seconds(2) : .milliseconds(100)) { [weak self] in
                self?.wake(of: instance)
            }
        }
    }
}
