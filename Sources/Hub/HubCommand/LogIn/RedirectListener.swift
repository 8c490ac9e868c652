import Dispatch
import Foundation
import HubClient
import Synchronization

/// Waits at a loopback address for the answer that a service sends through a person's browser, and sends the browser to the service.
///
/// An answer counts only with the `state` that was sent to the service (R11.10); others change nothing, and the wait goes on.
///
/// A separate thread serves at most ``most`` connections, each for at most ``patience``. It refuses requests that are not an answer.
/// Call ``end(_:isWell:)`` on every path, or the thread stays.
final class RedirectListener: Sendable {
    private enum Stage: Sendable {
        case waiting
        /// The answer was taken, and the browser waits for the result.
        case answered
        case over(text: String, isWell: Bool)
    }
    private struct State {
        var stage = Stage.waiting
        var answer: String?
        /// The address to which the first browser that asks for ``start`` is sent.
        var page: String?
    }

    private let address: RedirectAddress
    private let mark: String
    /// The address to open in the browser; it redirects to the service's page.
    ///
    /// Other users of the machine can see the arguments of a program, and the page's address contains the log-in's mark.
    let start: String
    private let startPath: String
    private let state = Mutex(State())
    /// A byte written here makes the thread look at the stage.
    private let bell: (end: Int32, start: Int32)
    /// Signalled when the thread has sent its last response.
    private let done = DispatchSemaphore(value: 0)

    static let most = 16
    static let patience = Duration.seconds(10)

    /// Starts listening.
    ///
    /// - Parameters:
    ///   - page: the service's page.
    ///   - mark: the `state` in its address.
    /// - Throws: ``HubExit/system`` if the port is not available.
    init(_ address: RedirectAddress, page: String, mark: String) throws(Failure) {
        (self.address, self.mark) = (address, mark)
        startPath = "/start-\(UUID().uuidString.lowercased())"
        start = "http://\(address.authority)\(startPath)"
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw Failure(.system, "waiting for the browser: \(String(cString: strerror(errno)))")
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        bell = (ends[0], ends[1])
        var sockets: [Int32] = []
        for host in address.hosts {
            do throws(Failure) { sockets.append(try LoopbackSocket.listen(host, address.port)) } catch {
                // A machine may have only one of the two address families; a port that another program uses is a different case.
                if host == .six, !sockets.isEmpty, !error.message.contains("taken") { continue }
                for socket in sockets { close(socket) }
                for end in ends { close(end) }
                throw error
            }
        }
        state.withLock { $0.page = page }
        Thread { [self, sockets] in
            serve(sockets)
            for socket in sockets { close(socket) }
            for end in [bell.end, bell.start] { close(end) }
            done.signal()
        }.start()
    }

    /// Returns the answer once.
    func take() -> String? {
        state.withLock { state in
            defer { state.answer = nil }
            return state.answer
        }
    }

    /// Shows the result in the browser and stops listening; returns when the response is sent.
    func end(_ text: String, isWell: Bool) {
        let isFirst = state.withLock { state in
            if case .over = state.stage { return false }
            state.stage = .over(text: text, isWell: isWell)
            return true
        }
        guard isFirst else { return }
        _ = write(bell.start, [1], 1)
        done.wait()
    }
}

extension RedirectListener {
    fileprivate struct Connection {
        let descriptor: Int32
        let limit: ContinuousClock.Instant
        var bytes: [UInt8] = []
        /// Whether it has brought the answer and waits for the result.
        var hasAnswered = false
        /// Whether the page's script sent the request, not the browser's own navigation.
        var isScript = false
    }

    private func serve(_ sockets: [Int32]) {
        var connections: [Connection] = []
        while true {
            if case .over(let text, let isWell) = state.withLock(\.stage) { return finish(connections, text, isWell) }
            var polled = sockets.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            polled.append(pollfd(fd: bell.end, events: Int16(POLLIN), revents: 0))
            polled += connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            _ = poll(&polled, nfds_t(polled.count), connections.isEmpty ? -1 : 1_000)
            let ready = Set(polled.filter { $0.revents != 0 }.map(\.fd))
            for socket in sockets where ready.contains(socket) { welcome(socket, &connections) }
            var kept: [Connection] = []
            for var connection in connections {
                if ready.contains(connection.descriptor) ? read(&connection) : connection.isWaited {
                    kept.append(connection)
                } else {
                    close(connection.descriptor)
                }
            }
            connections = kept
        }
    }

