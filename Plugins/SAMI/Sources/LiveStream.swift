import CloudClient
import JSON
import PluginKit
import WebSocketClient

/// Receives messages as they arrive; missed messages are read by REST.
struct LiveStream: Sendable {
    let hub: PluginContext
    let parts: SAMI.Parts
    let patience: RetryLoop
    /// Woken when messages may have been missed.
    let wakeup: WakeSignal

    /// The service pings every 30 s; its own clients waited 35 to 40 s (reference §6.1).
    private static let silence = Duration.seconds(40)

    /// Receives messages until the task is cancelled.
    func run() async throws {
        let pace = ClientClock(hub)
        var backOff = BackOff(first: .milliseconds(500), factor: 2, longest: .seconds(60))
        var refused: OAuthToken?
        while true {
            let token = try await patience.until { [refused] in try await parts.account.token(insteadOf: refused) }
            refused = nil
            let began = pace.steady()
            do {
                if try await listen(token, { wakeup.wake() }) { refused = token }
                hub.logger.notice("the live stream has ended; it is opened again")
            } catch let error as WebSocketError {
                await parts.troubles.tell(
                    .live,
                    "there is no live stream (\(error)); it is opened again automatically and then brings new messages; hub refresh \(hub.instance) asks for them now"
                )
                if error.code == .refused(401) { refused = token }
            } catch let error where RetryLoop.mayPass(error) {
                hub.logger.warning("a live message could not be read", metadata: ["reason": "\(error)"])
            }
            // If the service opens and closes the stream at once, the waits grow.
            if pace.steady() - began > 30_000_000 { backOff.reset() }
            try await pace.wait(backOff.next())
        }
    }

    /// - Returns: whether the service no longer accepts the token.
    private func listen(_ token: OAuthToken, _ opened: () -> Void) async throws -> Bool {
        let user = try await parts.importer.ownUser()
        let watch = parts.account.watch
        guard let address = WebSocketAddress(parts.importer.settings.webSocket + "/live", query: [("uid", user.id)])
        else {
            throw PluginFailure(.settings, "setting websocket: no address")
        }
        // The documentation puts the token into the query. The later SDK sends a header, which appears in no log.
        let headers = [("Authorization", "Bearer \(token.accessToken.reveal())")]
        let silence = hub.clock.realDuration(forVirtual: Self.silence)
        return try await WebSocket.with(address, headers: headers, silence: silence) { socket in
            opened()
            await parts.troubles.end(.live)
            for try await text in socket.texts {
                guard let frame = JSONTree(reading: text) else { continue }
                // Errors, then pings, then messages, by shape; ignore unknown frames of later versions.
                if let error = frame.member("error") {
                    hub.logger.notice(
                        "the live stream says", metadata: ["code": "\(error["code"]?.word ?? "")"])
                    if error["code"]?.word == "401" { return true }
                } else if let message = ServiceMessage(frame) {
                    if let received = message.received { await watch.noteTime(received, isFresh: false) }
                    try await parts.importer.take(message)
                } else if frame["type"]?.text == "ping", let time = frame["ts"]?.lenientInteger {
                    await watch.noteTime(time, isFresh: true)
                }
            }
            return false
        }
    }
}

/// Wakes one waiter, now or when it next waits; several earlier wakes count as one.
final class WakeSignal: Sendable {
    private let wakes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() { (wakes, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func wake() { continuation.yield() }

    /// The wakes, for one waiter.
    var signals: AsyncStream<Void> { wakes }
}
