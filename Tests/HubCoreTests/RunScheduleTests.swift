import HubSettings
import Testing

@testable import HubCore

/// Decisions to start and end an occasional program, without a clock or a store.
@Suite struct RunScheduleTests {
    private static let policy = LifecyclePolicy(
        runFloor: 10_000, runLook: 1_000, runLinger: 30_000, longestRun: 3_600_000)

    private func schedule(_ pause: Int64, last: Int64? = nil) -> RunSchedule {
        RunSchedule(pause: pause, last: last, Self.policy)
    }

    @Test func `R13.60 it is started once for everything that waits, with the minimum time since the last start`() {
        var schedule = schedule(3_600_000)
        // Before its first start the hub does not know the program's subscriptions, so it is started at once.
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

    @Test func `starts before the hub's start count, and immediate programs have a minimum interval`() {
        #expect(schedule(3_600_000, last: -3_000_000).nextLook == 600_000)
        #expect(schedule(0, last: -3_000).nextLook == 7_000)
        #expect(schedule(0, last: -30_000).nextLook == -20_000)
    }

    @Test
    func `a sink is started only for records it would get, and for a retry when it is due`() {
        var schedule = schedule(0, last: -20_000)
        #expect(schedule.look(.nothing, at: 100) == false)
        #expect(schedule.nextLook == nil)
        schedule.stored()
        // It looks at most once a second.
        #expect(schedule.nextLook == 1_100)
        #expect(schedule.look(.later(50_000), at: 1_100) == false)
        #expect(schedule.nextLook == 50_000)
        #expect(schedule.look(.now, at: 50_000) == true)
    }

    @Test func `R13.61 it is ended when nothing has waited for a while, and at its maximum run time`() {
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
