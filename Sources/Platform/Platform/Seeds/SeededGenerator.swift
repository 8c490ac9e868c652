/// Random numbers that are the same for the same seed, on every machine and in every version of Swift.
///
/// For simulators, and for tests, which print the seed so that failures can be reproduced; not for secrets. The algorithm is
/// SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom number generators*, 2014). Results of the standard library that use
/// the numbers, such as `Int.random(in:using:)`, may differ between versions of Swift; ``next()`` does not.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
