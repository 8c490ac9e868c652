import Foundation
import Samples
import Testing

/// A worked example of a daily series.
struct DayVector: Sendable, CustomTestStringConvertible {
    let id, zone: String
    let policy: LocalDay.ZonePolicy
    let today: Int32
    let samples: [(start: Timestamp, value: Double, source: String)]
    let deduplicates: Bool
    /// Expected values by day: using only readings within the window of thirty days, and looking back thirty days from each day.
    let window, age: [Int32: Double]
    let regular: [Int32: Double]
    let rejected, held: Int

    var testDescription: String { id }

    static func all() throws -> [DayVector] {
        let file = try #require(Bundle.module.url(forResource: "vectors", withExtension: "json"))
        let list = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]])
        return try list.map(DayVector.init)
    }

    private init(_ json: [String: Any]) throws {
        id = try #require(json["id"] as? String)
        zone = try #require(json["zone"] as? String)
        policy = json["policy"] as? String == "fixed" ? .fixed : .sample
        today = try Self.day(json["today"])
        samples = try #require(json["samples"] as? [[Any]]).map { sample in
            let start = try #require(sample[0] as? String)
            return (try Timestamp(parsing: start), sample[1] as? Double ?? .nan, sample.count > 2 ? "\(sample[2])" : "")
        }
        deduplicates = json["deduplicate"] as? Bool ?? false
        window = try Self.ranges(json["W"])
        age = json["A"] as? String == "same" ? window : try Self.ranges(json["A"])
        let regular = try #require(json["regular"] as? [String: Double])
        self.regular = Dictionary(uniqueKeysWithValues: try regular.map { (try Self.day($0.key), $0.value) })
        rejected = (json["rejected"] as? [Any])?.count ?? 0
        held = (json["held"] as? [Any])?.count ?? 0
    }

    private static func day(_ text: Any?) throws -> Int32 {
        let date = try #require((text as? String).flatMap { LocalDate($0) })
        return Int32(date.daysSinceEpoch)
    }

    private static func ranges(_ json: Any?) throws -> [Int32: Double] {
        var values: [Int32: Double] = [:]
        for range in try #require(json as? [[Any]]) {
            let value = try #require(range[2] as? Double)
            for day in try day(range[0])...day(range[1]) { values[day] = value }
        }
        return values
    }

    /// The plausible readings, and the number of rejected ones.
    func readings() throws -> (readings: [Reading], rejected: Int) {
        let calendar = try #require(DayCalendar(policy, zone: zone))
        let weight = try #require(TypeRegistry.standard.resolve("weight"))
        let treatment = try DayTreatment.of(weight)
        let sources = Array(Set(samples.map(\.source))).sorted()
        var (readings, rejected): ([Reading], Int) = ([], 0)
        for (index, sample) in samples.enumerated() {
            guard treatment.plausible.fault(of: sample.value) == nil else {
                rejected += 1
                continue
            }
            let source = try #require(sources.firstIndex(of: sample.source))
            readings.append(
                Reading(
                    number: Int64(index + 1), time: sample.start.microseconds, value: sample.value,
                    day: calendar.day(of: sample.start), source: Int32(source)))
        }
        return (readings, rejected)
    }
}

/// Every program that computes a daily series must pass these vectors.
@Suite struct VectorTests {
    @Test(arguments: try DayVector.all())
    func `every worked example gives its expected series`(_ vector: DayVector) throws {
        let (readings, rejected) = try vector.readings()
        #expect(rejected == vector.rejected)
        #expect(readings.count { $0.day > vector.today } == vector.held)
        let rules = SeriesRules(.mean, mirrorTolerance: vector.deduplicates ? 0.05 : nil)
        let first = vector.today - 29

        let age = DayFill.series(readings, rules, through: vector.today).filter { $0.day >= first }
        expect(age, vector.age)
        let window = DayFill.series(readings.filter { $0.day >= first }, rules, through: vector.today)
        expect(window, vector.window)
        expect(window.filter { $0.day >= vector.today - 1 }, vector.regular)
        // A window of thirty days can be derived from the stored series alone.
        #expect(age.filter { $0.observedOn >= first } == window)
        // Adding the readings one by one in random order gives the same series.
        var history = DayHistory([], [rules])
        for reading in readings.shuffled() { _ = history.apply(puts: [reading], through: vector.today) }
        #expect(history.series(0, through: vector.today).filter { $0.day >= first } == age)
    }

    private func expect(_ days: [FilledDay], _ expected: [Int32: Double]) {
        #expect(Set(days.map(\.day)) == Set(expected.keys))
        #expect(days.count == expected.count)
        for day in days { #expect(abs(day.value - (expected[day.day] ?? .nan)) < 1e-9) }
    }
}
