import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Limits the concurrent requests of each visitor, so that no visitor waits for the many requests of another.
///
/// Each session or token has two running requests, and a limited number that wait in order.
final class VisitorConcurrencyLimit: Sendable {
    /// Maximum number of running requests of a visitor.
    static let atOnce = 2
    /// Maximum number of requests of a visitor that run, wait, or are being downloaded.
    static let most = 32

    private struct Visitor {
        var requests = 0
        var atWork = 0
        var waiting: [(id: Int, turn: CheckedContinuation<Void, Never>)] = []
    }

    private struct State {
        var visitors: [String: Visitor] = [:]
        var last = 0
    }

    private let state = Mutex(State())

    /// A request with a turn; the turn ends with this object.
    final class Permit: Sendable {
        private let turns: VisitorConcurrencyLimit
        private let visitor: String
        private let isAtWork = Mutex(true)

        fileprivate init(_ turns: VisitorConcurrencyLimit, _ visitor: String) {
            (self.turns, self.visitor) = (turns, visitor)
        }

        /// Lets another request of the visitor run.
        func pause() {
            if isAtWork.withLock({ isAtWork in
                defer { isAtWork = false }
                return isAtWork
            }) {
                turns.leave(visitor)
            }
        }

        /// Waits until the request may continue.
        func goOn() async {
            await turns.wait(visitor)
            isAtWork.withLock { $0 = true }
        }

        deinit {
            pause()
            turns.end(visitor)
        }
    }

    /// Waits for the turn of a request.
    ///
    /// - Parameter visitor: the hash of a session or token.
    /// - Returns: nil if too many requests of this visitor wait.
    func begin(_ visitor: String) async -> Permit? {
        let isIn = state.withLock { state in
            guard state.visitors[visitor]?.requests ?? 0 < Self.most else { return false }
            state.visitors[visitor, default: Visitor()].requests += 1
            return true
        }
        guard isIn else { return nil }
        await wait(visitor)
        return Permit(self, visitor)
    }

    private func wait(_ visitor: String) async {
        let id = state.withLock { state in
            state.last += 1
            return state.last
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                let isNow = state.withLock { state in
                    guard state.visitors[visitor, default: Visitor()].atWork >= Self.atOnce, !Task.isCancelled else {
                        state.visitors[visitor, default: Visitor()].atWork += 1
                        return true
                    }
                    state.visitors[visitor, default: Visitor()].waiting.append((id, turn))
                    return false
                }
                if isNow { turn.resume() }
            }
        } onCancel: {
            // A cancelled request continues, and ends without help.
            let turn = state.withLock { state -> CheckedContinuation<Void, Never>? in
                guard let place = state.visitors[visitor]?.waiting.firstIndex(where: { $0.id == id }) else {
                    return nil
                }
                state.visitors[visitor]?.atWork += 1
                return state.visitors[visitor]?.waiting.remove(at: place).turn
            }
            turn?.resume()
        }
    }

    private func leave(_ visitor: String) {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let known = state.visitors[visitor] else { return nil }
            // Cancelled requests may have raised the number.
            guard known.atWork <= Self.atOnce, !known.waiting.isEmpty else {
                state.visitors[visitor]?.atWork -= 1
                return nil
            }
            return state.visitors[visitor]?.waiting.removeFirst().turn
        }
        next?.resume()
    }

    private func end(_ visitor: String) {
        state.withLock { state in
            state.visitors[visitor]?.requests -= 1
            if state.visitors[visitor]?.requests == 0 { state.visitors[visitor] = nil }
        }
    }
}

/// Runs the requests of known viewers in turns.
struct FairTurns: RouterMiddleware {
    let turns: VisitorConcurrencyLimit

    func handle(
        _ request: Request, context: WebRequestContext, next: (Request, WebRequestContext) async throws -> Response
    ) async throws -> Response {
        // Event streams do not end, and have separate limits.
        guard let viewer = context.viewer, request.uri.path != EventRoutes.path else {
            return try await next(request, context)
        }
        guard let turn = await turns.begin(viewer.session.hash) else {
            throw RequestRefusal(
                .tooManyRequests, "Too many requests at a time",
                "\(VisitorConcurrencyLimit.most) requests of this log-in or token are under way. Wait until some are answered.",
                retryAfter: 2)
        }
        var response = try await next(request, context)
        // A streamed body takes a turn for each piece, and none while the client does not read.
        if response.body.contentLength == nil {
            let body = response.body
            response.body = ResponseBody { writer in try await body.write(TurnWriter(writer: writer, turn: turn)) }
        }
        return response
    }
}

private struct TurnWriter: ResponseBodyWriter {
    var writer: any ResponseBodyWriter
    let turn: VisitorConcurrencyLimit.Permit

    mutating func write(_ buffer: ByteBuffer) async throws {
        turn.pause()
        try await writer.write(buffer)
        await turn.goOn()
    }

    consuming func finish(_ trailingHeaders: HTTPFields?) async throws { try await writer.finish(trailingHeaders) }
}
