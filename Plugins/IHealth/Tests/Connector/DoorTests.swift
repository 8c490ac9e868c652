import ScaleBench
import ScaleStandIns
import Synchronization
import Testing

@testable import ScaleProtocols

/// Programs that dial the connector over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct DoorTests {
    /// The connector's end: a dialogue over a link that waits for callers.
    final class Connector: Sendable {
        let port = Ports.next()
        private let runner: LinkRunner
        private let seen = Box<[LinkRunner.Event]>([])

        init(pongTimeout: Duration) throws {
            var settings = HSLSession.Settings(model: .hs4)
            settings.token = HSLToken("secret")
            settings.pongTimeout = pongTimeout
            let dialogue = HSLSession(settings: settings)
            let link = try ScaleLink("hsl-accept://127.0.0.1:\(port)")
            let runner = try LinkRunner(link, pause: .milliseconds(1), dialogue: dialogue)
            self.runner = runner
            let (startedAt, seen) = (ContinuousClock.now, seen)
            Task {
                var dialogue = dialogue
                while let event = await runner.next() {
                    seen.change { $0.append(event) }
                    let inputs: [ScaleInput] =
                        switch event {
                        case .opened: runner.opening
                        case .received(let bytes): [.received(bytes)]
                        case .closed: [.linkClosed]
                        case .alarm: [.tick]
                        case .contested: [.contested]
                        case .remark, .unreachable: []
                        }
                    let now = ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: .startOf2000)
                    for action in inputs.flatMap({ dialogue.handle($0, at: now) }) {
                        if case .send(let bytes) = action { runner.send(bytes) }
                        if case .close = action { runner.hangUp() }
                    }
                    runner.setAlarm(at: dialogue.deadline.map { startedAt + $0 })
                }
            }
        }

        /// The numbers of links that have begun and ended.
        var links: (begun: Int, ended: Int) {
            let events = seen.value
            return (events.count { $0 == .opened }, events.count { if case .closed = $0 { true } else { false } })
        }

        deinit { runner.stop() }
    }

    /// A program at the other end, which authenticates itself or only dials.
    final class Caller: Sendable {
        private let runner: LinkRunner
        private let state = Box((isDeaf: false, sessions: 0, byes: 0))

        init(_ port: UInt16, isSilent: Bool = false) throws {
            let runner = try LinkRunner(try ScaleLink("tcp://127.0.0.1:\(port)"), pause: .milliseconds(20))
            self.runner = runner
            let id = try #require(HSLDeviceID(.hs4, "020000004001"))
            var profile = HSLDevice.Profile()
            profile.token = HSLToken("secret")
            let (startedAt, state, made) = (ContinuousClock.now, state, HSLDevice(.init(id), profile: profile))
            Task {
                var device = made
                while let event = await runner.next() {
                    guard !isSilent, !state.value.isDeaf else { continue }
                    let input: StandInInput
                    switch event {
                    case .opened: input = .linkOpened
                    case .received(let bytes):
                        if String(decoding: bytes, as: UTF8.self).contains("\"bye\"") { state.change { $0.byes += 1 } }
                        input = .received(bytes)
                    case .closed: input = .linkClosed
                    default: input = .tick
                    }
                    let now = ScaleMoment(uptime: ContinuousClock.now - startedAt, wall: .startOf2000)
                    for action in device.handle(input, at: now) {
                        switch action {
                        case .send(let bytes): runner.send(bytes)
                        case .hangUp: runner.hangUp()
                        case .event(.sessionOpened): state.change { $0.sessions += 1 }
                        case .event: break
                        }
                    }
                    runner.setAlarm(at: device.deadline.map { startedAt + $0 })
                }
            }
        }

        var sessions: Int { state.value.sessions }
        var byes: Int { state.value.byes }

        /// Stops receiving and answering without closing the connection, like a phone whose network is gone.
        func vanish() { state.change { $0.isDeaf = true } }

        func stop() { runner.stop() }

        deinit { stop() }
    }

    final class Box<Value: Sendable>: Sendable {
        private let held: Mutex<Value>
        init(_ value: Value) { held = Mutex(value) }
        var value: Value { held.withLock { $0 } }
        func change(_ body: @Sendable (inout Value) -> Void) { held.withLock { body(&$0) } }
    }

    static func until(_ isTrue: () -> Bool) async throws {
        while !isTrue() { try await Task.sleep(for: .milliseconds(2)) }
    }

    @Test func `silent callers keep no other caller out, in any number and for any time`() async throws {
        let connector = try Connector(pongTimeout: .seconds(10))
        let silent = try (0..<40).map { _ in try Caller(connector.port, isSilent: true) }
        for _ in 0..<3 {
            let phone = try Caller(connector.port)
            try await Self.until { phone.sessions > 0 }
        }
        #expect(connector.links.begun == 3, "a silent caller never has the link")
        for caller in silent { caller.stop() }
    }

    @Test func `a phone that lost its network gets its place back from the connection it left behind`() async throws {
        let connector = try Connector(pongTimeout: .seconds(1))
        let lost = try Caller(connector.port)
        try await Self.until { lost.sessions == 1 }
        lost.vanish()
        let back = try Caller(connector.port)
        try await Self.until { back.sessions == 1 }
        #expect(connector.links == (2, 1))
        // Data that was under way when the network disappeared counts once as a sign of life.
        #expect(back.byes <= 1)
    }

    @Test func `a live session is not replaced, and the other caller gets a reason`() async throws {
        let connector = try Connector(pongTimeout: .seconds(10))
        let first = try Caller(connector.port)
        try await Self.until { first.sessions == 1 }
        let second = try Caller(connector.port)
        try await Self.until { second.byes >= 2 }
        #expect(connector.links == (1, 0) && second.sessions == 0 && first.byes == 0)
        first.stop()
        try await Self.until { second.sessions == 1 }
    }
}
