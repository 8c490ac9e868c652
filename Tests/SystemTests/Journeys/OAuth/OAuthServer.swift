import Foundation
import HubProcess
import Synchronization

/// A service with a log-in, on loopback, that can make the errors of real services.
///
/// Every refresh token is good for one renewal; if it is used again, the log-in ends, as with strict services. The person is already logged in
/// to the service, and agrees unless ``Ways/denies``.
final class OAuthServer: Sendable {
    /// A fault of the token endpoint at one of its next requests.
    enum Fault: Sendable {
        /// Renews, and ends the connection without an answer.
        case loseAnswer
        /// Ends the connection before anything has happened.
        case hangUp
        /// Answers `invalid_grant`.
        case refuse
        /// Renews, and answers with something that is not a token.
        case rubbish
        case status(Int)
        /// Renews, and delays the answer until ``OAuthServer/release()``.
        case hold
    }

    struct Ways: Sendable {
        /// The lifetime of new access tokens in seconds.
        var expiresIn = 3_600
        var denies = false
        /// Replaces the `state` in the redirect; an inner `nil` leaves it out.
        var state: String??
        var canRevoke = true
    }

    struct Counts: Sendable, Equatable {
        /// The number of access tokens issued for a code or in a fragment; `renewals` counts those for a refresh token.
        var logIns = 0
        var renewals = 0
        /// The number of refresh tokens that were used again or never issued.
        var reuses = 0
        /// The numbers of requests with a valid token and with an invalid one.
        var good = 0
        var bad = 0
        var revoked = 0
    }

    struct State {
        var ways = Ways()
        var faults: [Fault] = []
        var counts = Counts()
        var codes: [String: (redirect: String, challenge: String?)] = [:]
        var access: Set<String> = []
        var refresh: Set<String> = []
        /// Every secret that was ever issued: a test looks for them in places that must not have them.
        var secrets: [String] = []
        var number = 0
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isClosed = false
    }

    let state = Mutex(State())
    let port: UInt16
    private let listener: Int32
    private let gate = DispatchSemaphore(value: 0)

    init() throws {
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

    /// Refuses all further connections.
    func stop() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        gate.signal()
    }

    var base: String { "http://127.0.0.1:\(port)" }
    var counts: Counts { state.withLock(\.counts) }
    var secrets: [String] { state.withLock(\.secrets) }

    func change(_ body: (inout Ways) -> Void) { state.withLock { body(&$0.ways) } }
    func next(_ faults: Fault...) { state.withLock { $0.faults += faults } }

    /// Sends the delayed answer.
    func release() { gate.signal() }

    /// Returns as soon as `isEnough` accepts the counts.
    func wait(_ isEnough: @Sendable (Counts) -> Bool) async {
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
