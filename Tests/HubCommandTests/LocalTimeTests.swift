import Foundation
import HealthText
import HubProcess
import Testing

@testable import HubCommand

/// Times of hub messages in local time.
@Suite struct LocalTimeTests {
    @Test func `times within a message are converted to a zone, to the second`() throws {
        let berlin = try #require(TimeZone(identifier: "Europe/Berlin"))
        #expect(
            LocalTime.inSentence(
                "3 refused, the last at 2026-03-15T06:30:05.123456Z: until 2026-07-01T00:00:00Z", zone: berlin)
                == "3 refused, the last at 2026-03-15 07:30:05 +01:00: until 2026-07-01 02:00:00 +02:00")
        for same in ["Zurich", "clock    2024-05-20T10:00:00Z@1", "2026-03-15T06:30:05+01:00", "2026-13-41T06:30:05Z"] {
            #expect(LocalTime.inSentence(same, zone: berlin) == same)
        }
        #expect(LocalTime.text("2026-03-15T06:30:05Z", zone: berlin) == "2026-03-15 07:30:05 +01:00")
        #expect(LocalTime.text("soon", zone: berlin) == nil)
    }

    @Test func `without a zone in hub.conf the machine's zone is used, also by hub trace`() async throws {
        let hub = try await TestHub()
        try hub.give(CareTests.weights(1...1))
        let trace = try await hub.run(["trace", "1"], under: ["TZ=Asia/Kolkata"])
        #expect(trace.output.contains(" +05:30        1  2026-03-01 12:00:05 +05:30  71.3 kg"), "\(trace.output)")
    }
}
