import Samples
import Testing

@Suite struct CalendarTests {
    private func moment(_ text: String) throws -> Int64 { try Timestamp(parsing: text).microseconds }

    @Test(arguments: [
        ("Europe/Berlin", 0, "2024-03-31T12:00:00+02:00", "2024-04-01T00:00:00+02:00"),
        ("Europe/Berlin", 0, "2024-10-27T00:30:00+02:00", "2024-10-28T00:00:00+01:00"),
        ("Europe/Berlin", 240, "2024-03-30T12:00:00+01:00", "2024-03-31T04:00:00+02:00"),
        // The clock goes from 00:00 to 01:00: the day begins at 01:00.
        ("America/Sao_Paulo", 0, "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00"),
        // A date that did not exist: the day after the 29th is the 31st.
        ("Pacific/Apia", 0, "2011-12-29T23:00:00-10:00", "2011-12-31T00:00:00+14:00"),
        ("GMT", 1_439, "2024-05-10T00:00:00Z", "2024-05-10T23:59:00Z"),
    ])
    func `nextDay returns the instant at which the local clock reaches the next day's start`(
        zone: String, start: Int, now: String, expected: String
    ) throws {
        let calendar = try #require(DayCalendar(zone: zone, dayStartMinutes: start))
        let (now, next) = (try moment(now), try moment(expected))
        #expect(calendar.nextDay(after: now) == next)
        #expect(calendar.today(at: next) > calendar.today(at: next - 1))
        #expect(calendar.today(at: next - 1) == calendar.today(at: now))
        #expect(calendar.nextDay(after: next - 1) == next)
        #expect(calendar.nextDay(after: next) > next)
    }

    @Test func `if days start at four, a weight measured at half past one belongs to the previous day`() throws {
        let calendar = try #require(DayCalendar(zone: "Europe/Berlin", dayStartMinutes: 240))
        func date(_ text: String) throws -> String {
            LocalDate(daysSinceEpoch: Int(calendar.day(of: try Timestamp(parsing: text)))).text
        }
        #expect(try date("2024-05-11T01:30:00+02:00") == "2024-05-10")
        #expect(try date("2024-05-11T04:00:00+02:00") == "2024-05-11")
    }

    @Test func `an unknown zone gives no calendar, and a sample with an unknown zone falls back to its offset`() throws
    {
        #expect(DayCalendar(zone: "Mars/Olympus") == nil)
        let calendar = try #require(DayCalendar(zone: "Europe/Berlin"))
        let time = try Timestamp(parsing: "2024-05-10T23:30:00-05:00")
        let date = LocalDate(daysSinceEpoch: Int(calendar.day(of: time, zone: "Mars/Olympus")))
        #expect(date.text == "2024-05-10")
    }
}
