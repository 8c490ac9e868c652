import HubProcess
import JSON
import Platform
import Samples
import Testing

@testable import HubWire

@Suite struct NumberTests {
    private func read(_ text: String) throws -> Double? {
        try Array(text.utf8).withUnsafeBytes { bytes throws(JSONSyntaxError) in
            var scanner = try JSONScanner(bytes)
            let value = try scanner.value()
            try scanner.finish()
            return NumberReader.double(value, in: bytes)
        }
    }

    private func written(_ value: Double) -> String {
        var output: [UInt8] = []
        NumberWriter.append(value, to: &output)
        return string(output)
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `any double except negative zero round-trips through its text bit for bit`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let value = random.double()
            let text = written(value)
            #expect(try read(text)?.bitPattern == (value + 0).bitPattern, "\(value) written as \(text)")
        }
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `a double is written with the fewest digits, the same as Swift's`(seed: UInt64) {
        func digits(_ text: String) -> Substring {
            let mantissa = text.prefix { $0 != "e" }.filter(\.isNumber)
            let significant = Substring(mantissa).drop { $0 == "0" }
            return significant.prefix(
                (significant.lastIndex { $0 != "0" }.map {
                    significant.distance(from: significant.startIndex, to: $0) + 1
                }) ?? 0)
        }
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let value = random.double()
            // From 2⁵³ on Swift prints whole numbers exactly, with more digits than needed.
            guard value.magnitude < 9_007_199_254_740_992 || value.magnitude > 18_014_398_509_481_984 else { continue }
            #expect(digits(written(value)) == digits("\(value)"))
        }
    }

    @Test(arguments: Thoroughness.seeds(10))
    func `a decimal text is read as the nearest double`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let whole = String(random.next() >> UInt64.random(in: 0...63, using: &random))
            let fraction =
                random.chance(50) ? "." + String(random.next() >> UInt64.random(in: 0...63, using: &random)) : ""
            let exponent = random.chance(50) ? "e\(Int.random(in: -30...30, using: &random))" : ""
            let text = whole + fraction + exponent
            #expect(try read(text)?.bitPattern == Double(text)?.bitPattern, "\(text)")
        }
    }

    @Test(arguments: [
        (0.1 + 0.2, "0.30000000000000004"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-6, "0.000001"),
        (1e-7, "1e-7"), (1.5e-9, "1.5e-9"), (123e-20, "1.23e-18"), (-0.0, "0"), (-72.5, "-72.5"), (4.35, "4.35"),
        (0.000123, "0.000123"), (9_007_199_254_740_992, "9007199254740992"), (1e300, "1e+300"),
        (333333333.33333329, "333333333.3333333"),
        (1.0000000000000002, "1.0000000000000002"), (100_000.05, "100000.05"), (.infinity, "null"), (.nan, "null"),
    ])
    func `numbers are spelled as in RFC 8785`(value: Double, text: String) { #expect(written(value) == text) }

    @Test(arguments: ["1e-999", "-0.0001e-400", "1e309", "123456789e99999999999999999999"])
    func `a number beyond the range of doubles is rejected`(text: String) throws { #expect(try read(text) == nil) }

    @Test(arguments: ["0e999", "0.000e-9999", "-0", "0.00000000000000000000000000000000000"])
    func `every spelling of zero is read as zero`(text: String) throws { #expect(try read(text) == 0) }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", .min), ("9223372036854775808", nil), ("-0", 0),
        ("1.0", nil), ("1e3", nil), ("99999999999999999999999", nil),
    ])
    func `an integer has at most 64 bits and neither fraction nor exponent`(text: String, expected: Int64?) throws {
        try Array(text.utf8).withUnsafeBytes { bytes in
            var scanner = try JSONScanner(bytes)
            #expect(NumberReader.integer(try scanner.value(), in: bytes) == expected)
        }
    }
}
