import Platform

/// The faults of one round with their times; the same seed makes the same schedule.
struct Schedule {
    /// One fault and its time, in milliseconds from the beginning of the round.
    struct Plan {
        var begin, end: Int
        var fault: any Fault
        /// The name in the round's line; `nil` for kills and stops, because there are many.
        var kind: String?
    }

    let seed: UInt64
    private(set) var plans: [Plan] = []
    private(set) var length = 0

    /// The number of kinds of ``StoreFault`` in a round; five consecutive seeds from a multiple of five have all kinds.
    static let storeFaults = 3
    static let roundsForAll = StoreFault.allCases.count / storeFaults

    init(seed: UInt64) {
        self.seed = seed
        var chance = SeededGenerator(seed: seed)
        var time = 700
        for kind in Self.kinds(of: seed) {
            let isLong = kind.mayBeLong && Int.random(in: 0..<6, using: &chance) == 0
            let begin = time + Int.random(in: 0...300, using: &chance)
            let end = begin + (isLong ? 13_000 : Int.random(in: 600...1_700, using: &chance))
            plans.append(Plan(begin: begin, end: end, fault: kind.make(&chance), kind: kind.rawValue))
            time = end + 400
        }
        length = time + Int.random(in: 0...300, using: &chance)
        addClockAndWire(&chance)
        addKills(&chance)
        guard Int.random(in: 0..<3, using: &chance) == 0, let line = FailingSpool.lines.randomElement(using: &chance)
        else { return }
        plans.append(beside("spool", FailingSpool(line: line), &chance))
    }

    /// A loss that the hub cannot find and the judge must find: the whole folder of the hub is put back to an earlier state.
    init(planted seed: UInt64) {
        self.seed = seed
        let fault = LyingDisk(start: 0, keepsSequences: false, isSecret: true)
        (plans, length) = ([Plan(begin: 1_000, end: 2_000, fault: fault, kind: "planted")], 2_000)
    }

    /// This round's share of all kinds, which are shuffled for each five rounds.
    static func kinds(of seed: UInt64) -> ArraySlice<StoreFault> {
        let rounds = UInt64(roundsForAll)
        var chance = SeededGenerator(seed: seed / rounds)
        let place = Int(seed % rounds) * storeFaults
        return StoreFault.allCases.shuffled(using: &chance)[place..<place + storeFaults]
    }

    /// A fault beside those of the store, at any time.
    private func beside(_ kind: String, _ fault: any Fault, _ chance: inout SeededGenerator) -> Plan {
        let begin = Int.random(in: 300...length / 2, using: &chance)
        let end = begin + Int.random(in: 300...length / 2, using: &chance)
        return Plan(begin: begin, end: end, fault: fault, kind: kind)
    }

    private mutating func addClockAndWire(_ chance: inout SeededGenerator) {
        if Bool.random(using: &chance) {
            let time = Int(60 * (1 << Int.random(in: 0...18, using: &chance)))
            plans.append(beside("clock", ClockJump(seconds: Bool.random(using: &chance) ? time : -time), &chance))
        }
        switch Int.random(in: 0..<3, using: &chance) {
        case 0: plans.append(beside("wire", CutWire(), &chance))
        case 1:
            let victim = Bool.random(using: &chance) ? Scene.hub : "source-remote"
            plans.append(beside("half-open", HalfOpen(victim: victim), &chance))
        default: break
        }
    }

    /// Adds kills and stops of programs; the hub is chosen twice as often, because everything depends on it.
    private mutating func addKills(_ chance: inout SeededGenerator) {
        let victims = [Scene.hub, Scene.hub] + Scene.children + Scene.guests
        var time = 0
        while true {
            time += Int.random(in: 100...1_300, using: &chance)
            guard time < length, let victim = victims.randomElement(using: &chance) else { break }
            let isStop = Int.random(in: 0..<5, using: &chance) < 2
            let lasting = Int.random(in: isStop ? 20...2_000 : 10...800, using: &chance)
            let fault: any Fault = isStop ? Stop(victim: victim) : Kill(victim: victim)
            plans.append(Plan(begin: time, end: min(length, time + lasting), fault: fault))
        }
    }

    /// The beginnings and ends of the faults, in order.
    var events: [(at: Int, plan: Int, isEnd: Bool)] {
        plans.indices.flatMap { index in
            [(plans[index].begin, index, false), (plans[index].end, index, true)]
        }.sorted { ($0.0, $0.1, $0.2 ? 1 : 0) < ($1.0, $1.1, $1.2 ? 1 : 0) }
            .map { (at: $0.0, plan: $0.1, isEnd: $0.2) }
    }

    /// The schedule as text.
    var lines: [String] {
        plans.sorted { $0.begin < $1.begin }.map { "\($0.begin)…\($0.end) ms: \($0.fault)" }
    }
}
