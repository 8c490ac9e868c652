import Foundation
import HubClient
import HubProcess
import Testing

@testable import HubCommand

/// Files of `hub export`, read by third-party programs.
@Suite(.enabled(if: Need.exportJudges.isMet, "\(Need.exportJudges.reason)")) struct JudgedTests {
    /// The result of a third-party program for a file; throws if the program rejects the file.
    private func judged(_ what: String, _ path: String) async throws -> [String: Any] {
        let script = try #require(Bundle.module.url(forResource: "judges", withExtension: "py"))
        let tables = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/Health/Samples/Types/Tables/loinc-ucum-map.csv").standardizedFileURL.path
        let python = try ChildProcess(
            "/usr/bin/env", ["PYTHONPATH=\(Need.judgePackages)", "python3", script.path, what, path, tables])
        let result = await python.result()
        try #require(result.code == 0, "\(result.errors.suffix(2_000))")
        return try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    }

    private func values(_ found: [String: Any], _ name: String) throws -> (count: Int, values: [String]) {
        let all = try #require(found["observations"] as? [String: [String: Any]])
        let one = try #require(all[name], "\(name) of \(all.keys.sorted())")
        return (one["count"] as? Int ?? 0, one["values"] as? [String] ?? [])
    }

    @Test
    func `a Bundle is FHIR R4, its vital signs have the codes and units of their profiles, and no value is rounded`()
        async throws
    {
        let scene = try await ExportScene()
        _ = try await scene.export("all.fhir.json")
        let found = try await judged("fhir", scene.path("all.fhir.json"))
        #expect(found["patients"] as? [String] == ["anna", "ben"])
        #expect(try values(found, "Blood pressure").count == 6)
        #expect(try values(found, "Height") == (2, ["177.8 cm"]))
        // The digits are the source's: 0.29 times a hundred is not 29 in doubles.
        #expect(try values(found, "Body fat percentage") == (12, ["29 %"]))
        #expect(try values(found, "Body temperature") == (2, ["37 Cel"]))
        #expect(try values(found, "Weight").count == 17)
        // The two values are components of the blood pressure, not separate observations.
        #expect((found["observations"] as? [String: Any])?["Blood pressure systolic"] == nil)
    }

    @Test func `an export of members alone keeps them, and an export of a correlation includes its members`()
        async throws
    {
        let scene = try await ExportScene()
        _ = try await scene.export("s.fhir.json", ["--type", "bloodPressureSystolic"])
        #expect(try values(try await judged("fhir", scene.path("s.fhir.json")), "Blood pressure systolic").count == 6)
        _ = try await scene.export("b.fhir.json", ["--type", "bloodPressure"])
        #expect(try values(try await judged("fhir", scene.path("b.fhir.json")), "Blood pressure").count == 6)
    }

    @Test func `Observations can be exported as one line each`() async throws {
        let scene = try await ExportScene()
        _ = try await scene.hub.run(["edit", "1", "71kg"])
        _ = try await scene.export("all.fhir.ndjson")
        let found = try await judged("lines", scene.path("all.fhir.ndjson"))
        #expect(try values(found, "Blood pressure").count == 6)
        #expect((found["statuses"] as? [String: Int])?["amended"] == 1)
    }

    @Test func `data points conform to the published schemas of Open mHealth and of IEEE 1752.1`() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export("all.omh.jsonl")
        let omh = try await judged("omh", scene.path("all.omh.jsonl"))
        let schemas = try #require(omh["schemas"] as? [String: Int])
        #expect(schemas["omh:blood-pressure:4.0"] == 6 && schemas["omh:body-weight:3.0"] == 17)
        #expect(schemas["omh:step-count:3.0"] == 6 && schemas["omh:physical-activity:1.2"] == 2)
        #expect(omh["ids"] as? Int == schemas.values.reduce(0, +))
        _ = try await scene.export("all.ieee.jsonl")
        let ieee = try await judged("ieee", scene.path("all.ieee.jsonl"))
        #expect((ieee["schemas"] as? [String: Int])?["ieee:physical-activity:1.0"] == 8)
    }

    @Test func `a route is one track, whatever other records lie between its own`() async throws {
        let scene = try await ExportScene()
        _ = try await scene.export("runs.gpx")
        let found = try await judged("gpx", scene.path("runs.gpx"))
        #expect(found["tracks"] as? [String] == Array(repeating: "running 2026-02-01T17:00:00+01:00", count: 2))
        #expect(found["points"] as? Int == 8)
        #expect(found["first"] as? String == "2026-02-01 16:00:00+00:00")
        // Conditions apply to the workout.
        let runs = try await scene.export(
            "r.gpx", ["--where", "activity running", "--from", "2026-02-01T17:20:00+01:00"])
        #expect(runs == (try String(contentsOfFile: scene.path("runs.gpx"), encoding: .utf8)))
        #expect(try await !scene.export("s.gpx", ["--where", "activity swimming"]).contains("<trk>"))
    }

    @Test func `the XML of one person can be read as an export of Apple Health`() async throws {
        let scene = try await ExportScene()
        try await scene.hub.expect(["export", scene.path("a.xml")], .usage, errors: "say --person, one of anna, ben")
        let text = try await scene.export("export.xml", ["--person", "anna"])
        #expect(text.contains(#"HKCharacteristicTypeIdentifierDateOfBirth="1980-02-29""#))
        #expect(text.contains("Ham &amp; &lt;Cheese&gt; Sandwich"))
        let found = try await judged("apple", scene.path("export.xml"))
        #expect(found["rBodyMass"] as? Int == 16 && found["workouts"] as? Int == 2)
        #expect(found["rBloodPressureSystolic"] as? Int == 12, "each value occurs beside its correlation and in it")
    }

    @Test func `Datasette shows the tables and views, and two hubs with the same records export the same data`()
        async throws
    {
        let first = try await ExportScene()
        try await first.hub.succeed(["export", first.path("health.sqlite")])
        let found = try await judged("sqlite", first.path("health.sqlite"))
        #expect((found["tables"] as? [String: Int])?["records"] == 99)
        let views = try #require(found["views"] as? [String: [[String: Any]]])
        let pressure = try #require(views["blood_pressures"]?.first)
        #expect(pressure["date"] as? String == "2026-02-01" && pressure["time"] as? String == "07:31")
        #expect(pressure["systolic"] as? Double == 121 && pressure["diastolic"] as? Double == 79)
        let run = try #require(views["workouts"]?.first)
        #expect(run["activity"] as? String == "running" && run["km"] as? Double == 5.1 && run["kcal"] as? Double == 300)
        #expect(views["weights"]?.count == 17)
        _ = try await first.export("all.jsonl")
        let second = try await ExportScene(isFilled: false)
        #expect(try await second.hub.run(["import", first.path("all.jsonl")]).code == 0)
        #expect(try await second.hub.run(["export", second.path("health.sqlite")]).code == 0)
        let again = try await judged("sqlite", second.path("health.sqlite"))
        #expect(again as NSDictionary == found as NSDictionary)
    }
}
