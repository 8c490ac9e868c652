import Foundation
import Synchronization

/// A service with log-in, on loopback, that can do wrong what services do wrong.
///
/// Every refresh token is good for one renewal; one that comes again ends the log-in, as strict services do. A person is logged in to the
/// service already, and agrees unless ``Ways/denies``.
public final class OAuthServer: Sendable {
    /// What the next answers of the token endpoint do instead of succeeding.
    public enum Fault: Sendable {
        /// Renews, and ends the connection without a word.
        case loseAnswer
        /// Ends the connection before anything has happened.
        case hangUp
        /// `invalid_grant`.
        case refuse
        /// Renews, and answers what is not a token.
        case rubbish
        case status(Int)
        /// Renews, and holds the answer back until ``OAuthServer/release()``.
        case hold
    }

    public struct Ways: Sendable {
        /// Of new access tokens.
        public var expiresIn = 3_600
        public var denies = false
        /// What comes back as `state` instead of what was sent; nil: nothing comes back.
        public var state: String??
        public var canRevoke = true
    }

    public struct Counts: Sendable, Equatable {
        /// Access tokens that were handed out for a code, in a fragment, or for a refresh token.
        public var logIns = 0
        public var renewals = 0
        /// Refresh tokens that came again, or never were.
        public var reuses = 0
        /// Requests with a token that holds, and with one that does not.
        public var good = 0
        public var bad = 0
        public var revoked = 0
    }

    struct State {
        var ways = Ways()
        var faults: [Fault] = []
        var counts = Counts()
        var codes: [String: (redirect: String, challenge: String?)] = [:]
        var access: Set<String> = []
        var refresh: Set<String> = []
        /// Everything secret that was ever handed out: to be looked for where it must not be.
        var secrets: [String] = []
        var number = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    let state = Mutex(State())
    public let port: UInt16
    private let listener: Int32
    private let gate = DispatchSemaphore(value: 0)

    public init() throws {
        (listener, port) = try Loopback.listen()
        let (listener, weak) = (listener, WeakServer(self))
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let server = weak.server, !server.state.withLock(\.isClosed) else {
                    if connection >= 0 { close(connection) }
                    break
                }
                Thread.detachNewThread {
                    server.serve(connection)
                    close(connection)
                }
            }
            close(listener)
        }
    }

    deinit { stop() }

    /// Serves no more requests: connections are refused.
    public func stop() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        gate.signal()
    }

    public var base: String { "http://127.0.0.1:\(port)" }
    public var counts: Counts { state.withLock(\.counts) }
    public var secrets: [String] { state.withLock(\.secrets) }

    public func change(_ body: (inout Ways) -> Void) { state.withLock { body(&$0.ways) } }
    public func next(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// Lets a held answer go.
    public func release() { gate.signal() }

    /// Every token that was handed out is void from now on, as when a person has taken the access away.
    public func voidAll() {
        state.withLock { state in
            state.access = []
            state.refresh = []
        }
    }

    /// Access tokens hold no longer, refresh tokens do.
    public func voidAccess() { state.withLock { $0.access = [] } }

    /// Returns once `isEnough` accepts what has happened.
    public func wait(_ isEnough: @Sendable (Counts) -> Bool) async {
        while true {
            let seen = counts
            if isEnough(seen) { return }
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.counts == seen else { return false }
                    state.waiters.append(continuation)
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        }
    }

    func count(_ body: (inout State) -> Void) {
        let waiters = state.withLock { state in
            body(&state)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func serve(_ connection: Int32) {
        guard let request = HTTPMessage(from: connection) else { return }
        let answer = answer(request)
        if answer.isHeld { gate.wait() }
        guard let status = answer.status else { return }
        HTTPMessage.write("HTTP/1.1 \(status) -", answer.fields, answer.body, to: connection)
    }
}

private struct WeakServer: Sendable {
    weak let server: OAuthServer?
    init(_ server: OAuthServer) { self.server = server }
}
