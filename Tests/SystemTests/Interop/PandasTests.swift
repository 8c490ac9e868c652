import Foundation
import HubProcess
import Samples
import Testing

/// Compares the daily series with one that people would compute themselves.
@Suite struct PandasTests {
    private struct Case: Encodable {
        var zone, today: String
        var times: [String] = []
        var values: [Double] = []
        /// The series that the hub's function computes.
        var days: [String: Double] = [:]

        private enum CodingKeys: String, CodingKey { case zone, today, times, values }

        /// Makes weigh-ins of a year or two, at all hours, with many on some days and none in some weeks.
        init(zone: String, today: LocalDate) throws {
            (self.zone, self.today) = (zone, today.text)
            let calendar = try #require(DayCalendar(.fixed, zone: zone))
            var readings: [Reading] = []
            let midnight = Int64(today.daysSinceEpoch) * 86_400_000_000
            for number in 1...Int64.random(in: 2...400) {
                // Clusters make holes of all lengths.
                let cluster = Int64.random(in: 0...11) * 60 + .random(in: 0...15)
                let time = Timestamp(
                    microseconds: midnight - cluster * 86_400_000_000 - .random(in: 0..<86_400_000) * 1_000)
                let value = 50 + Double.random(in: 0...600) / 10
                let day = calendar.day(of: time)
                guard day <= today.daysSinceEpoch else { continue }
                times.append(time.text)
                values.append(value)
                readings.append(Reading(number: number, time: time.microseconds, value: value, day: day))
            }
            for day in DayFill.series(readings, SeriesRules(.mean), through: Int32(today.daysSinceEpoch)) {
                days[LocalDate(daysSinceEpoch: Int(day.day)).text] = day.value
            }
        }
    }

    @Test func `the series equals that of pandas with resample by day, mean and ffill with limit 29`() async throws {
        let today = try #require(LocalDate("2024-11-20"))
        // Only zones in which every day has a midnight: pandas fails on the others.
        let zones = ["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "UTC", "Australia/Melbourne"]
        let cases = try (0..<60).map { try Case(zone: zones[$0 % zones.count], today: today) }.filter {
            !$0.times.isEmpty
        }
        let folder = try TemporaryFolder()
        let file = try folder.write(String(decoding: try JSONEncoder().encode(cases), as: UTF8.self), to: "cases.json")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/days.py").path
        let child = try ChildProcess(try Tool.python(with: "pandas"), [program, file])
        let lines = await child.allLines()
        #expect(await child.waitForExit() == 0, "\(child.errorLines)")
        let answers = try JSONDecoder().decode([[String: Double]].self, from: Data(lines.joined().utf8))
        #expect(answers.count == cases.count)
        for (answer, own) in zip(answers, cases) {
            #expect(Set(answer.keys) == Set(own.days.keys))
            for (day, value) in own.days { #expect(abs(value - (answer[day] ?? .nan)) < 1e-9, "\(own.zone) \(day)") }
        }
    }
}
