import MQTT
import PhonePayloads
import PluginKit

/// What becomes of the messages of a broker.
struct BrokerMessages: Sendable {
    let topics: [BrokerSettings.Topic]
    let intake: Intake

    private var hub: any IngestHub { intake.hub }

    /// Takes a message of the connection for what has times of its own, or of the other.
    ///
    /// - Returns: whether it is done: stored, told, or nothing that could be.
    func take(_ message: MQTTClient.Message, isTimed: Bool) async -> Bool {
        // One that the other connection listens to comes there.
        guard let topic = topics.first(where: { MQTTClient.matches(message.topic, $0.filter) }),
            topic.isTimed == isTimed, let format = format(of: message, topic)
        else { return true }
        return await take(message, format, topic)
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

    private static func refusal(_ error: PhoneError, _ topic: BrokerSettings.Topic) -> String {
        error.code == .person
            ? "a message is refused: \(error)" : "a message is not in the form of \(topic.format): \(error)"
    }

    private func take(
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
            await intake.complaints.tell(Self.refusal(error, topic), of: topic.token.name)
            return true
        } catch {
            // Stopping, or the disk takes nothing: the broker has it still.
            hub.logger.warning("a message could not be taken", metadata: ["error": "\(error)"])
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
            await intake.complaints.tell(Self.refusal(error, topic), of: topic.token.name)
        } catch {
            hub.logger.error("a reading is lost", metadata: ["error": "\(error)"])
            await intake.complaints.tell("a reading is lost, since it could not be kept", of: topic.token.name)
        }
        return true
    }
}
