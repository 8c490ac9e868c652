import PhonePayloads
import PluginKit

/// Stores the messages of an MQTT broker.
struct BrokerMessages: Sendable {
    let topics: [BrokerSettings.Topic]
    let intake: Intake

    private var hub: any IngestHub { intake.hub }

    /// Takes a message from the connection for formats with times, or from the one for formats without.
    ///
    /// - Returns: true if the message is settled: stored, refused with a notice, or without a record; false to receive it again.
    func take(_ message: MQTTClient.Message, isTimed: Bool) async -> Bool {
        // A message for the other connection's subscription is handled there.
        guard let topic = topics.first(where: { MQTTClient.matches(message.topic, $0.filter) }),
            topic.isTimed == isTimed, let format = format(of: message, topic)
        else { return true }
        return await take(message, format, topic)
    }

    /// The format of a message; nil if it contains no record, or a record without a usable time.
    private func format(of message: MQTTClient.Message, _ topic: BrokerSettings.Topic) -> PhoneFormat? {
        guard !message.payload.isEmpty else { return nil }
        switch topic.format {
        case "hae": return .healthAutoExport
        case "plain": return .plain
        case "ble-scale-sync": return .bleScaleSync
        default:
            // Only the full list has milliseconds. Single messages have minutes, so their records would differ.
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
        } catch let error as PhoneError {
            await intake.complaints.tell(Self.refusal(error, topic), of: topic.token.name)
            return true
        } catch {
            // The plugin is stopping or the disk is full; the broker still has the message.
            hub.logger.warning("a message could not be taken", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Saves a reading without a time to disk: it is not published again, and it must not delay the next one.
    private func keeps(_ post: Intake.Post, _ topic: BrokerSettings.Topic, isOld: Bool) async -> Bool {
        do {
            guard !isOld else {
                // The broker sends the last reading to every new subscriber; a reading that was taken when published is not lost.
                if try await intake.noteReading(post) {
                    await intake.complaints.tell(
                        "the broker has kept an earlier reading without a time: it is not taken",
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
        } catch let error as PhoneError {
            await intake.complaints.tell(Self.refusal(error, topic), of: topic.token.name)
        } catch {
            hub.logger.error("a reading is lost", metadata: ["error": "\(error)"])
            await intake.complaints.tell("a reading is lost, since it could not be kept", of: topic.token.name)
        }
        return true
    }
}
