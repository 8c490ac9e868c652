import Foundation
import HubProcess
import Platform
import Testing

@testable import Samples

/// Parsing and printing of RFC 3339 (rules R6.9 and R6.10 of the protocol).
@Suite struct TimestampTests {
    @Test func `R6_9 R6_10 every vector parses and prints as expected`() throws {
        let vectors = try ProtocolVectors.of(kind: "time")
        #expect(vectors.count >= 20)
        for vector in vectors {
            let text = try #require(vector.in)
            if let out = vector.out {
                #expect(try Timestamp(parsing: text).text == out, "\(vector)")
            } else {
                #expect(vector.error == true, "\(vector)")
                #expect(throws: Timestamp.ParseError.self, "\(vector)") { try Timestamp(parsing: text) }
            }
        }
    }

    @Test func `an instant is microseconds since 1970 in UTC and keeps its original offset`() throws {
        let berlin = try Timestamp(parsing: "2024-03-15T07:30:05.25+01:00")
        #expect(berlin == Timestamp(microseconds: 1_710_484_205_250_000, offsetMinutes: 60))
        let unknown = try Timestamp(parsing: "2024-03-15T06:30:05.25Z")
        #expect(unknown == Timestamp(microseconds: 1_710_484_205_250_000, offsetMinutes: nil))
        #expect(berlin != unknown && berlin.microseconds == unknown.microseconds)
        #expect(try Timestamp(parsing: "1969-12-31T23:59:59.999999+00:00").microseconds == -1)
        #expect(try Timestamp(parsing: "1970-01-01T00:00:00+23:59").microseconds == -86_340_000_000)
    }

    @Test(
        arguments: [
            ("", .malformed), ("2024-03-15", .malformed), ("2024-03-15 07:30:05Z", .malformed),
            ("2024-03-15T07:30:05", .malformed),
            ("2024-03-15T07:30:05,5Z", .malformed), ("2024-03-15T07:30:05.5", .malformed),
            ("2024-03-15T07:30:05+1:00", .malformed),
            ("2024-03-15T07:30:05+01:0", .malformed), ("+2024-03-15T07:30:05Z", .malformed),
            ("-024-03-15T07:30:05Z", .malformed),
            ("２０２４-03-15T07:30:05Z", .malformed), ("2024-03-15T07:30:05Z\0", .malformed),
            (" 2024-03-15T07:30:05Z", .malformed),
            ("0000-06-01T00:00:00Z", .outOfRange(field: .year)), ("2024-00-15T07:30:05Z", .outOfRange(field: .month)),
            ("2024-13-15T07:30:05Z", .outOfRange(field: .month)), ("2024-03-00T07:30:05Z", .outOfRange(field: .day)),
            ("2023-02-29T07:30:05Z", .outOfRange(field: .day)), ("2024-04-31T07:30:05Z", .outOfRange(field: .day)),
            ("2024-03-15T24:00:00Z", .outOfRange(field: .hour)), ("2024-03-15T07:60:05Z", .outOfRange(field: .minute)),
            ("2024-03-15T07:30:61Z", .outOfRange(field: .second)), ("2016-12-31T23:59:60Z", .leapSecond),
            ("2024-03-15T07:30:05+24:00", .outOfRange(field: .offset)),
            ("2024-03-15T07:30:05-01:60", .outOfRange(field: .offset)),
            ("2024-03-15T07:30:05.1234567Z", .tooPrecise), ("2024-03-15T07:30:05.0000000Z", .tooPrecise),
            ("0001-01-01T23:59:59.999999Z", .instantOutOfRange), ("9999-12-31T00:00:00Z", .instantOutOfRange),
        ] as [(String, Timestamp.ParseError)])
    func `a text that is not a time is rejected with a specific reason`(text: String, error: Timestamp.ParseError) {
        #expect(throws: error) { try Timestamp(parsing: text) }
    }

