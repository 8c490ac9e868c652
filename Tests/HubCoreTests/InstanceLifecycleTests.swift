import HubProcess
import Platform
import Testing

@testable import HubCore

/// Decisions to start, end and give up a plugin's process, without a clock or processes.
@Suite struct InstanceLifecycleTests {
    private static let policy = LifecyclePolicy(
        firstPause: 1_000, longestPause: 60_000, jitter: 0, healthyAfter: 10_000, crashLimit: 3, crashWindow: 100_000,
        startLimit: 5_000, silenceLimit: 3_000, hopelessPause: 50_000)
    private static let crash = InstanceFault(.crash, "exited with code 1")

    private func life() -> InstanceLifecycle { InstanceLifecycle(policy: Self.policy) }

    private func ended(_ code: Int) -> InstanceLifecycle.Event { .ended(.exited(code), chance: 0) }

    /// A life that was started at 0 and has a session since 10.
    private func running() -> InstanceLifecycle {
        var life = life()
        #expect(life.handle(.run, at: 0) == [.launch])
        #expect(life.state == .starting(since: 0))
        #expect(life.handle(.sessionBegan, at: 10) == [.tell(.running)])
        return life
    }

    @Test(
        arguments: [
            // Exit code, whether it had a session, and the expected state.
            (0, true, InstanceLifecycle.State.finished), (0, false, .waiting(until: 2_000)),
            (1, true, .waiting(until: 2_000)), (1, false, .waiting(until: 2_000)), (64, false, .failed(until: 51_000)),
            (69, true, .waiting(until: 2_000)), (70, false, .failed(until: 51_000)),
            (73, false, .waiting(until: 2_000)),
            (75, true, .waiting(until: 2_000)), (77, false, .failed(until: 51_000)), (78, true, .failed(until: 51_000)),
            (200, true, .waiting(until: 2_000)),
        ] as [(Int, Bool, InstanceLifecycle.State)])
    func `R13.9 each exit code leads to its state`(_ code: Int, _ hadSession: Bool, _ expected: InstanceLifecycle.State)
    {
        var life = life()
        _ = life.handle(.run, at: 0)
        if hadSession { _ = life.handle(.sessionBegan, at: 10) }
        _ = life.handle(ended(code), at: 1_000)
        #expect(life.state == expected)
        #expect((life.fault == nil) == (expected == .finished))
    }

