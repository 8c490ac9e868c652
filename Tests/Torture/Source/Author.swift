import Platform
import PluginKit
import TortureDiary

/// Chooses the next records at random, from those given so far.
struct Author {
    private let seed: UInt64
    /// Whether one call may hold several versions of a record.
    private let isVersioned: Bool
    private(set) var operation: Int64 = 0
    private var keys: [String] = []
    private var last: [String: Step] = [:]
    private var chance: SeededGenerator

    init(seed: UInt64, isVersioned: Bool) {
        (self.seed, self.isVersioned) = (seed, isVersioned)
        chance = SeededGenerator(seed: seed)
    }

    /// Takes over a line of the diary of an earlier process.
    mutating func recall(_ line: SourceLine) {
        operation = max(operation, line.operation ?? 0)
        for step in line.steps ?? [] { note(step) }
    }

    private mutating func note(_ step: Step) {
        if last.updateValue(step, forKey: step.key) == nil { keys.append(step.key) }
    }

    mutating func pause(_ pace: Int64) -> Int64 { Int64.random(in: 1...pace * 2, using: &chance) }

    mutating func next() -> [Step] {
        operation += 1
        chance = SeededGenerator(seed: seed &+ UInt64(operation) &* 0x9E37_79B9_7F4A_7C15)
        var steps: [Step] = []
        var used: Set<String> = []
        for _ in 0..<Int.random(in: 1...12, using: &chance) {
            let step = invent()
            // Without a source version, the hub could not distinguish a repeat of such a call from a new one.
            guard used.insert(step.key).inserted || isVersioned else { continue }
            note(step)
            steps.append(step)
        }
        return steps
    }

    private mutating func invent() -> Step {
        let kind = Int.random(in: 0..<100, using: &chance)
        guard kind >= 55, let known = recent() else {
            let suffix = Bool.random(using: &chance) ? "s" : "f"
            return Step(key: "\(1_700_000_000 + keys.count)-\(suffix)", version: 1, isRetraction: false)
        }
        switch kind {
        case 55..<65: return known  // A repeat.
        case 65..<80 where !known.isRetraction:
            return Step(key: known.key, version: known.version + 1, isRetraction: true)
        default: return Step(key: known.key, version: known.version + 1, isRetraction: false)
        }
    }

    /// Mostly one of the last records, whose deliveries are still under way; sometimes any.
    private mutating func recent() -> Step? {
        let first = Int.random(in: 0..<10, using: &chance) == 0 ? 0 : max(0, keys.count - 40)
        return keys[first...].randomElement(using: &chance).flatMap { last[$0] }
    }
}