    private func welcome(_ socket: Int32, _ connections: inout [Connection]) {
        let descriptor = accept(socket, nil, nil)
        guard descriptor >= 0 else { return }
        guard connections.count < RedirectListener.most else {
            close(descriptor)
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        connections.append(Connection(descriptor: descriptor, limit: .now + RedirectListener.patience))
    }

    /// - Returns: whether the connection goes on.
    private func read(_ connection: inout Connection) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 8_192)
        let count = Foundation.read(connection.descriptor, &buffer, buffer.count)
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        guard count > 0 else { return false }
        // Ignore data after a complete request.
        guard !connection.hasAnswered else { return true }
        connection.bytes += buffer[..<count]
        switch RedirectRequest.read(connection.bytes) {
        case .unfinished: return true
        case .wrong: return answer(connection, 400, "This is not a request of a browser.")
        case .request(let request): return serve(request, &connection)
        }
    }

    private func serve(_ request: RedirectRequest, _ connection: inout Connection) -> Bool {
        if request.host == address.authority, request.path == startPath { return begin(request, connection) }
        switch request.meaning(at: address, expecting: mark) {
        case .foreign:
            let isScript = request.method == "POST"
            // The page's script has removed the fragment from its address.
            let advice =
                isScript
                ? "end it there, log in again with --paste, and paste the address that the browser ends on"
                : "copy the address of this page and paste it in the terminal"
            return answer(
                connection, 400,
                "This answer does not bear the mark of the log-in that waits in the terminal, and was not used. If you began that log-in in this browser, the service does not send the mark back: \(advice). If not, close this page.",
                isScript: isScript)
        case .readFragment: return send(connection, RedirectPage.response(200, RedirectPage.fragment))
        case .refused(let status):
            return answer(connection, status, "There is nothing here.", isScript: request.method == "POST")
        case .answer(let text):
            let isFirst = state.withLock { state in
                guard case .waiting = state.stage else { return false }
                (state.stage, state.answer) = (.answered, text)
                return true
            }
            guard isFirst else {
                let text = "An answer was given already; look at the terminal."
                return answer(connection, 410, text, isScript: request.method == "POST")
            }
            (connection.hasAnswered, connection.isScript) = (true, request.method == "POST")
            return true
        }
    }

    /// Sends the browser to the service's page, once.
    private func begin(_ request: RedirectRequest, _ connection: Connection) -> Bool {
        guard request.method == "GET" else { return answer(connection, 405, "There is nothing here.") }
        guard let page = state.withLock({ $0.page.take() }) else {
            return answer(connection, 410, "This address opens the page once; it stands in the terminal.")
        }
        return send(connection, RedirectPage.response(302, "", location: page))
    }

    private func finish(_ connections: [Connection], _ text: String, _ isWell: Bool) {
        for connection in connections {
            if connection.hasAnswered {
                let title = isWell ? "You are logged in" : "The log-in has failed"
                _ = send(connection, response(200, title, text, isScript: connection.isScript))
            }
            shutdown(connection.descriptor, Int32(SHUT_WR))
            close(connection.descriptor)
        }
    }

    private func answer(_ connection: Connection, _ status: Int, _ text: String, isScript: Bool = false) -> Bool {
        send(connection, response(status, "hub login", text, isScript: isScript))
    }

    /// A page for a person; for the page's script the same as one line, which the script shows as text.
    private func response(_ status: Int, _ title: String, _ text: String, isScript: Bool) -> [UInt8] {
        isScript
            ? RedirectPage.response(status, "\(title): \(text)", type: "text/plain; charset=utf-8")
            : RedirectPage.response(status, RedirectPage.page(title, text))
    }

    /// Sends a few kilobytes, which the kernel accepts as a whole.
    ///
    /// - Returns: false, because the connection is over.
    private func send(_ connection: Connection, _ bytes: [UInt8]) -> Bool {
        _ = Foundation.write(connection.descriptor, bytes, bytes.count)
        shutdown(connection.descriptor, Int32(SHUT_WR))
        return false
    }
}

extension RedirectListener.Connection {
    /// Whether its time is not over, or it is the connection that waits for the result.
    fileprivate var isWaited: Bool { hasAnswered || ContinuousClock.now < limit }
}
