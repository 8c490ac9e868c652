import Foundation
import Platform
import Testing

@testable import Samples

@Suite struct ExactSumTests {
    private func sum(_ values: some Sequence<Double>) -> ExactSum {
        var sum = ExactSum()
        for value in values { sum.add(value) }
        return sum
    }

    @Test func `the sum keeps digits that plain addition loses`() {
        #expect(sum([1e16, 1, -1e16]).rounded == 1)
        #expect(sum(Array(repeating: 0.1, count: 10)).rounded == 1)
        #expect(sum([1e308, 1, -1e308]).rounded == 1)
        #expect(sum([]).rounded == 0)
        // Half way between two doubles, the remaining digits decide the rounding.
        let next = Double(1).nextUp
        #expect(sum([1, 0x1p-53]).rounded == 1)
        #expect(sum([1, 0x1p-53, 0x1p-200]).rounded == next)
        #expect(sum([next, 0x1p-53, -0x1p-200]).rounded == next)
        #expect(sum([1e308, 1e308]).rounded == nil)
    }

    @Test func `order and grouping do not matter, to the last bit`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let values = (0..<Int.random(in: 1...60, using: &random)).map { _ in
                Double.random(in: -1...1, using: &random)
                    * Double(sign: .plus, exponent: Int.random(in: -60...60, using: &random), significand: 1)
            }
            let expected = sum(values).rounded
            #expect(sum(values.shuffled(using: &random)).rounded == expected, "seed \(seed)")
            var whole = ExactSum()
            let cut = Int.random(in: 0...values.count, using: &random)
            whole.add(sum(values[cut...]))
            whole.add(sum(values[..<cut]))
            #expect(whole.rounded == expected, "seed \(seed)")
            #expect(ExactSum(parts: whole.parts).rounded == expected, "seed \(seed)")
        }
    }

    @Test func `the result is the exact sum, rounded once`() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            // Multiples of 2⁻⁴⁰: their exact sum fits into 128 bits and is rounded to a double once.
            let values = (0..<50).map { _ in Int64.random(in: -(1 << 62)...(1 << 62), using: &random) >> 1 }
            let exact = values.map { Double($0) }
            let total = exact.reduce(Int128(0)) { $0 + Int128($1) }
            #expect(sum(exact.map { $0 * 0x1p-40 }).rounded == Double(total) * 0x1p-40, "seed \(seed)")
        }
    }
}
