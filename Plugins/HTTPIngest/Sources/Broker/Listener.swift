import Dispatch
import MQTT
import NIOCore
import PhonePayloads
import PluginKit
import Synchronization

/// Takes what apps publish to a broker: a message is acknowledged when the hub has stored what it became.
struct Listener: Sendable {
    let broker: BrokerSettings
    let intake: Intake

    private var hub: PluginContext { intake.hub }

    /// Runs until the plugin is to stop.
    func run() async throws {
        var settings = MQTTClient.Settings(
            host: broker.host, port: broker.port, name: "health-hub-\(hub.instance)",
            topics: Array(Set(broker.topics.map(\.filter))).sorted(), take: take, changed: tell)
        (settings.user, settings.password) = (broker.user, broker.password)
        settings.authorities = broker.hasTLS ? broker.authorities ?? "" : nil
        settings.mostBytes = intake.settings.mostBytes
        let client: MQTTClient
        do {
            client = try MQTTClient(settings)
            try client.start()
        } catch {
            throw PluginFailure(.settings, "setting mqtt: \(error)")
        }
        await hub.untilStopped()
        // Off the cooperative threads: it waits for the message that is being taken.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                client.stop()
                continuation.resume()
            }
        }
    }

    private func tell(_ change: Result<Void, MQTTError>) {
        switch change {
        case .success:
            hub.logger.info("the broker answers", metadata: ["host": "\(broker.host)"])
            say("connected", .info, nil)
        case .failure(let error):
            hub.logger.warning("the broker", metadata: ["error": "\(error)"])
            say("error", .warning, "the broker \(broker.host): \(error)")
        }
    }

    private func say(_ name: String, _ severity: DeviceEvent.Severity, _ text: String?) {
        guard let event = try? DeviceEvent(name, device: "mqtt", severity: severity, text: text) else { return }
        let hub = hub
        Task { await hub.event(event) }
    }

    // MARK: - One message

    /// On the client's thread, which waits for the hub: what is not stored is not acknowledged.
    private func take(_ message: MQTTClient.Message) -> Bool {
        guard let topic = broker.topics.first(where: { MQTTClient.matches(message.topic, $0.filter) }),
            let format = Self.format(of: message, topic)
        else { return true }
        let (done, outcome, listener) = (DispatchSemaphore(value: 0), Outcome(), self)
        Task {
            outcome.set(await listener.takes(message, format, topic))
            done.signal()
        }
        // The hub may be away for long, and the plugin be asked to stop meanwhile: the broker has the message still.
        while done.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            if hub.isStopping { return false }
        }
        return outcome.value
    }

    /// `nil` where a message says nothing that is a record, or nothing of when it was.
    private static func format(of message: MQTTClient.Message, _ topic: BrokerSettings.Topic) -> PhoneFormat? {
        guard !message.payload.isEmpty else { return nil }
        switch topic.format {
        case "hae": return .healthAutoExport
        case "plain": return message.isRetained ? nil : .plain
        // Without a time: one that the broker has kept is of any time.
        case "ble-scale-sync": return message.isRetained ? nil : .bleScaleSync
        default:
            // The list of all has milliseconds; single messages have minutes, and would be other records.
            let parts = message.topic.split(separator: "/").map(String.init)
            guard parts.count >= 3, parts.suffix(2) == ["measurements", "history"],
                let user = Int(parts[parts.count - 3]), user >= 0
            else { return nil }
            return .openScaleHistory(user: String(user))
        }
    }

    /// Whether the message is done: stored, or nothing that could be.
    private func takes(
        _ message: MQTTClient.Message, _ format: PhoneFormat, _ topic: BrokerSettings.Topic
    ) async -> Bool {
        do {
            let body = BodyBytes(folder: hub.state.directory)
            try message.payload.withUnsafeBytes(body.append)
            let report = try await intake.take(Intake.Post(body: body, format: format, token: topic.token))
            hub.logger.info(
                "a message",
                metadata: [
                    "token": "\(topic.token.name)", "format": "\(topic.format)", "bytes": "\(body.count)",
                    "stored": "\(report.stored)", "duplicate": "\(report.duplicate)",
                    "retracted": "\(report.retracted)",
                    "rejected": "\(report.rejections)",
                ])
            if let first = report.rejected.first {
                say(
                    "refused", .warning,
                    "\(topic.token.name): \(report.rejections) refused, the first at \(first.place): \(first.code)")
            }
            return true
        } catch Intake.Failure.refused(let error) {
            say("refused", .warning, "\(topic.token.name): a message is not in the form of \(topic.format): \(error)")
            return true
        } catch {
            // Stopping, or the disk takes nothing: the broker has it still. Not at once again.
            hub.logger.warning("a message could not be taken", metadata: ["error": "\(error)"])
            if !hub.isStopping { try? await Task.sleep(for: .seconds(5)) }
            return false
        }
    }
}

/// What a task found, for the thread that waits for it.
private final class Outcome: Sendable {
    private let found = Mutex(false)

    func set(_ value: Bool) { found.withLock { $0 = value } }

    var value: Bool { found.withLock { $0 } }
}
