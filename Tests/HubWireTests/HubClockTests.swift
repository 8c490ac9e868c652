import HubWire
import Samples
import Testing

@Suite struct HubClockTests {
    @Test func `a virtual clock begins at its start and never goes backwards`() throws {
        let clock = try #require(HubClock("2024-03-01T00:00:00Z@43200"))
        let start = try Timestamp(parsing: "2024-03-01T00:00:00Z").microseconds
        var last = start
        for _ in 0..<1_000 {
            let now = clock.now()
            #expect(now >= last)
            last = now
        }
        #expect(clock.description == "2024-03-01T00:00:00Z@43200")
        #expect(clock.realDuration(forVirtual: .seconds(86_400)) == .seconds(2))
    }

    @Test func `the system clock is the machine's clock`() {
        #expect(HubClock("system") == .system)
        #expect(HubClock.system.description == "system")
        #expect(HubClock.system.realDuration(forVirtual: .seconds(3)) == .seconds(3))
        #expect(HubClock.system.now() > 1_700_000_000_000_000)
        #expect(HubClock.system.started(at: 5) == .system)
    }

    @Test func `a follower takes its time from START, the time at which WELCOME was sent`() throws {
        let hub = try #require(HubClock("2024-03-01T00:00:00Z@0.5"))
        let announced = hub.announcement()
        var welcome = Welcome.sample()
        (welcome.clock, welcome.time) = (announced.clock, announced.time)
        let follower = try welcome.hubClock()
        #expect(announced.clock == "\(announced.time.text)@0.5")
        #expect(follower.now() >= announced.time.microseconds)
        #expect(follower.rate == 0.5)
        welcome.clock = "yesterday"
        #expect(throws: WireError.self) { try welcome.hubClock() }
    }

    @Test func `an invalid clock is refused`() {
        for text in [
            "", "System", "2024-03-01T00:00:00Z", "2024-03-01@2", "2024-03-01T00:00:00Z@0", "2024-03-01T00:00:00Z@-1",
            "2024-03-01T00:00:00Z@inf", "2024-03-01T00:00:00Z@nan", "2024-03-01T00:00:00Z@1e400",
            "2024-03-01T00:00:00Z@1@2",
        ] {
            #expect(HubClock(text) == nil, "\(text)")
        }
    }

    @Test func `a clock stops at the last time that RFC 3339 can represent`() throws {
        let clock = try #require(HubClock("9999-12-30T23:59:59.999999Z@10000000"))
        #expect(clock.now() <= Timestamp.range.upperBound)
    }
}
