import Foundation
import Testing

@testable import Samples

/// Published vectors: the behaviour of HealthKit as recorded by an open test suite.
@Suite struct UnitVectorTests {
    struct Vectors: Decodable {
        let null_unit, parse_error, not_null: [String]
        let equal, not_equal, compatible, compatible_spec_only, incompatible: [[String]]
        let unit_string: [[String]]
        let convert: [Conversion]

        struct Conversion: Decodable, CustomStringConvertible {
            let value: Double
            let from, to: String
            let result: Double

            init(from decoder: any Decoder) throws {
                var fields = try decoder.unkeyedContainer()
                value = try fields.decode(Double.self)
                from = try fields.decode(String.self)
                to = try fields.decode(String.self)
                result = try fields.decode(Double.self)
            }

            var description: String { "\(value) \(from) in \(to)" }
        }
    }

    static let vectors = Result { try JSONDecoder().decode(Vectors.self, from: Tables.data("hk-unit-vectors.json")) }
    let vectors: Vectors

    init() throws { vectors = try Self.vectors.get() }

    @Test func `null units are null and print as parentheses`() throws {
        #expect(vectors.null_unit.count == 6)
        for text in vectors.null_unit {
            let unit = try HealthUnit(text)
            #expect(unit.isNull && unit == .null && unit.description == "()", "\(text)")
        }
    }

    @Test func `a unit that HealthKit refuses is an error with a position`() {
        #expect(vectors.parse_error.count == 14)
        for text in vectors.parse_error {
            let error = #expect(throws: UnitError.self, "\(text)") { try HealthUnit(text) }
            #expect(error?.text == text)
            #expect(error?.position != nil, "\(text)")
        }
    }

    @Test func `different factors do not cancel`() throws {
        #expect(vectors.not_null.count == 4)
        for text in vectors.not_null { #expect(try !HealthUnit(text).isNull, "\(text)") }
    }

    @Test func `equality ignores only order and spelling`() throws {
        #expect(vectors.equal.count == 17 && vectors.not_equal.count == 2)
        for pair in vectors.equal {
            let (left, right) = (try HealthUnit(pair[0]), try HealthUnit(pair[1]))
            #expect(left == right && left.hashValue == right.hashValue, "\(pair)")
        }
        for pair in vectors.not_equal { #expect(try HealthUnit(pair[0]) != HealthUnit(pair[1]), "\(pair)") }
    }

    @Test func `units convert if and only if they have the same dimension`() throws {
        #expect(vectors.compatible.count == 10 && vectors.incompatible.count == 5)
        for pair in vectors.compatible + vectors.compatible_spec_only {
            #expect(try HealthUnit(pair[0]).isCompatible(with: HealthUnit(pair[1])), "\(pair)")
        }
        for pair in vectors.incompatible {
            let (left, right) = (try HealthUnit(pair[0]), try HealthUnit(pair[1]))
            #expect(!left.isCompatible(with: right), "\(pair)")
            let error = #expect(throws: UnitError.self) { try left.convert(1, to: right) }
            #expect(error?.code == .incompatible)
        }
    }

    @Test func `units print as HealthKit prints them`() throws {
        #expect(vectors.unit_string.count == 7)
        for vector in vectors.unit_string { #expect(try HealthUnit(vector[0]).description == vector[1]) }
    }

    @Test func `conversions give the published results`() throws {
        #expect(vectors.convert.count == 31)
        for vector in vectors.convert {
            let result = try HealthUnit(vector.from).convert(vector.value, to: HealthUnit(vector.to))
            // The published results were calculated with doubles, so their last digits have rounding errors.
            #expect(abs(result - vector.result) <= 1e-14 * abs(vector.result), "\(vector): \(result)")
        }
    }
}
