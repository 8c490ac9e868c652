import Foundation
import HubProcess
import Testing

/// `hub import` of an export, with a real hub.
@Suite(.timeLimit(.minutes(3))) struct ImportCommandTests {
    @Test func `An export is stored once, however often it is given, and a dry run shows the number of new records`()
        async throws
    {
        let scene = try Scene()
        try await scene.start()
        let file = try everything()
        // The export names a file of a clinic that is missing, which is an omission.
        let look = try await scene.json(["import", file, "--dry-run"], expecting: 1)
        let count = try #require(look["records"] as? Int)
        #expect(look["new"] as? Int == count && look["known"] as? Int == 0)
        #expect(try await scene.records().isEmpty)

        let first = try await scene.json(["import", file], expecting: 1)
        #expect(first["refused"] as? Int == 0)
        #expect(first["records"] as? Int == count)
        let stored = try await scene.records()
        #expect(stored.count == count - 1, "one weight stands there twice")
        #expect(stored.allSatisfy { ($0["source"] as? [String: String])?["account"] == "me" })

        let again = try await scene.json(["import", file], expecting: 1)
        #expect(again["new"] as? Int == 0 && again["refused"] as? Int == 0)
        #expect(try await scene.records().count == stored.count)
        let known = try await scene.json(["import", file, "--dry-run"], expecting: 1)
        #expect(known["new"] as? Int == 0 && known["known"] as? Int == count)
    }

    @Test func `A newer export adds new records, and retracts none that it lacks`() async throws {
        let scene = try Scene()
        try await scene.start()
        let older = try scene.write(steps(0..<500), as: "older.xml")
        let newer = try scene.write(steps(300..<900), as: "newer.xml")
        #expect(try await scene.json(["import", older])["new"] as? Int == 501)
        let report = try await scene.json(["import", newer])
        #expect(report["new"] as? Int == 400 && report["known"] as? Int == 201)
        #expect(try await scene.records().count == 901)
        // An older export adds nothing.
        #expect(try await scene.json(["import", older])["new"] as? Int == 0)
    }

    @Test func `A record that differs from the hub's is reported as changed, not as new`() async throws {
        let scene = try Scene()
        try await scene.start()
        let file = try scene.write(steps(0..<10), as: "export.xml")
        #expect(try await scene.json(["import", file])["new"] as? Int == 11)
        // The zone is a part of each record.
        let report = try await scene.json(["import", file, "--zone", "Europe/Berlin"])
        #expect(report["new"] as? Int == 0 && report["changed"] as? Int == 11 && report["known"] as? Int == 0)
        #expect(try await scene.records().count == 11)
        let words = try await scene.host.command("import", file, "--zone", "Asia/Tokyo")
        #expect(words.lines.first?.contains("0 new, 11 changed, 0 there already") == true, "\(words.lines)")
    }

    @Test func `Only selected records are stored: by type, by source and by time`() async throws {
        let scene = try Scene()
        try await scene.start()
        let file = try scene.write(steps(0..<2_000), as: "export.xml")
        let scale = try await scene.json(["import", file, "--source", "scale"])
        #expect(scale["new"] as? Int == 1 && scale["filtered"] as? Int == 2_000)
        let day = try await scene.json(
            [
                "import", file, "--type", "stepCount", "--from", "2026-01-02", "--to", "2026-01-02", "--zone",
                "Europe/Berlin",
            ])
        // Includes the record that ends as the day begins.
        #expect(day["new"] as? Int == 561)
        #expect(try await scene.records().count == 562)
    }

    @Test
    func `The good records of a damaged file are stored, the others are reported, and the status is 1`() async throws {
        let scene = try Scene()
        try await scene.start()
        let cut = try scene.write(String(steps(0..<300).dropLast(150)), as: "export.xml")
        let result = try await scene.host.command("import", cut)
        #expect(result.status == 1)
        #expect(result.lines.contains { $0.contains("the file ends before its end") })
        #expect(try await scene.records().count >= 299)
        let other = try scene.write("no export", as: "other.zip")
        let refused = try await scene.host.command("import", other)
        #expect(refused.status == 64)
        #expect(refused.errors.contains { $0.contains("not an export of Apple Health") })
    }

    @Test
    func `An import with lost values ends with 1, with kept ones with 0, and both are listed with date and source`()
        async throws
    {
        let scene = try Scene()
        try await scene.start()
        func file(_ start: String, _ value: String) throws -> String {
            let record =
                "<Record type=\"HKQuantityTypeIdentifierBodyFatPercentage\" sourceName=\"Renpho\" unit=\"%\" value=\"\(value)\" startDate=\"\(start)\" endDate=\"\(start)\"/>"
            return try scene.write(steps(0..<1, end: record + "</HealthData>"), as: "export.xml")
        }
        let kept = try await scene.host.command("import", try file("2026-01-02 07:00:00 +0100", "18.5"))
        #expect(kept.status == 0)
        #expect(
            kept.lines.contains { $0.contains("bodyFatPercentage of Renpho, 2026-01-02 07:00:00 +01:00") },
            "\(kept.lines)")
        let lost = try await scene.host.command("import", try file("02.01.2026", "0.185"))
        #expect(lost.status == 1 && lost.errors.contains { $0.contains("1 thing of") && $0.contains("is lost") })
        #expect(lost.lines.contains { $0.contains("of Renpho, 02.01.2026") }, "\(lost.lines)")
        let report = try await scene.json(["import", try file("02.01.2026", "0.185")], expecting: 1)
        #expect(report["lost"] as? Int == 1)
        let places = (report["oddities"] as? [[String: Any]])?.first?["places"] as? [[String: Any]]
        #expect(places?.first?["date"] as? String == "02.01.2026" && places?.first?["byte"] as? Int != nil)
    }

    @Test func `A line without a kind is stored if the registry knows its type, otherwise it is refused with a reason`()
        async throws
    {
        let scene = try Scene()
        try await scene.start()
        func line(_ type: String) -> String {
            "{\"type\":\"\(type)\",\"value\":80.4,\"unit\":\"kg\",\"start\":\"2026-11-01T07:00:00+01:00\",\"source\":{\"plugin\":\"withings\"},\"key\":\"a\"}\n"
        }
        let stored = try await scene.host.command("import", try scene.write(line("weight"), as: "hand.jsonl"))
        #expect(stored.status == 0, "\(stored.errors)")
        let refused = try await scene.host.command("import", try scene.write(line("glow"), as: "glow.jsonl"))
        #expect(
            refused.status == 64 && refused.errors.contains { $0.contains("line 1: kind: missing") },
            "\(refused.errors)")
        let foreign = try await scene.host.command(
            "import", try scene.write("#Version: 6\n#Units: kg\n", as: "libra.csv"))
        #expect(foreign.status == 64 && foreign.errors.contains { $0.contains("this is a Libra export") })
    }

    @Test func `With several people the command asks for the person, and their records stay separate`() async throws {
        let scene = try Scene(persons: "[person.anna]\n[person.ben]\n")
        try await scene.start()
        let file = try everything()
        let refused = try await scene.host.command("import", file)
        #expect(refused.status == 64)
        #expect(refused.errors.contains { $0.contains("--person") && $0.contains("anna, ben") })
        for person in ["anna", "ben"] {
            #expect(try await scene.json(["import", file, "--person", person], expecting: 1)["refused"] as? Int == 0)
        }
        let persons = Dictionary(grouping: try await scene.records()) { $0["person"] as? String ?? "" }
        #expect(Set(persons.keys) == ["anna", "ben"])
        #expect(persons["anna"]?.count == persons["ben"]?.count)
    }

    @Test func `An import that was stopped or killed resumes when the file is given again, and stores all once`()
        async throws
    {
        let scene = try Scene()
        try await scene.start()
        let file = try scene.write(steps(0..<8_000), as: "export.xml")
        for end in [SIGINT, SIGKILL, SIGTERM] {
            let child = try ChildProcess("hub", ["import", file], environment: ["HUB_CONF": scene.host.configuration])
            // Wait until a record has been stored.
            let before = try await scene.head()
            while child.isRunning, try await scene.head() == before { try await Task.sleep(for: .milliseconds(5)) }
            child.signal(end)
            let code = await child.waitForExit()
            #expect(code == 75 || code == 0 || code == -Int(SIGKILL), "\(code)")
        }
        let report = try await scene.json(["import", file])
        #expect(report["finished"] as? Bool == true)
        #expect(try await scene.records().count == 8_001)
        #expect(Set(try await scene.records().compactMap { $0["key"] as? String }).count == 8_001)
    }

    @Test func `An import waits while the hub is killed and restarted, and loses and doubles nothing`() async throws {
        let scene = try Scene()
        try await scene.start()
        let file = try scene.write(steps(0..<8_000), as: "export.xml")
        let child = try ChildProcess(
            "hub", ["import", file, "--json"], environment: ["HUB_CONF": scene.host.configuration])
        while child.isRunning, try await scene.head() == 0 { try await Task.sleep(for: .milliseconds(5)) }
        await scene.kill()
        try await scene.start()
        #expect(await child.waitForExit() == 0, "\(child.errorLines)")
        #expect(try await scene.records().count == 8_001)
    }
}
