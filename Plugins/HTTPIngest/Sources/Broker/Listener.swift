import Dispatch
import MQTT
import PhonePayloads
import PluginKit
import Synchronization

/// Takes what apps publish to a broker: a message is acknowledged when the hub has stored what it became.
///
/// On two connections. What has times of its own may wait at the broker for any time, and comes when the plugin is back. A reading
/// without one is of when it comes, so that it must not have waited: its session ends with the connection, and nothing that the hub
/// does keeps the next one back.
struct Listener: Sendable {
    let broker: BrokerSettings
    let intake: Intake

    private var hub: PluginContext { intake.hub }

    /// Runs until the plugin is to stop.
    func run() async throws {
        var clients: [MQTTClient] = []
        for isTimed in [true, false] {
            let topics = Set(broker.topics.filter { $0.isTimed == isTimed }.map(\.filter)).sorted()
            if !topics.isEmpty { clients.append(try client(topics, isTimed: isTimed)) }
        }
        await hub.untilStopped()
        // Off the cooperative threads: it waits for the message that is being taken.
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
        settings.mostBytes = intake.settings.mostBytes
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
                isTimed ? nil : "readings of scales are taken from now on; what was published before has no time")
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

    /// On the client's thread, which waits for the hub: what is not stored is not acknowledged.
    private func take(_ message: MQTTClient.Message, isTimed: Bool) -> Bool {
        // One that the other connection listens to comes there.
        guard let topic = broker.topics.first(where: { MQTTClient.matches(message.topic, $0.filter) }),
            topic.isTimed == isTimed, let format = format(of: message, topic)
        else { return true }
        let (done, outcome, listener) = (DispatchSemaphore(value: 0), Outcome(), self)
        Task {
            outcome.set(await listener.takes(message, format, topic))
            done.signal()
        }
        // The hub may be away for long, and the plugin be asked to stop meanwhile: the broker has the message still.
        while done.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
            // A reading of now is on the disk in a moment, and does not come again.
            if hub.isStopping, isTimed { return false }
        }
        return outcome.value
    }

    /// `nil` where a message says nothing that is a record, or nothing of when it was.
    private func format(of message: MQTTClient.Message, _ topic: BrokerSettings.Topic) -> PhoneFormat? {
        guard !message.payload.isEmpty else { return nil }
        switch topic.format {
        case "hae": return .healthAutoExport
        case "plain": return .plain
        case "ble-scale-sync": return .bleScaleSync
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
            var post = Intake.Post(body: body, format: format, token: topic.token)
            guard topic.isTimed else { return await keeps(post, topic, isOld: message.isRetained) }
            post.isFresh = false
            let report = try await intake.take(post)
            hub.logger.info(
                "a message",
                metadata: [
                    "token": "\(topic.token.name)", "format": "\(topic.format)", "bytes": "\(body.count)",
                    "stored": "\(report.stored)", "duplicate": "\(report.duplicate)",
                    "retracted": "\(report.retracted)",
                    "rejected": "\(report.rejections)",
                ])
            await intake.complaints.tell(report, of: topic.token.name)
            return true
        } catch Intake.Failure.refused(let error) {
            await intake.complaints.tell(
                "a message is not in the form of \(topic.format): \(error)", of: topic.token.name)
            return true
        } catch {
            // Stopping, or the disk takes nothing: the broker has it still. Not at once again.
            hub.logger.warning("a message could not be taken", metadata: ["error": "\(error)"])
            if !hub.isStopping { try? await Task.sleep(for: .seconds(5)) }
            return false
        }
    }

    /// Puts a reading of now on the disk: it is not published again, and the next one is not to wait.
    private func keeps(_ post: Intake.Post, _ topic: BrokerSettings.Topic, isOld: Bool) async -> Bool {
        do {
            guard !isOld else {
                // The broker gives the last one to each who comes; one that was taken when it was published is not lost.
                if try await intake.noteReading(post) {
                    await intake.complaints.tell(
                        "the broker has kept a reading from before, which does not say of when it is: it is not taken",
                        of: topic.token.name)
                }
                return true
            }
            var post = post
            post.mayRepeat = false
            guard let report = try await intake.keep(post) else { return true }
            hub.logger.info(
                "a reading", metadata: ["token": "\(topic.token.name)", "rejected": "\(report.rejections)"])
            await intake.complaints.tell(report, of: topic.token.name)
        } catch Intake.Failure.refused(let error) {
            await intake.complaints.tell(
                "a message is not in the form of \(topic.format): \(error)", of: topic.token.name)
        } catch {
            hub.logger.error("a reading is lost", metadata: ["error": "\(error)"])
            await intake.complaints.tell("a reading is lost, since it could not be kept", of: topic.token.name)
        }
        return true
    }
}

/// What a task found, for the thread that waits for it.
private final class Outcome: Sendable {
    private let found = Mutex(false)

    func set(_ value: Bool) { found.withLock { $0 = value } }

    var value: Bool { found.withLock { $0 } }
}