    @Test func `pauses double up to the maximum, and restart after a healthy time`() {
        var (life, now) = (life(), Int64(0))
        _ = life.handle(.run, at: 0)
        // Code 75 is not a crash and may occur any number of times.
        for expected in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000] as [Int64] {
            _ = life.handle(ended(75), at: now)
            #expect(life.state == .waiting(until: now + expected))
            now += expected
            #expect(life.handle(.tick, at: now - 1) == [])
            #expect(life.handle(.tick, at: now) == [.launch])
        }
        _ = life.handle(.sessionBegan, at: now)
        #expect(life.fault != nil)
        #expect(life.handle(.tick, at: now + 10_000) == [.tell(.healthy)])
        #expect(life.fault == nil && life.nextDeadline == nil && life.restarts == 9)
        _ = life.handle(ended(75), at: now + 10_001)
        #expect(life.state == .waiting(until: now + 11_001))
    }

    @Test func `too many crashes within the window lead to quarantine, which only a release ends`() {
        var life = life()
        _ = life.handle(.run, at: 0)
        #expect(life.handle(ended(1), at: 0) == [.tell(.restarting(after: 1_000, Self.crash))])
        _ = life.handle(.tick, at: 1_000)
        _ = life.handle(ended(1), at: 1_000)
        _ = life.handle(.tick, at: 3_000)
        #expect(life.handle(ended(1), at: 3_000) == [.tell(.quarantined(crashes: 3, Self.crash))])
        #expect(life.state == .quarantined && life.nextDeadline == nil && life.fault == Self.crash)
        for event in [InstanceLifecycle.Event.tick, .sessionBegan, .sessionLost, ended(0)] {
            #expect(life.handle(event, at: 900_000) == [])
        }
        #expect(life.handle(.run, at: 900_000) == [.launch])
        _ = life.handle(ended(1), at: 900_000)
        #expect(life.state == .waiting(until: 901_000))
    }

    @Test func `rare crashes never lead to quarantine`() {
        var (life, now) = (life(), Int64(0))
        _ = life.handle(.run, at: 0)
        for _ in 0..<20 {
            _ = life.handle(.sessionBegan, at: now)
            _ = life.handle(.tick, at: now + 10_000)
            now += 50_000
            _ = life.handle(ended(1), at: now)
            #expect(life.state == .waiting(until: now + 1_000))
            now += 1_000
            _ = life.handle(.tick, at: now)
        }
    }

    @Test func `R13.9 a process that does not greet, goes silent or grows too large is killed, as a crash`() {
        var mute = life()
        _ = mute.handle(.run, at: 0)
        #expect(mute.handle(.tick, at: 4_999) == [])
        #expect(mute.handle(.tick, at: 5_000) == [.kill])
        #expect(mute.handle(.tick, at: 6_000) == [])
        _ = mute.handle(.ended(.killed(signal: 15), chance: 0), at: 6_000)
        #expect(mute.state == .waiting(until: 7_000))
        #expect(mute.fault?.text.hasPrefix("did not greet the hub within 5 s of its start: ") == true)
        #expect(mute.fault?.text.contains("launch token") == true, "the message names the launch token")

        var silent = running()
        _ = silent.handle(.sessionLost, at: 100)
        #expect(silent.state == .silent(since: 100))
        _ = silent.handle(.sessionBegan, at: 200)
        #expect(silent.state == .running(since: 200))
        _ = silent.handle(.sessionLost, at: 300)
        #expect(silent.handle(.tick, at: 3_300) == [.kill])

        var large = running()
        #expect(large.handle(.overweight(bytes: 20 << 20, limit: 16 << 20), at: 50) == [.kill])
        #expect(large.handle(.overweight(bytes: 20 << 20, limit: 16 << 20), at: 60) == [])
        _ = large.handle(.ended(.exited(0), chance: 0), at: 70)
        #expect(large.fault?.text == "held 20 MiB of memory, more than its memory_limit of 16 MiB")
    }

    @Test func `a restart lets the process end, and then starts the next`() {
        var life = running()
        #expect(life.handle(.restart, at: 20) == [.finish])
        #expect(life.handle(.restart, at: 21) == [])
        #expect(life.handle(ended(1), at: 30) == [.launch])
        #expect(life.fault == nil && life.restarts == 1)
        #expect(life.handle(.stop, at: 40) == [.finish])
        #expect(life.handle(.run, at: 41) == [])
        #expect(life.handle(ended(0), at: 50) == [.launch])
    }

    @Test func `stop cancels every pending action`() {
        var (waiting, failed) = (life(), life())
        _ = waiting.handle(.run, at: 0)
        _ = waiting.handle(ended(1), at: 0)
        #expect(waiting.handle(.stop, at: 1) == [.tell(.stopped)])
        #expect(waiting.handle(.tick, at: 900_000) == [])
        _ = failed.handle(.run, at: 0)
        _ = failed.handle(ended(78), at: 0)
        #expect(failed.handle(.stop, at: 1) == [.tell(.stopped)])
        #expect(failed.handle(.restart, at: 2) == [.launch])
    }

    @Test(arguments: Thoroughness.seeds(200))
    func `for any events there is one process at a time, pauses are limited, and no wait is endless`(
        _ seed: UInt64
    ) {
        var generator = SeededGenerator(seed: seed)
        var policy = Self.policy
        policy.jitter = 0.25
        var life = InstanceLifecycle(policy: policy)
        var (now, processes, isWanted) = (Int64(0), 0, false)
        for _ in 0..<300 {
            now += Int64.random(in: 0...8_000, using: &generator)
            let event: InstanceLifecycle.Event
            switch Int.random(in: 0..<20, using: &generator) {
            case 0: event = .run
            case 1: event = .restart
            case 2: event = .stop
            case 3...6: event = .sessionBegan
            case 7...8: event = .sessionLost
            case 9: event = .overweight(bytes: 2, limit: 1)
            case 15: event = .rest
            case 10...14 where processes > 0:
                let code = [0, 1, 69, 73, 75, 78, 255].randomElement(using: &generator) ?? 0
                event = .ended(.exited(code), chance: .random(in: 0..<1, using: &generator))
                processes -= 1
            default: event = .tick
            }
            switch event {
            case .run, .restart: isWanted = true
            case .stop: isWanted = false
            default: break
            }
            for action in life.handle(event, at: now) {
                switch action {
                case .launch:
                    processes += 1
                    #expect(isWanted, "seed \(seed)")
                case .finish, .kill: #expect(processes == 1, "seed \(seed)")
                case .tell(.restarting(let pause, _)):
                    #expect(pause > 0 && pause <= policy.longestPause, "seed \(seed)")
                case .tell: break
                }
            }
            #expect(processes <= 1 && life.hasProcess == (processes == 1), "seed \(seed)")
            switch life.state {
            case .starting, .silent, .waiting, .failed: #expect(life.nextDeadline != nil, "seed \(seed)")
            case .quarantined, .finished: #expect(isWanted && processes == 0, "seed \(seed)")
            case .stopped, .running, .ending, .resting: break
            }
        }
    }

    @Test func `R13.62 an occasional program rests after a clean exit, and crashes are handled as usual`() {
        var life = life()
        life.isOccasional = true
        #expect(life.handle(.rest, at: 0) == [] && life.state == .resting && life.nextDeadline == nil)
        for start in [1_000, 2_000] as [Int64] {
            #expect(life.handle(.run, at: start) == [.launch])
            #expect(life.handle(.sessionBegan, at: start + 10) == [.tell(.running)])
            #expect(life.handle(.rest, at: start + 20) == [.finish])
            #expect(life.handle(ended(0), at: start + 30) == [.tell(.resting)])
            #expect(life.state == .resting && life.restarts == 0 && life.fault == nil)
        }
        #expect(life.handle(.run, at: 3_000) == [.launch])
        _ = life.handle(.sessionBegan, at: 3_010)
        #expect(life.handle(ended(0), at: 3_020) == [.tell(.resting)])
        #expect(life.handle(.run, at: 4_000) == [.launch])
        _ = life.handle(ended(1), at: 4_010)
        #expect(life.state == .waiting(until: 5_010) && life.fault == Self.crash)
    }

    @Test func `jitter shortens a pause by at most a quarter`() {
        let policy = LifecyclePolicy()
        for attempt in 1...40 {
            let (longest, shortest) = (
                policy.pause(attempt: attempt, chance: 0), policy.pause(attempt: attempt, chance: 1)
            )
            #expect(longest <= policy.longestPause && shortest * 4 >= longest * 3 && shortest <= longest)
        }
        #expect(policy.pause(attempt: 1, chance: 0) == 1_000 && policy.pause(attempt: 40, chance: 0) == 300_000)
    }
}
