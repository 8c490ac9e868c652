import CloudClient
import JSON
import PluginKit
import WebSocketClient

/// Sends messages of one device by `/websocket?ack=true` and waits for an answer to each (reference §6.1).
///
/// The socket is open for one delivery, because an idle one is probably dead when it is next needed.
struct PostSocket: Sendable {
    let account: RenewingServiceCalls
    let clock: HubClock

    /// The service's answer to a message.
    enum Answer: Sendable {
        case taken(mid: String?)
        case refused(Rejection)
    }

    struct Rejection: Sendable {
        let code: Int
        let message: String
        /// The wait that the service's limits require.
        let wait: Duration?
    }

    /// The result of a send, even if the connection was cut in the middle.
    struct Report: Sendable {
        /// By index in the call.
        var answers: [Int: Answer] = [:]
        /// Number of messages sent, in order; the outcome of those without an answer is unknown.
        var sent = 0
        /// Why the send ended early.
        var failure: String?
        /// The service does not know the token.
        var isUnauthorized = false
    }

    /// Maximum time without data from the service, pings included.
    private static let silence = Duration.seconds(40)
    /// Maximum time without an answer, regardless of pings.
    private static let patience = Duration.seconds(30)
    /// Maximum number of messages without an answer.
    private static let window = 32
    private static let registration = "register"

    /// Returns when all messages are answered, or no more answers can arrive.
    /// - Throws: `CancellationError`.
    func send(_ messages: [[String: JSONTree]], of device: String, _ token: OAuthToken) async throws -> Report {
        var report = Report()
        do {
            let settings = account.service.settings
            guard let address = WebSocketAddress(settings.webSocket + "/websocket", query: [("ack", "true")]) else {
                throw PluginFailure(.settings, "setting websocket: no address")
            }
            let silence = clock.realDuration(forVirtual: Self.silence)
            try await WebSocket.with(address, silence: silence) { socket in
                try await talk(socket, messages, device, token, &report)
            }
        } catch let error as WebSocketError {
            report.failure = error.message
            report.isUnauthorized = error.code == .refused(401)
        }
        return report
    }

    private func talk(
        _ socket: WebSocket, _ messages: [[String: JSONTree]], _ device: String, _ token: OAuthToken,
        _ report: inout Report
    ) async throws {
        try await socket.send(
            JSONTree.object([
                "type": .text("register"), "sdid": .text(device), "cid": .text(Self.registration),
                "Authorization": .text("bearer \(token.accessToken.reveal())"),
            ]).json)
        var isRegistered = false
        let patience = clock.realDuration(forVirtual: Self.patience)
        var heard = ContinuousClock.now
        for try await text in socket.texts {
            guard let frame = JSONTree(reading: text) else { continue }
            let body = frame.member("error") ?? frame["data"]
            let cid = body?["cid"]?.word
            if let error = frame.member("error") {
                let refusal = Self.refusal(error, clock)
                if cid == Self.registration || !isRegistered {
                    // 409 means that the device is registered already.
                    guard refusal.code == 409 else {
                        report.failure = "the service refuses the registration: \(refusal.code) \(refusal.message)"
                        report.isUnauthorized = refusal.code == 401
                        return
                    }
                    isRegistered = true
                } else if let place = cid.flatMap({ Int($0) }), place < report.sent {
                    report.answers[place] = .refused(refusal)
                } else {
                    report.failure = "the service says \(refusal.code) \(refusal.message)"
                    return
                }
                heard = .now
            } else if cid == Self.registration || !isRegistered && body?["code"]?.word == "200" {
                (isRegistered, heard) = (true, .now)
            } else if let place = cid.flatMap({ Int($0) }), place < report.sent {
                report.answers[place] = .taken(mid: body?["mid"]?.word)
                heard = .now
            } else if ContinuousClock.now - heard > patience {
                report.failure = "the service does not answer on the WebSocket"
                return
            }
            guard isRegistered else { continue }
            while report.sent < messages.count, report.sent - report.answers.count < Self.window {
                var message = messages[report.sent]
                message["cid"] = .text("\(report.sent)")
                // Count before sending: from here on the outcome is unknown.
                report.sent += 1
                try await socket.send(JSONTree.object(message).json)
            }
            if report.answers.count == messages.count { return }
        }
        report.failure = "the WebSocket was closed"
    }

    private static func refusal(_ error: JSONTree, _ clock: HubClock) -> Rejection {
        var wait: Duration?
        let code = Int(error["code"]?.lenientInteger ?? 0)
        if code == 429 {
            let left = numbers(error["X-Rate-Limit-Remaining"])
            let resets = numbers(error["X-Rate-Limit-Reset"])
            let now = clock.now() / 1_000_000
            let waits = zip(zip(left, resets), ServiceWatch.windows).map { window, longest -> Duration in
                window.0 > 0 ? .zero : min(.seconds(max(1, max(0, window.1) - now)), longest)
            }
            wait = waits.max() ?? .seconds(60)
        }
        // The message goes to logs; a text with numbers may contain the value.
        let said = error["message"]?.text ?? ""
        let message = said.contains(where: \.isNumber) ? "" : String(said.prefix(200))
        return Rejection(code: code, message: message, wait: wait)
    }

    private static func numbers(_ value: JSONTree?) -> [Int64] {
        (value?.word ?? "").split(separator: "/").map { Int64($0) ?? 0 }
    }
}