    @Test func `the range has the documented bounds, and every offset prints at both of them`() throws {
        let (first, last) = (Timestamp.range.lowerBound, Timestamp.range.upperBound)
        #expect(Timestamp(microseconds: first).text == "0001-01-02T00:00:00Z")
        #expect(Timestamp(microseconds: last).text == "9999-12-30T23:59:59.999999Z")
        #expect(Timestamp(microseconds: first, offsetMinutes: -1_439).text == "0001-01-01T00:01:00-23:59")
        #expect(Timestamp(microseconds: last, offsetMinutes: 1_439).text == "9999-12-31T23:58:59.999999+23:59")
        #expect(
            !Timestamp(microseconds: first - 1).isRepresentable && !Timestamp(microseconds: last + 1).isRepresentable)
        #expect(!Timestamp(microseconds: 0, offsetMinutes: 1_440).isRepresentable)
        #expect(!Timestamp(microseconds: 0, offsetMinutes: -1_440).isRepresentable)
    }

    @Test func `printing an unrepresentable timestamp traps instead of printing another time`() async {
        await #expect(processExitsWith: .failure) { _ = Timestamp(microseconds: Timestamp.range.upperBound + 1).text }
        await #expect(processExitsWith: .failure) { _ = Timestamp(microseconds: 0, offsetMinutes: 1_440).text }
    }

    @Test(arguments: Thoroughness.some([UInt64(1), 2, 3]))
    func `R6_10 every instant round-trips through its text with its offset`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let edges = [Timestamp.range.lowerBound, Timestamp.range.upperBound, 0, -1, 1, 999_999, -1_000_000]
        for offset in Array(-1_439...1_439).map(Int16?.some) + [nil] {
            for microseconds in edges + [Int64.random(in: Timestamp.range, using: &generator)] {
                let timestamp = Timestamp(microseconds: microseconds, offsetMinutes: offset)
                let text = timestamp.text
                #expect(timestamp.isRepresentable && text.utf8.count <= Timestamp.maximumTextLength)
                #expect(try Timestamp(parsing: text) == timestamp, "seed \(seed): \(text)")
            }
        }
    }

    @Test(arguments: [UInt64(11), 12]) func `text and date agree with Foundation's calendar`(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for _ in 0..<Thoroughness.rounds(4_000) {
            // Only years from 1583 on, because Foundation uses the Julian calendar before, and RFC 3339 does not. Only whole
            // seconds, because a `Date` represents them exactly. The fraction is checked as text.
            let second = Int64.random(in: -12_212_467_200...253_402_214_399, using: &generator)
            let fraction = Int64.random(in: 0..<1_000_000, using: &generator)
            let offset = Int16.random(in: -1_439...1_439, using: &generator)
            let timestamp = Timestamp(microseconds: second * 1_000_000 + fraction, offsetMinutes: offset)
            let local = Date(timeIntervalSince1970: Double(second + Int64(offset) * 60))
            let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: local)
            func two(_ number: Int?) -> String { String(format: "%02d", number ?? -1) }
            let date = String(format: "%04d", parts.year ?? -1) + "-\(two(parts.month))-\(two(parts.day))"
            let time = "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second))"
            let digits = String(format: ".%06d", Int(fraction))
            let sign = offset < 0 ? "-" : "+"
            let zone = "\(sign)\(two(Int(abs(offset)) / 60)):\(two(Int(abs(offset)) % 60))"
            #expect(try Timestamp(parsing: date + "T" + time + digits + zone) == timestamp, "seed \(seed)")
            #expect(timestamp.text.hasPrefix(date + "T" + time) && timestamp.text.hasSuffix(zone), "seed \(seed)")
            #expect(timestamp.localDate.text == date, "seed \(seed)")
        }
    }

    @Test(arguments: [UInt64(21), 22])
    func `a mutated text is a time if and only if it still has the form and names an instant`(seed: UInt64) throws {
        let form = try Regex(
            #"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(\.[0-9]{1,6})?([Zz]|[+-]([0-9]{2}):([0-9]{2}))"#
        )
        let alphabet = Array("0123456789-:.+TtZz ,é\u{0}\n")
        var generator = SeededGenerator(seed: seed)
        var accepted = 0
        for _ in 0..<Thoroughness.rounds(6_000) {
            let microseconds = Int64.random(in: 0...4_000_000_000_000_000, using: &generator)
            let offset: Int16? = Bool.random(using: &generator) ? Int16.random(in: -840...840, using: &generator) : nil
            var characters = Array(Timestamp(microseconds: microseconds, offsetMinutes: offset).text)
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                let place = Int.random(in: 0..<characters.count, using: &generator)
                let character = alphabet.randomElement(using: &generator) ?? "0"
                switch Int.random(in: 0..<8, using: &generator) {
                case 0: characters.remove(at: place)
                case 1: characters.insert(character, at: place)
                default: characters[place] = character
                }
            }
            let text = String(characters)
            var isTime = false
            if let match = text.wholeMatch(of: form) {
                let numbers = (1...10).map { match.output[$0].substring.flatMap { Int($0) } ?? 0 }
                isTime =
                    numbers[0] >= 1 && (1...12).contains(numbers[1]) && numbers[2] >= 1
                    && numbers[2] <= LocalDate.daysInMonth(numbers[1], year: numbers[0]) && numbers[3] <= 23
                    && numbers[4] <= 59 && numbers[5] <= 59 && numbers[8] <= 23 && numbers[9] <= 59
            }
            let read = try? Timestamp(parsing: text)
            #expect((read != nil) == isTime, "seed \(seed): \(text)")
            guard let read else { continue }
            accepted += 1
            #expect(try Timestamp(parsing: read.text) == read, "seed \(seed): \(text)")
        }
        #expect(accepted > (Thoroughness.isWhole ? 500 : 25))
    }
}
