import HubSettings
import Testing

@testable import HubCore

/// When a program that runs now and then is started and ended; no clock, no store.
@Suite struct RunScheduleTests {
    private static let policy = LifePolicy(runFloor: 10_000, runLook: 1_000, runLinger: 30_000, longestRun: 3_600_000)

    private func schedule(_ pause: Int64, last: Int64? = nil) -> RunSchedule {
        RunSchedule(pause: pause, last: last, Self.policy)
    }

    @Test func `R13.60 it is started once for all that waits, and not sooner after the start before than it may`() {
        var schedule = schedule(3_600_000)
        // Before its first start the hub does not know what it asks for: it is started at once.
        #expect(schedule.nextLook == .min)
        #expect(schedule.look(.unknown, at: 5) == true)
        schedule.began(at: 5)
        schedule.ended(.nothing, at: 60_000)
        #expect(schedule.nextLook == nil)
        schedule.stored()
        schedule.stored()
        #expect(schedule.nextLook == 3_600_005)
        #expect(schedule.look(.now, at: 3_600_005) == true)
        schedule.began(at: 3_600_005)
        #expect(schedule.nextLook == nil)
    }

    @Test func `what was started before the hub counts, and an immediate one has a floor`() {
        #expect(schedule(3_600_000, last: -3_000_000).nextLook == 600_000)
        #expect(schedule(0, last: -3_000).nextLook == 7_000)
        #expect(schedule(0, last: -30_000).nextLook == -20_000)
    }

    @Test
    func `a sink is started for what it is to be given, not for all that is stored, and for a retry when it is due`() {
        var schedule = schedule(0, last: -20_000)
        #expect(schedule.look(.nothing, at: 100) == false)
        #expect(schedule.nextLook == nil)
        schedule.stored()
        // Not more often than once a second, whatever comes.
        #expect(schedule.nextLook == 1_100)
        #expect(schedule.look(.later(50_000), at: 1_100) == false)
        #expect(schedule.nextLook == 50_000)
        #expect(schedule.look(.now, at: 50_000) == true)
    }

    @Test func `R13.61 it is ended when nothing has waited for a while, and at the end of its time`() {
        var schedule = schedule(0)
        schedule.began(at: 0)
        #expect(schedule.reasonToEnd(isIdle: true, at: 1_000) == nil)
        #expect(schedule.reasonToEnd(isIdle: false, at: 20_000) == nil)
        #expect(schedule.reasonToEnd(isIdle: true, at: 40_000) == nil)
        #expect(schedule.reasonToEnd(isIdle: true, at: 69_999) == nil)
        #expect(schedule.reasonToEnd(isIdle: true, at: 70_000) == "nothing waits for it any more")
        #expect(schedule.nextIdleLook == 71_000)
        schedule.began(at: 100_000)
        #expect(schedule.reasonToEnd(isIdle: false, at: 3_699_999) == nil)
        #expect(
            schedule.reasonToEnd(isIdle: false, at: 3_700_000) == "it has run for 60 min and goes on the next time")
    }
}
