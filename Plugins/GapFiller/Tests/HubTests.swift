import Foundation
import HubProcess
import HubWire
import Samples
import Testing

/// Tests with a hub and a gap-filler as separate processes.
@Suite(.serialized, .timeLimit(.minutes(3))) struct HubTests {
    private typealias Weighing = Scene.Weighing

    /// A clock that stays on one day.
    private static let may20 = "clock = \"2024-05-20T10:00:00Z@1\""

    private func weighing(_ day: String, _ value: Double, key: String? = nil, person: String? = nil) -> Weighing {
        Weighing(key: key ?? day, start: "2024-\(day)T07:00:00+02:00", value: value, subject: person)
    }

    private func days(_ dates: ClosedRange<Int>, _ value: Double, of measured: Int, person: String = "me") -> [String] {
        dates.map { date in
            "\(person) mean30 2024-05-\(date) \(value) " + (date == measured ? "mean" : "carried 2024-05-\(measured)")
        }
    }

    @Test func `late, corrected, deleted and moved weigh-ins change only the days they affect, even after a restart`()
        async throws
    {
        let scene = try await Scene(hub: Self.may20)
        try scene.give(weighing("05-10", 80), weighing("05-18", 79))
        try await scene.startFiller()
        try await scene.settle()
        #expect(try scene.days() == days(10...17, 80, of: 10) + days(18...20, 79, of: 18))

        var cursor = try scene.records([.day]).cursor
        func changed(_ expected: [String]) async throws {
            try await scene.settle()
            let changes = try scene.changes(since: cursor)
            #expect(changes == expected.sorted())
            cursor = try scene.records([.day]).cursor
        }
        try scene.give(weighing("05-14", 78.5))
        try await changed(days(14...17, 78.5, of: 14))
        try scene.give(weighing("05-18", 78))
        try await changed(days(18...20, 78, of: 18))
        try scene.retract("05-14")
        try await changed(days(14...17, 80, of: 10))

        // The same while the plugin is away.
        try await scene.stopFiller()
        try scene.give(weighing("05-16", 77))
        try scene.retract("05-18")
        try await scene.startFiller()
        try await changed(days(16...20, 77, of: 16))
        // Its source now says that it was on the 12th.
        try scene.give(Weighing(key: "05-16", start: "2024-05-12T07:00:00+02:00", value: 77))
        try await changed(days(12...20, 77, of: 12))
        try scene.retract("05-10")
        try await changed((10...11).map { "- me mean30 2024-05-\($0)" })
        #expect(try scene.days() == scene.expected(today: "2024-05-20"))
        // Correct days are not stored again.
        try await scene.stopFiller()
        try await scene.startFiller()
        try await changed([])
    }

    @Test func `the days of a weigh-in move with it to another person`() async throws {
        let scene = try await Scene(hub: Self.may20, plugins: "[person.anna]\nzone = \"Europe/Berlin\"")
        try await scene.startFiller()
        try scene.give(weighing("05-18", 80, person: "me"), weighing("05-10", 60, person: "anna"))
        try await scene.settle()
        #expect(try scene.days() == scene.expected(today: "2024-05-20"))
        let number = try #require(try scene.records([.quantity]).records.first { $0.assignment.person?.name == "me" })
            .number
        let cursor = try scene.records([.day]).cursor
        let assigned = try await scene.host.command("assign", "\(number)", "--to", "anna")
        #expect(assigned.status == 0, "\(assigned.errors)")
        try await scene.settle()
        #expect(
            try scene.changes(since: cursor)
                == (18...20).map { "- me mean30 2024-05-\($0)" } + days(18...20, 80, of: 18, person: "anna"))
    }

    @Test func `R6.48 the days of an erased weigh-in lose its value in every file, and are computed from the others`()
        async throws
    {
        let scene = try await Scene(hub: "clock = \"2024-05-13T10:00:00Z@1\"")
        let value = 71.390_725_341_9
        try scene.give(
            Scene.Weighing(key: "a", start: "2024-05-10T07:00:00+02:00", value: 80),
            Scene.Weighing(key: "b", start: "2024-05-11T07:00:00+02:00", value: value))
        try await scene.startFiller("types = [\"weight\"]")
        let before = ["me mean30 2024-05-10 80.0 mean"]
        try await scene.comesTo(
            before + ["me mean30 2024-05-11 \(value) mean"]
                + ["12", "13"].map { "me mean30 2024-05-\($0) \(value) carried 2024-05-11" })
        // Supersede a day that is based on it and another weigh-in.
        try scene.give(Scene.Weighing(key: "c", start: "2024-05-11T08:00:00+02:00", value: 82))
        try await scene.settle()
        let erased = try await scene.host.command("erase", "2", "--yes")
        #expect(erased.status == 0, "\(erased.errors)")
        try await scene.comesTo(
            before + ["me mean30 2024-05-11 82.0 mean"]
                + ["12", "13"].map { "me mean30 2024-05-\($0) 82.0 carried 2024-05-11" })
        let needles = [value, (value + 82) / 2].map { number in
            withUnsafeBytes(of: number.bitPattern.bigEndian) { Data($0) }
        }
        let backup = scene.host.folder.path + "/backup.sqlite"
        #expect(try await scene.host.command("backup", backup).status == 0)
        let files = FileManager.default.enumerator(atPath: scene.host.folder.path)?.compactMap { $0 as? String } ?? []
        for file in files {
            guard let bytes = FileManager.default.contents(atPath: "\(scene.host.folder.path)/\(file)") else {
                continue
            }
            for needle in needles { #expect(bytes.range(of: needle) == nil, "\(file)") }
        }
        #expect(files.contains { $0.hasSuffix("hub.sqlite") } && files.contains("backup.sqlite"))
    }

    @Test func `R6.46 days of a person removed from hub.conf stay, except those of a weigh-in that is now another's`()
        async throws
    {
        let carl = "[person.carl]\nzone = \"Europe/Berlin\"\n"
        let scene = try await Scene(
            hub: Self.may20,
            plugins: carl + "[plugin.gap-filler]\nexecutable = \"\(Programs.path("hub-gap-filler"))\"\n")
        try scene.give(weighing("05-10", 80, person: "carl"), weighing("05-18", 79, person: "carl"))
        try await scene.settle()
        let first = days(10...17, 80, of: 10, person: "carl")
        let second = days(18...20, 79, of: 18, person: "carl")
        try await scene.comesTo(first + second)
        let numbers = try scene.records([.quantity]).records.map(\.number)

        try await scene.apply { $0.replacing(carl, with: "") }
        var status: [String] = []
        try await eventually {
            status = try await scene.host.command("status").lines
            return status.contains { $0.contains("2 records are of carl, whom hub.conf does not name") }
        }
        #expect(status.contains { $0.contains("hub erase --forget carl") }, "\(status)")
        #expect(try scene.days() == first + second)

        #expect(try await scene.host.command("assign", "\(numbers[0])", "--to", "me").status == 0)
        try await scene.comesTo(second + days(10...20, 80, of: 10))
        // The same while the plugin is away.
        try await scene.apply { $0.appending("enabled = false\n") }
        #expect(try await scene.host.command("assign", "\(numbers[1])", "--to", "me").status == 0)
        try await scene.apply { $0.replacing("enabled = false\n", with: "") }
        try await scene.comesTo(days(10...17, 80, of: 10) + days(18...20, 79, of: 18))
        try await eventually { try await !scene.host.command("status").lines.contains { $0.contains("of carl") } }
    }

    @Test func `days of thinned readings stay, and later readings change only the days they affect`() async throws {
        let scene = try await Scene(
            hub: Self.may20,
            plugins: "[retention.old]\ntypes = [\"weight\"]\nthin_after_days = 5\n")
        try scene.give(weighing("05-12", 80), weighing("05-18", 79))
        try await scene.startFiller()
        try await scene.settle()
        let before = days(12...17, 80, of: 12) + days(18...20, 79, of: 18)
        #expect(try scene.days() == before)
        let thinned = try await scene.host.command("retention", "--yes")
        #expect(thinned.lines == ["old: 1 sample thinned, 0 records removed"], "\(thinned.errors)")
        // First in the running gap-filler, then in one that reads everything again.
        try scene.give(weighing("05-19", 77))
        let after = days(12...17, 80, of: 12) + days(18...18, 79, of: 18) + days(19...20, 77, of: 19)
        try await scene.comesTo(after)
        try await scene.stopFiller()
        try await scene.startFiller()
        #expect(try scene.days() == after)
        // Before the thinned day, within the days it is carried over, and on the day itself.
        try scene.give(weighing("05-10", 82), weighing("05-14", 78), weighing("05-12", 90, key: "late"))
        try await scene.comesTo(
            days(10...11, 82, of: 10) + days(12...13, 80, of: 12) + days(14...17, 78, of: 14)
                + days(18...18, 79, of: 18) + days(19...20, 77, of: 19))
        // With no readings left.
        for key in ["05-10", "05-14", "late", "05-18", "05-19"] { try scene.retract(key) }
        try await scene.comesTo(days(12...13, 80, of: 12))
        try await scene.stopFiller()
        try await scene.startFiller()
        #expect(try scene.days() == days(12...13, 80, of: 12))
    }

    /// A rule without `sources` also removes days of its types.
    @Test(arguments: [("sources = [\"hs3\"]\n", 12, "1 record"), ("", 15, "4 records")])
    func `days of removed readings stay, and later readings change only the days they affect`(
        sources: String, first: Int, removed: String
    ) async throws {
        let scene = try await Scene(
            hub: Self.may20, plugins: "[retention.old]\ntypes = [\"weight\"]\nremove_after_days = 5\n" + sources)
        try scene.give([weighing("05-12", 80).json, weighing("05-18", 79).json], from: "hs3")
        try await scene.startFiller()
        try await scene.settle()
        #expect(try scene.days() == days(12...17, 80, of: 12) + days(18...20, 79, of: 18))
        let done = try await scene.host.command("retention", "--yes")
        #expect(done.lines == ["old: 0 samples thinned, \(removed) removed"], "\(done.errors)")
        try await scene.stopFiller()
        try await scene.startFiller()
        let last = days(18...20, 79, of: 18)
        #expect(try scene.days() == days(first...17, 80, of: 12) + last)
        try scene.give(weighing("05-10", 82), weighing("05-16", 78))
        try await scene.comesTo(
            days(10...11, 82, of: 10) + days(first...15, 80, of: 12) + days(16...17, 78, of: 16) + last)
        // Retracted readings lose their days, both in a gap-filler that reads everything again and in a running one.
        try await scene.stopFiller()
        try scene.retract("05-16")
        try await scene.startFiller()
        #expect(try scene.days() == days(10...11, 82, of: 10) + days(first...15, 80, of: 12) + last)
        try scene.retract("05-10")
        try await scene.comesTo(days(first...15, 80, of: 12) + last)
    }

    @Test(arguments: [false, true]) func `a day is retracted with its reading, even if a rule has thinned the others`(
        isAway: Bool
    ) async throws {
        let scene = try await Scene(
            hub: Self.may20,
            plugins: "[person.anna]\nzone = \"Europe/Berlin\"\n"
                + "[retention.old]\ntypes = [\"weight\"]\nsources = [\"hs3\"]\nthin_after_days = 5\n")
        let dates = ["05-10", "05-11", "05-12", "05-13"]
        for (source, value) in [("hs3", 80.0), ("hs5", 82.0)] {
            try scene.give(dates.map { weighing($0, value, person: "me").json }, from: source)
        }
        try await scene.startFiller()
        try await scene.settle()
        let before = (10...12).flatMap { days($0...$0, 81, of: $0) } + days(13...20, 81, of: 13)
        #expect(try scene.days() == before)
        let thinned = try await scene.host.command("retention", "--yes")
        #expect(thinned.lines == ["old: 4 samples thinned, 0 records removed"], "\(thinned.errors)")
        // From now on the gap-filler knows only the remaining readings.
        try await scene.stopFiller()
        if !isAway { try await scene.startFiller() }
        #expect(try scene.days() == before)
        let numbers = try scene.records([.quantity]).records.sorted { $0.number < $1.number }.map(\.number)
        #expect(numbers.count == 4)
        try scene.give(["{\"kind\":\"retraction\",\"key\":\"05-10\"}"], from: "hs5")
        #expect(try await scene.host.command("erase", "\(numbers[1])", "--yes").status == 0)
        #expect(try await scene.host.command("assign", "\(numbers[2])", "--to", "anna").status == 0)
        if isAway { try await scene.startFiller() }
        try await scene.comesTo(days(13...20, 81, of: 13) + days(12...20, 82, of: 12, person: "anna"))
    }

    @Test
    func `R6.46 days of a person removed from hub.conf stay even if a rule has thinned their readings`() async throws {
        let carl = "[person.carl]\nzone = \"Europe/Berlin\"\n"
        let scene = try await Scene(
            hub: Self.may20, plugins: carl + "[retention.old]\ntypes = [\"weight\"]\nthin_after_days = 5\n")
        try scene.give(weighing("05-12", 80, person: "carl"), weighing("05-18", 79, person: "carl"))
        try await scene.startFiller()
        try await scene.settle()
        let (first, second) = (days(12...17, 80, of: 12, person: "carl"), days(18...20, 79, of: 18, person: "carl"))
        #expect(try scene.days() == first + second)
        try await scene.apply { $0.replacing(carl, with: "") }
        let thinned = try await scene.host.command("retention", "--yes")
        #expect(thinned.lines == ["old: 1 sample thinned, 0 records removed"], "\(thinned.errors)")
        try await scene.stopFiller()
        try await scene.startFiller()
        #expect(try scene.days() == first + second)
        // Retracting a reading of another day removes only the days of that reading.
        try scene.retract("05-18")
        try await scene.comesTo(first)
    }

    /// A subscription of readings receives neither such a reading nor its retraction (R10.4); a subscription of retractions does.
    @Test func `a reading that is retracted before its delivery is in no day, without waiting for another reading`()
        async throws
    {
        let scene = try await Scene(hub: Self.may20)
        let keys = (1...900).map { "k\($0)" }
        try scene.give(keys.map { weighing("05-18", 79, key: $0).json })
        try await scene.startFiller()
        try scene.give(keys.map { "{\"kind\":\"retraction\",\"key\":\"\($0)\"}" })
        try await scene.settle()
        #expect(try scene.days().isEmpty)
    }

    @Test func `days that the hub rejects are shown in hub status, and stored as soon as the hub accepts them`()
        async throws
    {
        let grants = "grants = { write = [\"height\"] }"
        let scene = try await Scene(
            hub: Self.may20,
            plugins: "[plugin.gap-filler]\nexecutable = \"\(Programs.path("hub-gap-filler"))\"\n\(grants)")
        try scene.give(weighing("05-18", 80))
        try await scene.settle()
        #expect(try scene.days().isEmpty)
        let status = try await scene.host.command("status").lines
        #expect(status.contains { $0.contains("the hub rejected 3 days (forbidden)") }, "\(status)")
        let report = try await scene.host.command("do", "gap-filler", "report", "--json").lines.joined()
        #expect(report.contains(#""rejected":[{"code":"forbidden","days":3,"#), "\(report)")

        try await scene.apply { $0.replacing(grants, with: "") }
        try await scene.comesTo(days(18...20, 80, of: 18))
        try await eventually { try await !scene.host.command("status").lines.contains { $0.contains("rejected") } }
    }

    @Test func `a changed setting makes a new series and retracts the old one`() async throws {
        let scene = try await Scene(hub: Self.may20)
        try scene.give(weighing("05-18", 80), weighing("05-18", 81, key: "b"), weighing("05-18", 85, key: "c"))
        try await scene.startFiller("series = [\"mean\", \"last\"]")
        try await scene.settle()
        #expect(try scene.days() == days(18...20, 82, of: 18))
        #expect(try scene.days(series: "last30").count == 3)
        try await scene.stopFiller()
        try await scene.startFiller("series = [\"median\"]\ncarry_days = 2")
        try await scene.settle()
        #expect(try scene.days().isEmpty && scene.days(series: "last30").isEmpty)
        #expect(
            try scene.days(series: "median2") == [
                "me median2 2024-05-18 81.0 median", "me median2 2024-05-19 81.0 carried 2024-05-18",
            ])
        // A later start of the day moves weigh-ins at seven to the day before.
        try await scene.stopFiller()
        try await scene.startFiller("day_starts = [\"ME=08:00\"]")
        try await scene.settle()
        #expect(try scene.days() == days(17...20, 82, of: 17))
        #expect(try scene.days(series: "median2").isEmpty)
    }

    @Test func `days begin at midnight by the hub's clock, even when daylight saving time begins`() async throws {
        // A day takes one and a half seconds; daylight saving time begins in the night to the 31st.
        let scene = try await Scene(hub: "clock = \"2024-03-29T10:00:00Z@57600\"")
        try scene.give(Weighing(key: "a", start: "2024-03-28T07:00:00+01:00", value: 80))
        let tap = try ChildProcess(
            "hub", ["tap", "day/weight/me/mean30/", "--count", "5", "--json"],
            environment: ["HUB_CONF": scene.host.configuration])
        try await scene.startFiller()
        let lines = await tap.lines(count: 5)
        let dates = lines.compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["date"] as? String
        }
        let all = (28...31).map { "2024-03-\($0)" } + (1...9).map { "2024-04-0\($0)" }
        // In order and without gaps; the first may have been stored before the listener started.
        let begin = try #require(dates.first)
        let first = try #require(all.firstIndex(of: begin))
        #expect(dates == Array(all[first..<min(first + 5, all.count)]))
    }

    @Test func `R8.34 hub status names a reading in no day until it is corrected, and trace the days of a reading`()
        async throws
    {
        let scene = try await Scene(
            hub: Self.may20,
            plugins: "[plugin.gap-filler]\nenabled = true\nexecutable = \"\(Programs.path("hub-gap-filler"))\"")
        try scene.give(weighing("05-18", 0.5), weighing("05-17", 80))
        let number = try #require(try scene.records([.quantity]).records.first).number
        try await scene.settle()
        #expect(try scene.days() == days(17...20, 80, of: 17))
        let status = try await scene.host.command("status").lines
        #expect(
            status.contains {
                $0.hasPrefix("gap-filler says: 1 record is in no day, such as \(number): it is marked implausible")
            }, "\(status)")
        try scene.give(weighing("05-18", 79))
        try await scene.settle()
        #expect(try await !scene.host.command("status").lines.contains { $0.contains("says:") })

        let report = try await scene.host.command("do", "gap-filler", "report", "--json")
        #expect(report.lines.joined().contains("\"leftOut\":[]"), "\(report)")
        let dry = try await scene.host.command("do", "gap-filler", "recompute", "--dry-run", "--json")
        #expect(dry.lines.joined().contains("\"stored\":0"), "\(dry)")
        let days = try await scene.host.command("days", "weight", "--from", "2024-05-17", "--to", "2024-05-20")
        #expect(
            days.lines == [
                "DATE         WEIGHT  HOW", "2024-05-17  80.0 kg  mean of 1 reading",
                "2024-05-18  79.0 kg  mean of 1 reading", "2024-05-19  79.0 kg  carried from 2024-05-18, 1 day",
                "2024-05-20  79.0 kg  carried from 2024-05-18, 2 days",
            ])
        let other = try await scene.host.command("days", "stepCount")
        #expect(other.errors == ["no days: add stepCount to types of [plugin.gap-filler] in hub.conf, then hub apply"])
        let trace = try await scene.host.command("trace", "\(number)")
        #expect(trace.lines.contains { $0.hasPrefix("2024-05-20  mean30  79.0 kg  carried from 2024-05-18, 2 days") })
    }
}
