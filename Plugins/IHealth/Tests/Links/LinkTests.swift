import Glibc
import Testing

@testable import ScaleProtocols

/// Links over real sockets and terminals.
@Suite(.timeLimit(.minutes(1)))
struct LinkTests {
    static func listen(_ text: String) throws -> (LinkListener, ScaleLink) {
        let link = try ScaleLink(text)
        return (try LinkListener(link, try #require(link.awaited)), link)
    }

    /// Dials `text` until it answers, as a scale does.
    static func dial(_ text: String) async throws -> LinkDescriptor {
        let link = try ScaleLink(text)
        while true {
            var opening = try LinkOpening(link, try #require(link.dialled))
            switch opening.begin() {
            case .open(let descriptor): return descriptor
            case .pending(let descriptor):
                var file = pollfd(fd: descriptor.number, events: Int16(POLLOUT), revents: 0)
                _ = poll(&file, 1, 5000)
                if case .open(let descriptor) = opening.finish() { return descriptor }
            case .failed: break
            }
            await Task.yield()
        }
    }

    static func accept(_ listener: LinkListener) throws -> LinkDescriptor {
        var file = pollfd(fd: listener.descriptor.number, events: Int16(POLLIN), revents: 0)
        _ = poll(&file, 1, 10_000)
        return try #require(listener.accept())
    }

    static func read(_ count: Int, from descriptor: LinkDescriptor) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var file = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
            try #require(poll(&file, 1, 10_000) > 0, "nothing came")
            switch descriptor.read() {
            case .done(let more): bytes += more
            case .later: continue
            case .ended: return bytes
            }
        }
        return bytes
    }

    /// Expects that bytes pass in both directions.
    static func exchange(_ runner: LinkRunner, _ other: LinkDescriptor) async throws {
        #expect(await runner.next() == .opened)
        runner.send([1, 2])
        runner.send([3])
        #expect(try read(3, from: other) == [1, 2, 3])
        _ = other.write([0xA0, 0x0D, 0x0A, 0x03, 0x11][...])
        var bytes: [UInt8] = []
        while bytes.count < 5, case .received(let more) = await runner.next() { bytes += more }
        #expect(bytes == [0xA0, 0x0D, 0x0A, 0x03, 0x11])
    }

    static func finish(_ runner: LinkRunner) async {
        runner.stop()
        while await runner.next() != nil {}
    }

    @Test func `a TCP link carries bytes in both directions, comes back after its end, and stops`() async throws {
        let (listener, _) = try LinkTests.listen("tcp-accept://127.0.0.1:0")
        let runner = try LinkRunner(
            try ScaleLink("tcp://127.0.0.1:\(try #require(listener.port))"), pause: .milliseconds(1))
        for _ in 0..<3 {
            let other = try LinkTests.accept(listener)
            try await LinkTests.exchange(runner, other)
            #expect(runner.opening == [.caller("127.0.0.1"), .linkOpened])
            shutdown(other.number, Int32(SHUT_RDWR))
            guard case .closed(let reason?) = await runner.next() else { return #expect(Bool(false), "no end") }
            #expect(reason.code == .lost)
        }
        await LinkTests.finish(runner)
    }

    @Test func `hanging up ends a link without a reason, and a new one follows`() async throws {
        let (listener, _) = try LinkTests.listen("tcp-accept://127.0.0.1:0")
        let runner = try LinkRunner(
            try ScaleLink("tcp://127.0.0.1:\(try #require(listener.port))"), pause: .milliseconds(1))
        let first = try LinkTests.accept(listener)
        #expect(await runner.next() == .opened)
        runner.send([7])
        runner.hangUp()
        #expect(await runner.next() == .closed(nil))
        #expect(try LinkTests.read(2, from: first) == [7], "bytes sent before go out")
        let second = try LinkTests.accept(listener)
        try await LinkTests.exchange(runner, second)
        await LinkTests.finish(runner)
    }

    @Test func `an awaited scale can connect over TCP and over a Unix socket`() async throws {
        let path = "/tmp/scale-links-\(getpid()).sock"
        let runner = try LinkRunner(try ScaleLink("unix-accept://\(path)"), pause: .milliseconds(1))
        for _ in 0..<2 {
            let other = try await LinkTests.dial("unix://\(path)")
            try await LinkTests.exchange(runner, other)
            shutdown(other.number, Int32(SHUT_RDWR))
            guard case .closed = await runner.next() else { return #expect(Bool(false), "no end") }
        }
        await LinkTests.finish(runner)
        #expect(access(path, F_OK) != 0, "the socket file is gone")
    }

    @Test func `a requested local port is used or the link fails, and without a request there is always a port`()
        async throws
    {
        let text = "udp://127.0.0.1:1?bind=\(UInt16.random(in: 20_000...32_000))"
        let first = try LinkRunner(try ScaleLink(text), pause: .milliseconds(1))
        #expect(await first.next() == .opened)
        let second = try LinkRunner(try ScaleLink(text), pause: .milliseconds(1))
        guard case .unreachable(let error) = await second.next() else { return #expect(Bool(false), "shared") }
        #expect(error.code == .machine && error.description.contains("Address already in use"))
        await LinkTests.finish(first)
        #expect(await second.next() == .opened, "it is tried again")
        await LinkTests.finish(second)
        let anywhere = try [ScaleLink("udp://127.0.0.1:1"), ScaleLink("udp://127.0.0.1:1")].map {
            try LinkRunner($0, pause: .milliseconds(1))
        }
        for runner in anywhere { #expect(await runner.next() == .opened) }
        for runner in anywhere { await LinkTests.finish(runner) }
    }

    @Test func `a terminal is opened raw, locked, and given back`() async throws {
        var (ours, theirs): (Int32, Int32) = (-1, -1)
        try #require(openpty(&ours, &theirs, nil, nil, nil) == 0)
        var name = [CChar](repeating: 0, count: 128)
        try #require(ttyname_r(theirs, &name, name.count) == 0)
        let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let (master, slave) = (LinkDescriptor(owning: ours), LinkDescriptor(owning: theirs))
        master.setNonBlocking()
        let runner = try LinkRunner(try ScaleLink("serial://\(path)"), pause: .milliseconds(1))
        try await LinkTests.exchange(runner, master)

        let second = try LinkRunner(try ScaleLink("serial://\(path)"), pause: .milliseconds(1))
        guard case .unreachable(let error) = await second.next() else { return #expect(Bool(false), "not locked") }
        #expect(error.description.contains("another program has locked it"))
        await LinkTests.finish(second)
        await LinkTests.finish(runner)
        withExtendedLifetime(slave) {}
    }

    @Test func `an outage is reported once, after any number of attempts, and so is its end`() async throws {
        let path = "/tmp/scale-links-outage-\(getpid()).sock"
        let link = try ScaleLink("unix://\(path)")
        let runner = try LinkRunner(link, pause: .milliseconds(1))
        guard case .unreachable(let error) = await runner.next() else { return #expect(Bool(false), "no outage") }
        #expect(error.code == .refused)
        #expect(error.description.hasPrefix("\(link): No such file or directory"))
        // A hundred milliseconds are enough for several attempts, but the next event is the alarm.
        runner.setAlarm(at: .now + .milliseconds(100))
        #expect(await runner.next() == .alarm)
        let (listener, _) = try LinkTests.listen("unix-accept://\(path)")
        #expect(await runner.next() == .opened)
        await LinkTests.finish(runner)
        unlink(path)
        withExtendedLifetime(listener) {}
    }

    @Test func `cancelling the waiting task ends the link`() async throws {
        let runner = try LinkRunner(try ScaleLink("tcp-accept://127.0.0.1:0"))
        let waiting = Task { await runner.next() }
        waiting.cancel()
        #expect(await waiting.value == nil)
    }

    @Test func `a peer that reads nothing is disconnected before it fills the memory`() async throws {
        let (listener, _) = try LinkTests.listen("tcp-accept://127.0.0.1:0")
        let runner = try LinkRunner(
            try ScaleLink("tcp://127.0.0.1:\(try #require(listener.port))"), pause: .seconds(30))
        let other = try LinkTests.accept(listener)
        #expect(await runner.next() == .opened)
        runner.send([UInt8](repeating: 1, count: 70_000))
        #expect(await runner.next() == .closed(nil))
        await LinkTests.finish(runner)
        withExtendedLifetime(other) {}
    }

    @Test func `an owner that does not read slows the scale down`() async throws {
        let (listener, _) = try LinkTests.listen("tcp-accept://127.0.0.1:0")
        let runner = try LinkRunner(
            try ScaleLink("tcp://127.0.0.1:\(try #require(listener.port))"), pause: .milliseconds(1))
        let other = try LinkTests.accept(listener)
        #expect(await runner.next() == .opened)
        // Until the kernel's buffers of both sides are full: far more than 16 events of 4 KiB.
        var (sent, block) = (0, [UInt8](repeating: 5, count: 65_536))
        for place in block.indices { block[place] = UInt8(truncatingIfNeeded: place) }
        while true {
            guard case .done(let count) = other.write(block[...]) else {
                var file = pollfd(fd: other.number, events: Int16(POLLOUT), revents: 0)
                if poll(&file, 1, 300) > 0 { continue }
                break
            }
            sent += count
            try #require(sent < 64 << 20, "nothing stops the other side")
        }
        shutdown(other.number, Int32(SHUT_WR))
        var received = 0
        while case .received(let bytes) = await runner.next() { received += bytes.count }
        #expect(received == sent)
        await LinkTests.finish(runner)
    }

    /// If the kernel has Bluetooth, a call to an address without a device fails like one to a sleeping scale, or because there
    /// is no adapter; without Bluetooth the error says so.
    @Test func `a Bluetooth call that cannot succeed ends with a helpful sentence`() async throws {
        let runner = try LinkRunner(try ScaleLink("rfcomm://02:00:00:00:30:01"))
        guard case .unreachable(let error) = await runner.next() else { return #expect(Bool(false), "no error") }
        #expect([.asleep, .machine].contains(error.code))
        #expect(error.description.hasPrefix("rfcomm://02:00:00:00:30:01: "))
        await LinkTests.finish(runner)
        let probe = socket(Bluetooth.family, Int32(SOCK_STREAM.rawValue), Bluetooth.rfcomm)
        if probe >= 0 {
            close(probe)
        } else {
            #expect(error.description.contains("this system has no Bluetooth sockets"))
        }
    }
}
