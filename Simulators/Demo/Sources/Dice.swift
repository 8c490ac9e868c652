import Platform

/// Random numbers that are equal in every version of Swift, which `Int.random(in:using:)` does not guarantee.
struct Dice {
    private var generator: SeededGenerator

    init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

    mutating func roll(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(generator.next() % UInt64(range.count))
    }

    mutating func chance(_ percent: Int) -> Bool { roll(0...99) < percent }
}
