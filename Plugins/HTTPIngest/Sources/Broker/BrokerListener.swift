import Dispatch
import PhonePayloads
import PluginKit
import Synchronization

/// Takes messages that apps publish to a broker; a message is acknowledged when the hub has stored its records.
///
/// There are two connections. Messages with times may wait at the broker and arrive when the plugin is back. A message without a
/// time is dated by its arrival, so it must not wait: its session ends with the connection, and a slow hub does not delay the next.
struct BrokerListener: Sendable {
    let hub: PluginContext
    let broker: BrokerSettings
    let messages: BrokerMessages

    /// Runs until the plugin is stopped.
    func run() async throws {
        var clients: [MQTTClient] = []
        for isTimed in [true, false] {
            let topics = Set(broker.topics.filter { $0.isTimed == isTimed }.map(\.filter)).sorted()
            if !topics.isEmpty { clients.append(try client(topics, isTimed: isTimed)) }
        }
        await hub.untilStopped()
        // Not on a cooperative thread: `stop` blocks until the current message is handled.
        let started = clients
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                for client in started { client.stop() }
                continuation.resume()
            }
        }
    }

    private func client(_ topics: [String], isTimed: Bool) throws -> MQTTClient {
        var settings = MQTTClient.Settings(
            host: broker.host, port: broker.port, name: "health-hub-\(hub.instance)\(isTimed ? "" : "-now")",
            topics: topics, take: { take($0, isTimed: isTimed) }, changed: { tell($0, isTimed: isTimed) })
        (settings.user, settings.password) = (broker.user, broker.password)
        settings.authorities = broker.hasTLS ? broker.authorities ?? "" : nil
        settings.maximumBytes = messages.intake.settings.maximumBytes
        settings.keepsSession = isTimed
        do {
            let client = try MQTTClient(settings)
            try client.start()
            return client
        } catch {
            throw PluginFailure(.settings, "setting mqtt: \(error)")
        }
    }

    private func tell(_ change: Result<Void, MQTTError>, isTimed: Bool) {
        switch change {
        case .success:
            hub.logger.info("the broker answers", metadata: ["host": "\(broker.host)"])
            send(try? DeviceEvent("error", device: "mqtt", isResolved: true))
            say(
                "connected", .info,
                isTimed ? nil : "readings of scales are taken from now on; earlier ones have no time")
        case .failure(let error):
            hub.logger.warning("the broker", metadata: ["error": "\(error)"])
            say("error", .warning, "the broker \(broker.host): \(error)")
        }
    }

    private func say(_ name: String, _ severity: DeviceEvent.Severity, _ text: String?) {
        send(try? DeviceEvent(name, device: "mqtt", severity: severity, text: text))
    }

    private func send(_ event: DeviceEvent?) {
        guard let event else { return }
        let hub = hub
        Task { await hub.event(event) }
    }

    // MARK: - One message

    /// Runs on the client's thread and blocks it until the hub answers; an unstored message is not acknowledged.
    private func take(_ message: MQTTClient.Message, isTimed: Bool) -> Bool {
        let (done, hub, messages) = (DispatchSemaphore(value: 0), hub, messages)
        let outcome = Mutex(false)
        Task {
            let isDone = await messages.take(message, isTimed: isTimed)
            // The broker still has the message and sends it again; wait, so that this is not at once.
            if !isDone, !hub.isStopping { try? await Task.sleep(for: .seconds(5)) }
            outcome.withLock { $0 = isDone }
            done.signal()
        }
        // The hub may be away for long, and the plugin may be stopped meanwhile; the broker still has the message.
        while done.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            // A message without a time is saved to disk within moments and is not sent again, so wait for it.
            if hub.isStopping, isTimed { return false }
        }
        return outcome.withLock { $0 }
    }
}
