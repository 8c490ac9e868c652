import Foundation
import HubProcess
import JSON
import Testing

/// Kills of the centre and of the plugin lose and double nothing, and make no receipt untrue.
@Suite(.enabled(if: Need.postgresql.isMet, Comment(rawValue: Need.postgresql.reason)), .timeLimit(.minutes(10)))
struct LossTests {
    private let count = 4_000

    /// All records of the hub, as `sequence|value`.
    private func held(_ scene: CentralScene) async throws -> [String] {
        let file = "\(scene.host.folder.path)/all.jsonl"
        try await scene.command("export", file, "--numbers", "--replace")
        return try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n").map { line in
            let record = try #require(JSONTree(Array(line.utf8)))
            let (sequence, value) = (try #require(record["seq"]?.integer), try #require(record["value"]?.double))
            return "\(sequence)|\(value)"
        }
    }

    private func given(_ scene: CentralScene) async throws -> [String] {
        try await scene.rows("seq, value").map { row in
            let parts = row.split(separator: "|")
            return "\(parts[0])|\(Double(parts[1]) ?? .nan)"
        }
    }

    /// Returns when everything is delivered and both sides have the same records.
    private func settle(_ scene: CentralScene) async throws {
        try await scene.until("SELECT count(*) FROM central.record", is: ["\(count)"])
        try await eventually {
            // Its exit code is 1 while a killed plugin is not running again.
            let answer = try await scene.host.command(["status", "--json"]).lines.joined()
            let status = try #require(JSONTree(Array(answer.utf8)))
            let sink = status["sinks"]?.list?.first { $0["name"]?.text?.hasPrefix("central/") == true }
            return sink?["delivered"]?.integer == count
        }
        #expect(
            try await given(scene)
                == (try await held(scene)).sorted { left, right in
                    (Int(left.split(separator: "|")[0]) ?? 0) < (Int(right.split(separator: "|")[0]) ?? 0)
                })
        // Each receipt names a batch that the centre has counted.
        #expect(try await scene.sql("SELECT versions >= \(count) FROM central.hub") == ["t"])
    }

    @Test func `each record arrives once although PostgreSQL is killed again and again during deliveries`() async throws
    {
        let scene = try await CentralScene(settings: "patience = \"5s\"")
        try await scene.consent()
        let source = try ExampleSource(in: scene.host, count: count)
        for part in 1...3 {
            try await scene.until("SELECT count(*) >= \(part * count / 5) FROM central.record", is: ["t"])
            scene.server.kill()
            try await scene.server.start()
        }
        #expect(await source.process.waitForExit() == 0)
        try await settle(scene)
    }

    @Test func `each record arrives once although the plugin is killed again and again during deliveries`() async throws
    {
        let scene = try await CentralScene()
        try await scene.consent()
        let source = try ExampleSource(in: scene.host, count: count)
        for part in 1...3 {
            try await scene.until("SELECT count(*) >= \(part * count / 5) FROM central.record", is: ["t"])
            try await scene.killPlugin()
        }
        #expect(await source.process.waitForExit() == 0)
        try await settle(scene)
    }

    @Test func `a COMMIT with a warning gives no receipt, and the batch is sent again until a COMMIT has none`()
        async throws
    {
        // The server is configured with a replica that does not exist.
        let server = try await CentralScene.centre()
        let scene = try await CentralScene(at: server, settings: "patience = \"5min\"")
        try await scene.consent()
        let first = try await scene.log("70 kg")
        _ = try await scene.receipt(first)
        try await scene.sql("ALTER SYSTEM SET synchronous_standby_names = 'nowhere'")
        try await scene.sql("SELECT pg_reload_conf()")
        let second = try await scene.log("71 kg", at: "2026-03-16 07:30")
        var cancelled = 0
        while cancelled < 3 {
            let found = try await scene.sql(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'hub_house'"
            )
            cancelled += found.count
        }
        // The record can be read there, but has no receipt.
        #expect(try await scene.rows("value") == ["70", "71"])
        #expect(try await scene.delivery(second)?["state"] as? String != "delivered")
        try await scene.sql("ALTER SYSTEM RESET synchronous_standby_names")
        try await scene.sql("SELECT pg_reload_conf()")
        _ = try await scene.receipt(second)
        #expect(try await scene.rows("value") == ["70", "71"])
    }

    @Test
    func `after a restore of the hub only differences are sent, and records that the hub lost are marked and kept`()
        async throws
    {
        let scene = try await CentralScene()
        try await scene.consent()
        let source = try ExampleSource(in: scene.host, count: count)
        #expect(await source.process.waitForExit() == 0)
        try await settle(scene)
        let backup = "\(scene.host.folder.path)/backup.sqlite"
        try await scene.command("backup", backup)
        let lost = try await scene.log("81 kg", at: "2026-03-16 07:30")
        _ = try await scene.receipt(lost)
        // The centre lacks a record although the hub has its receipt.
        try await scene.sql("DELETE FROM central.record WHERE seq = 7")
        let versions = try await scene.sql("SELECT versions FROM central.hub")
        try await scene.whileStopped { try await scene.command("restore", backup, "--yes") }
        try await scene.until("SELECT count(*) FROM central.era WHERE reconciled IS NOT NULL AND era = 2", is: ["1"])
        #expect(try await scene.sql("SELECT value, flags FROM central.record WHERE flags <> 0") == ["81|16"])
        #expect(try await scene.sql("SELECT count(*) FROM central.record") == ["\(count + 1)"])
        // At most the page of the hub's answer that contains it.
        let again = try #require(Int(try await scene.sql("SELECT versions - \(versions[0]) FROM central.hub")[0]))
        #expect((1...1_000).contains(again), "\(again)")
        let next = try await scene.log("82 kg", at: "2026-03-17 07:30")
        _ = try await scene.receipt(next)
        let new = try await scene.sql("SELECT era, seq, kind, value, flags FROM central.record WHERE seq > \(count)")
        #expect(new.contains("2|\(next)|q|82|0"), "\(new)")
    }

    @Test func `after a restore to before an erasure the centre erases again, and no study sees a withdrawn person`()
        async throws
    {
        let scene = try await CentralScene(persons: [("ben", "Europe/Berlin")])
        try await scene.consent("me")
        try await scene.consent("ben")
        let kept = try await scene.log("70 kg")
        let edited = try await scene.log("71 kg", at: "2026-03-16 07:30")
        let bens = try await scene.log("90 kg", person: "ben")
        for number in [kept, edited, bens] { _ = try await scene.receipt(number) }
        try await scene.command("edit", "\(edited)", "72kg", "--yes")
        try await scene.until("SELECT value FROM central.record WHERE number = \(edited)", is: ["72"])
        try await scene.sql("CREATE TABLE r AS TABLE central.record; CREATE TABLE c AS TABLE central.consent")
        try await scene.command("erase", "\(edited)", "--yes")
        try await scene.until("SELECT count(*) FROM central.record WHERE kind = 'x'", is: ["1"])
        _ = try await scene.ask("withdraw", "study=heart", "person=ben")
        try await eventually { try await scene.command("trace", "\(edited)", "--json").joined().contains("~erased-") }

        // The centre is restored to before both.
        scene.server.kill()
        try await scene.server.start()
        try await scene.sql(
            """
            BEGIN; INSERT INTO central.incarnation VALUES (2, now(), 'a test');
            DELETE FROM central.record; INSERT INTO central.record SELECT * FROM r;
            DELETE FROM central.consent; INSERT INTO central.consent SELECT * FROM c; COMMIT
            """)
        let next = try await scene.log("73 kg", at: "2026-03-17 07:30")
        #expect(try await scene.receipt(next).hasPrefix("c2/"))
        try await scene.until("SELECT count(*) FROM central.record WHERE kind = 'x' AND value IS NULL", is: ["1"])
        try await scene.until("SELECT value FROM central.study_record ORDER BY 1", is: ["70", "73"])
        let withdrawn = "SELECT count(*) FROM central.consent WHERE withdrawn IS NOT NULL"
        #expect(try await scene.sql(withdrawn) == ["1"])
    }

    @Test func `after a restore the centre gets only the records that it lost`() async throws {
        let scene = try await CentralScene()
        try await scene.consent()
        let source = try ExampleSource(in: scene.host, count: count)
        #expect(await source.process.waitForExit() == 0)
        try await settle(scene)
        // As after a restore to an earlier time: the last records and a consent are missing, and the hub's state is unchanged.
        try await scene.sql("DELETE FROM central.record WHERE seq > \(count - 700)")
        try await scene.sql("DELETE FROM central.record WHERE seq BETWEEN 100 AND 110")
        try await scene.sql("DELETE FROM central.consent")
        let versions = try await scene.sql("SELECT versions FROM central.hub")
        scene.server.kill()
        try await scene.server.start()
        try await scene.sql("INSERT INTO central.incarnation VALUES (2, now(), 'a test')")
        // The next delivery notices it.
        let number = try await scene.log("72 kg", at: "2026-03-16 07:30")
        #expect(try await scene.receipt(number).hasPrefix("c2/"))
        try await scene.until("SELECT count(*) FROM central.record", is: ["\(count + 1)"])
        let again = try await scene.sql("SELECT versions - \(versions[0]) FROM central.hub")
        #expect(again == ["\(700 + 11 + 1)"])
        #expect(try await scene.sql("SELECT count(*) FROM central.consent WHERE withdrawn IS NULL") == ["1"])
    }
}
