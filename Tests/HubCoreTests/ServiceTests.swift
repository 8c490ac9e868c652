import Foundation
import Synchronization
import Testing
import ZeroMQ

@testable import HubCore

/// Notifications of a hub to its service manager.
@Suite struct ServiceTests {
    @Test(arguments: [false, true])
    func `the manager gets READY once the door is open, watchdog messages, and STOPPING`(_ isAbstract: Bool)
        async throws
    {
        let folder = try Folder()
        let manager = try Manager(folder, isAbstract: isAbstract)
        let notifier = try #require(ServiceNotifier(environment: manager.environment(watchdog: .milliseconds(60))))
        let hub = try await RunningHub(in: folder, notifier: notifier)
        #expect(try await manager.next() == ["READY=1", "STATUS=ready"])
        let peer = try await hub.client()  // The door answers.
        let life = ["WATCHDOG=1", "STATUS=newest sequence 0; 0 of 0 plugins alive"]
        for _ in 0..<3 { #expect(try await manager.next() == life) }
        _ = try await peer.give([weight("a")])
        try await manager.next { $0.contains("STATUS=newest sequence 1; 0 of 0 plugins alive") }
        try await hub.stop()
        try await manager.next { $0.first == "STOPPING=1" }
        #expect(manager.nextIfAny() == nil, "nothing follows STOPPING")
    }

    @Test func `while a commit hangs no watchdog message is sent, and afterwards they continue`() async throws {
        let folder = try Folder()
        let manager = try Manager(folder)
        let notifier = try #require(ServiceNotifier(environment: manager.environment(watchdog: .milliseconds(30))))
        let hub = try await RunningHub(in: folder, notifier: notifier)
        let peer = try await hub.client()
        let hold = try StoreHold(folder)
        await peer.give(unanswered: [weight("a")])
        // The loop still runs.
        _ = try await peer.ask("PING")
        // Messages that were sent before may still arrive, even on a slow machine. A working hub would send a thousand.
        #expect((0..<1_000).contains { _ in manager.nextIfAny(within: .milliseconds(500)) == nil })
        try hold.release()
        try await manager.next { $0.contains("STATUS=newest sequence 1; 0 of 0 plugins alive") }
        try await hub.stop()
    }

    @Test func `while the poll loop hangs no watchdog message is sent, and afterwards they continue`() async throws {
        let folder = try Folder()
        let manager = try Manager(folder)
        let notifier = try #require(ServiceNotifier(environment: manager.environment(watchdog: .milliseconds(30))))
        let loop = try PollLoop(name: "wedged")
        try loop.start()
        let turner = Turner(loop: loop)
        let leaving = Latch()
        let beating = Task { await WatchdogSignal(notifier: notifier).run(until: leaving) { await turner.turn() } }
        try await manager.next { $0.first == "WATCHDOG=1" }
        let gate = DispatchSemaphore(value: 0)
        let hanging = Task { await turner.hang(gate) }
        // Messages that were sent before may still arrive, even on a slow machine. A working hub would send a thousand.
        #expect((0..<1_000).contains { _ in manager.nextIfAny(within: .milliseconds(500)) == nil })
        gate.signal()
        try await manager.next { $0.first == "WATCHDOG=1" }
        leaving.raise()
        await beating.value
        await hanging.value
        loop.stop()
    }

    @Test func `a hub without a manager sends nothing, and does not wait for a manager that is gone`() async throws {
        #expect(ServiceNotifier(environment: [:]) == nil)
        #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": ""]) == nil)
        #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "vsock:2:1"]) == nil)
        #expect(ServiceNotifier(environment: ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)]) == nil)
        let folder = try Folder()
        let other = try #require(
            ServiceNotifier(environment: [
                "NOTIFY_SOCKET": folder.path + "/none", "WATCHDOG_USEC": "1000", "WATCHDOG_PID": "1",
            ]))
        #expect(other.watchdog == nil, "the watchdog is for another process")
        other.tell(("STATUS", "no manager listens"))
        let manager = try Manager(folder)
        let notifier = try #require(ServiceNotifier(environment: manager.environment(watchdog: nil)))
        notifier.tell(("STATUS", "one\nWATCHDOG=1\r\nline"))
        #expect(try await manager.next() == ["STATUS=one WATCHDOG=1 line"])
        for _ in 0..<10_000 { notifier.tell(("STATUS", "a manager that does not read")) }
    }

    private actor Turner {
        private let loop: PollLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(loop: PollLoop) { self.loop = loop }

        func turn() -> String { "turns" }
        func hang(_ gate: DispatchSemaphore) { wait(gate) }
        private nonisolated func wait(_ gate: DispatchSemaphore) { gate.wait() }
    }
}

/// The service manager's end of `NOTIFY_SOCKET`, which gives each datagram as its lines.
final class Manager: Sendable {
    private let descriptor: CInt
    private let name: String

    init(_ folder: Folder, isAbstract: Bool = false) throws {
        let path = folder.path + "/notify"
        name = (isAbstract ? "@" : "") + path
        descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (isAbstract ? [0] : []) + Array(path.utf8)) }
        let length = socklen_t(2 + path.utf8.count + (isAbstract ? 1 : 0))
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    deinit { close(descriptor) }

    func environment(watchdog: Duration?) -> [String: String] {
        var environment = ["NOTIFY_SOCKET": name]
        if let watchdog {
            environment["WATCHDOG_USEC"] = String(Int64(watchdog / .microseconds(1)))
            environment["WATCHDOG_PID"] = String(getpid())
        }
        return environment
    }

    /// Blocks the thread until the next datagram arrives, or returns `nil` if none arrives in time.
    func nextIfAny(within time: Duration = .zero) -> [String]? {
        var file = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&file, 1, CInt(time / .milliseconds(1))) == 1 else { return nil }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { return nil }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }

    @discardableResult
    func next(where isMeant: ([String]) -> Bool = { _ in true }) async throws -> [String] {
        var found: [String]?
        try await eventually("a datagram to the service manager") {
            while let datagram = nextIfAny() {
                if isMeant(datagram) {
                    found = datagram
                    return true
                }
            }
            return false
        }
        return try #require(found)
    }
}
