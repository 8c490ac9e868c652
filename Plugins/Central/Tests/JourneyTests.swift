import Foundation
import HubProcess
import JSON
import Testing

/// The way of a record from the hub to the centre, and its changes there.
@Suite(.enabled(if: Need.postgresql.isMet, Comment(rawValue: Need.postgresql.reason)), .timeLimit(.minutes(5)))
struct JourneyTests {
    @Test func `a record arrives unchanged, and hub trace has its receipt`() async throws {
        let scene = try await CentralScene()
        let number = try await scene.log("160.4 lb", at: "2026-03-15 07:30")
        let agreed = try await scene.consent()
        #expect(agreed["words"]?.text == "We look at weights." && agreed["records"]?["weight"]?.integer == 1)
        let receipt = try await scene.receipt(number)
        #expect(receipt.wholeMatch(of: /c1\/\d+\/\d+/) != nil, "\(receipt)")
        let samples = try await scene.command("samples", "weight", "--json")
        let sample = try #require(JSONTree(Array(samples.joined().utf8)))
        let stored = sample.list?.first ?? sample["records"]?.list?.first ?? sample
        let value = try #require(stored["value"]?.double)
        let columns =
            "kind, person_no, type_no, seq, value::text, offset_min, flags, to_char(start_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI')"
        #expect(try await scene.rows(columns) == ["q|1|1|\(number)|\(value)|60|0|2026-03-15 06:30"])
        let body = try #require(JSONTree(Array(try await scene.rows("body")[0].utf8)))
        #expect(body["plugin"]?.text == "hand" && body["original"]?["unit"]?.text == "lb")
        #expect(body["original"]?["value"]?.double == 160.4)
        // No member identifies or locates the person.
        #expect(
            body["device"] == nil && body["key"] == nil && body["subject"] == nil && body["metadata"]?["note"] == nil)
    }

    @Test func `edits, retractions, another person and erasure follow, each with its receipt`() async throws {
        let scene = try await CentralScene(persons: [("ben", "Europe/Berlin")])
        try await scene.consent("me")
        try await scene.consent("ben")
        let number = try await scene.log("72.5 kg")
        _ = try await scene.receipt(number)
        try await scene.command("edit", "\(number)", "71.5kg", "--yes")
        try await scene.until("SELECT value, flags FROM central.record", is: ["71.5|1"])

        // Another person's now: one subscription reports the departure, the other the arrival, in either order.
        try await scene.command("assign", "\(number)", "--to", "ben", "--yes")
        try await scene.until(
            "SELECT r.kind, value, person_id = (SELECT person_id FROM central.person ORDER BY person_no LIMIT 1) FROM central.record r JOIN central.person USING (hub_no, person_no)",
            is: ["q|71.5|f"])

        try await scene.command("retract", "\(number)", "--yes")
        try await scene.until("SELECT kind, value FROM central.record", is: ["r|"])
        try await scene.command("retract", "\(number)", "--undo", "--yes")
        try await scene.until("SELECT kind, value FROM central.record", is: ["q|71.5"])

        #expect(try await scene.sql("SELECT count(*) > 0 FROM central.history") == ["t"])
        try await scene.command("erase", "\(number)", "--yes")
        try await scene.until("SELECT kind, value, word, body, start_at FROM central.record", is: ["x||||"])
        #expect(try await scene.sql("SELECT count(*) FROM central.history") == ["0"])
    }

    @Test func `a record that is retracted first and erased later is erased at the centre too`() async throws {
        let scene = try await CentralScene()
        try await scene.consent()
        let number = try await scene.log("72.5 kg")
        _ = try await scene.receipt(number)
        try await scene.command("edit", "\(number)", "71.5kg", "--yes")
        try await scene.until("SELECT value FROM central.record", is: ["71.5"])
        try await scene.command("retract", "\(number)", "--yes")
        try await scene.until("SELECT kind, number FROM central.record", is: ["r|\(number)"])
        // Its receipt is saved, so no sink receives the erasure.
        try await eventually { try await scene.delivery(number)?["state"] as? String == "delivered" }
        #expect(try await scene.sql("SELECT value FROM central.history ORDER BY seq") == ["72.5", "71.5"])
        try await scene.command("erase", "\(number)", "--yes")
        // The plugin looks for such records once a day and at its start.
        try await scene.killPlugin()
        try await scene.until("SELECT kind, value, word, body, start_at FROM central.record", is: ["x||||"])
        #expect(try await scene.sql("SELECT count(*) FROM central.history") == ["0"])
    }

    @Test func `a day arrives as a day`() async throws {
        let scene = try await CentralScene()
        try await scene.consent()
        let day =
            #"{"kind":"day","type":"weight","value":71.25,"unit":"kg","series":"mean30","date":"2026-03-14","method":"carried","observedOn":"2026-03-12","age":2,"basis":[],"person":"me","source":{"plugin":"gap-filler"}}"#
        let file = try scene.host.folder.write(day + "\n", to: "days.jsonl")
        try await scene.command("import", file)
        try await scene.until(
            "SELECT kind, value, offset_min, flags, start_at AT TIME ZONE 'UTC', body->>'series', body->>'observedOn', body->'age' FROM central.record",
            is: ["d|71.25|0|6|2026-03-14 00:00:00|mean30|2026-03-12|2"])
    }

    @Test func `no record is sent without a consent, before its first day, of other types or after its withdrawal`()
        async throws
    {
        let scene = try await CentralScene()
        _ = try await scene.log("70 kg", at: "2026-01-05 07:30")
        try await scene.until("SELECT heard IS NOT NULL FROM central.hub", is: ["t"])
        #expect(try await scene.rows().isEmpty)
        #expect(try await scene.sql("SELECT count(*) FROM central.person") == ["0"])

        try await scene.consent(since: "2026-02-01")
        let later = try await scene.log("71 kg", at: "2026-02-05 07:30")
        _ = try await scene.receipt(later)
        #expect(try await scene.rows("value") == ["71"])
        let trace = try await scene.command("trace", "\(later - 1)", "--json").joined()
        #expect(trace.contains("not agreed to: heart gets records from 2026-02-01 on"), "\(trace)")

        try await scene.command(
            "log", "stepCount", "5000", "--from", "2026-02-06 8:00", "--to", "2026-02-06 9:15", "--person", "me",
            "--yes")
        let withdrawn = try await scene.ask("withdraw", "study=heart", "person=me", "erase=true")
        #expect(
            withdrawn["told"]?.truth == true && withdrawn["erasure"]?.integer == 1 && withdrawn["note"]?.text == nil)
        _ = try await scene.log("72 kg", at: "2026-02-07 07:30")
        // Later records have a later turn, so after this answer all earlier ones have been sent.
        let entry = try #require(try await scene.ask("consents").list?.first)
        #expect(entry["withdrawn"]?.text != nil && entry["erasure"]?["state"]?.text == "asked")
        #expect(try await scene.rows("value") == ["71"])
        try await scene.sql("CALL central.erase_v1()")
        #expect(try await scene.ask("consents").list?.first?["erasure"]?["state"]?.text == "done")
        #expect(try await scene.rows().isEmpty)

        // A new consent: records from its beginning on are sent, and the withdrawn one stays known.
        try await scene.consent(since: "2026-02-06")
        try await scene.until("SELECT value FROM central.record", is: ["72"])
    }

    @Test func `a consent without a first day begins with the person's own today`() async throws {
        // In one of these zones it is always another day than here.
        let zones = [("east", "Pacific/Kiritimati"), ("west", "Etc/GMT+12")]
        let scene = try await CentralScene(persons: zones.map { (name: $0.0, zone: $0.1) })
        for (person, zone) in zones {
            func today() throws -> String {
                var calendar = Calendar(identifier: .gregorian)
                calendar.timeZone = try #require(TimeZone(identifier: zone))
                let parts = calendar.dateComponents([.year, .month, .day], from: Date())
                return String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            }
            let before = try today()
            let look = try await scene.ask("consent", "study=heart", "person=\(person)", "--dry-run")
            #expect(try [before, today()].contains(look["since"]?.text ?? ""), "\(person)")
        }
    }
}
