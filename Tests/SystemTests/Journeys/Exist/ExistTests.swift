import Foundation
import HubCore
import HubProcess
import HubWire
import Samples
import Testing

/// From a scale, or from other sources of weigh-ins, to accounts at Exist, with real programs and one clock.
@Suite(.serialized, .timeLimit(.minutes(3))) struct ExistTests {
    static func plugins(_ exporters: [(instance: String, person: String)], more: String = "") -> String {
        """
        [plugin.gap-filler]
        executable = "PROGRAMS/hub-gap-filler"

        """
            + exporters.map { instance, person in
                """
                [plugin.\(instance)]
                kind = "exist"
                executable = "PROGRAMS/hub-exist"
                persons = ["\(person)"]
                base = "BASE"
                client_id = "hub"
                client_secret = "shh"
                redirect = "REDIRECT"
                \(more)

                """
            }.joined()
    }

    static let scale = """
        [plugin.ihealth-hs3]
        executable = "PROGRAMS/hub-ihealth-hs3"
        link = "SCALE"
        device_id = "020000003001"

        """

    static func time(_ day: Int, _ clock: String) -> String { "\(LocalDate(daysSinceEpoch: day).text)T\(clock)" }

    /// Begins on the evening of April 30th with six weigh-ins in the scale's memory; then a weigh-in follows every few days
    /// while thirty days pass, three a second.
    @Test func `a scale's weigh-ins become thirty days at Exist: measured, carried, late, corrected and deleted ones`()
        async throws
    {
        let first = try #require(LocalDate("2024-04-30")).daysSinceEpoch
        var judge = ExistJudge(
            weighIns: [(29, 812), (22, 808), (21, 811), (15, 805), (9, 799), (2, 802)].map { ago, tenths in
                .init(time: Self.time(first - ago, "07:\(10 + ago):00"), tenths: [tenths])
            })
        let journey = try await ExistJourney(
            at: "2024-04-30T18:00:00Z", rate: 60,
            plugins: Self.scale + Self.plugins([("exist", "me")], more: "interval = \"1min\"\ngather = \"20s\""),
            memory: judge.weighIns)
        var (server, hub) = (try await journey.startServer(), try await journey.startHub())
        func pass(at rate: Double) async throws {
            #expect(await journey.end(hub) == 0)
            _ = await server.stop()
            journey.pass(at: rate)
            server = try await journey.startServer()
            hub = try await journey.startHub()
        }
        func faults() throws -> [String] {
            judge.faults(held: try journey.held(), days: first - 29...(try journey.today()))
        }
        func expectRight(_ what: String) async throws {
            let wrong = try await ExistJourney.untilRight(faults)
            #expect(wrong.isEmpty, "\(what): \(wrong)")
        }
        let scale = try #require(journey.scale)
        func weigh(_ day: Int, _ clock: String, _ tenths: Int) throws {
            let weighIn = ExistJudge.WeighIn(time: Self.time(day, clock), tenths: [tenths])
            judge.weighIns.append(weighIn)
            try scale.step(on: weighIn)
        }
        func untilDay(_ day: Int) async throws {
            try await eventually { try journey.today() >= day }
        }

        // Everything must be there before the first call.
        try await eventually { try journey.weighIns().count >= judge.weighIns.count }
        try await journey.logInUntilDone("exist", as: "mira")
        try await expectRight("the first evening")
        let updates = try journey.diary().filter { $0.path.hasSuffix("/update/") }
        #expect(updates.count == 1 && updates.first?.body?.count == 30, "all thirty days, in one call")

        // Each weigh-in comes when its day is over, with holes of one to six days and a day with three.
        try await pass(at: 259_200)
        for (ahead, weights) in [
            (1, [800]), (3, [798]), (4, [795, 801, 803]), (11, [790]), (13, [788, 792]), (20, [785]), (27, [781]),
        ] {
            try await untilDay(first + ahead + 1)
            for (place, tenths) in weights.enumerated() {
                try weigh(first + ahead, "0\(6 + place):2\(place):00", tenths)
            }
        }
        try await untilDay(first + 30)
        try await pass(at: 60)
        try await expectRight("thirty days later")

        try weigh(first + 24, "07:00:00", 776)
        try await expectRight("after a late weigh-in")
        func change(_ day: Int, _ words: (String) -> [String]) async throws -> Int {
            let place = try #require(judge.weighIns.firstIndex { $0.day == day })
            let time = judge.weighIns[place].time
            let number = try #require(try journey.weighIns().first { $0.time == time }).number
            let said = try await journey.host.command(words("\(number)"))
            #expect(said.status == 0, "\(said)")
            return place
        }
        judge.weighIns[try await change(first + 20) { ["edit", $0, "79.9", "kg", "--yes"] }].tenths.append(799)
        try await expectRight("after a correction")
        judge.weighIns[try await change(first + 27) { ["retract", $0, "--yes"] }].isDeleted = true
        try await expectRight("after a deletion")

        let open = try await ExistJourney.untilRight { try journey.open("exist") + journey.open("gap-filler") }
        #expect(open == [])
        #expect(try judge.faults(stored: journey.weighIns().map { ($0.time, $0.tenths) }) == [])
        #expect(try ExistJudge.faults(ledger: journey.ledger(), of: "exist", user: "mira") == [])
        let calls = try journey.diary()
        #expect(try judge.faults(sent: calls, to: "mira", through: journey.today()) == [])
        #expect(calls.count { $0.path.hasSuffix("/acquire/") } == 1)
        #expect(await journey.end(hub) == 0)
        server.signal(SIGTERM)
    }

    @Test
    func
        `a missing log-in is reported from the start, and a sync settles its values at once, not when their retry is due`()
        async throws
    {
        let journey = try await ExistJourney(
            at: "2024-05-20T12:00:00Z", rate: 1,
            plugins: Self.plugins([("exist", "me")], more: "interval = \"1h\"\ngather = \"0s\""))
        let (server, hub) = (try await journey.startServer(), try await journey.startHub())
        #expect(try await ExistJourney.untilRight { journey.needsLogIn("exist") ? [] : ["there is no advice"] } == [])
        let status = try await journey.host.command("status")
        #expect(status.status == 1 && status.lines.contains { $0.contains("hub login exist") }, "\(status)")

        func weigh(_ kilograms: String, at time: String) async throws {
            let said = try await journey.host.command("log", "weight", kilograms, "kg", "--at", time, "--yes")
            #expect(said.status == 0, "\(said)")
        }
        try await weigh("80", at: "2024-05-20T07:00:00")
        try await journey.logInUntilDone("exist", as: "mira")
        #expect(try await ExistJourney.untilRight { try journey.open("exist") } == [])
        #expect(try await journey.host.command("status").status == 0)

        try await weigh("81", at: "2024-05-20T08:00:00")
        let waits = try await ExistJourney.untilRight {
            try journey.account("exist")?.retrying ?? 0 > 0 ? [] : ["no delivery waits for another attempt"]
        }
        #expect(waits == [])
        let sync = try await journey.host.command("do", "exist", "sync")
        #expect(sync.status == 0, "\(sync)")
        #expect(try journey.held()["2024-05-20"] == 80.5)
        #expect(try await ExistJourney.untilRight { try journey.open("exist") } == [])
        #expect(try journey.account("exist")?.refused == 0)
        #expect(await journey.end(hub) == 0)
        server.signal(SIGTERM)
    }

    @Test func `each person's days go to their own account, and a trace of the day shows the receipt`() async throws {
        let last = try #require(LocalDate("2024-05-20")).daysSinceEpoch
        let journey = try await ExistJourney(
            at: "2024-05-20T06:00:00Z", rate: 60,
            plugins: "[person.anna]\nzone = \"Europe/Berlin\"\n"
                + Self.plugins(
                    [("exist-me", "me"), ("exist-anna", "anna")], more: "interval = \"1min\"\ngather = \"10s\""))
        let (server, hub) = (try await journey.startServer(), try await journey.startHub())
        var judges = ["me": ExistJudge(), "anna": ExistJudge()]
        for (person, base) in [("me", 800), ("anna", 600)] {
            for (place, ago) in [29, 20, 14, 6, 1].enumerated() {
                let weighIn = ExistJudge.WeighIn(time: Self.time(last - ago, "07:0\(place):00"), tenths: [base + place])
                judges[person]?.weighIns.append(weighIn)
                let said = try await journey.host.command(
                    "log", "weight", "\(Double(base + place) / 10)", "kg", "--person", person, "--at", weighIn.time,
                    "--yes")
                #expect(said.status == 0, "\(said)")
            }
        }
        for (instance, user) in [("exist-me", "mira"), ("exist-anna", "anna")] {
            try await journey.logInUntilDone(instance, as: user)
        }
        func faults() throws -> [String] {
            try [("me", "mira"), ("anna", "anna")].flatMap { person, user in
                let held = try journey.held(by: user)
                return judges[person]?.faults(held: held, days: last - 29...last) ?? []
            }
        }
        #expect(try await ExistJourney.untilRight(faults) == [])

        // A weigh-in of mine was hers: it leaves my days and joins hers, each in its own account.
        let mine = try #require(judges["me"]?.weighIns[2])
        judges["me"]?.weighIns.remove(at: 2)
        let number = try #require(try journey.weighIns().first { $0.time == mine.time }).number
        #expect(try await journey.host.command("assign", "\(number)", "--to", "anna", "--yes").status == 0)
        let before = judges
        judges["anna"]?.weighIns.append(mine)
        #expect(try await ExistJourney.untilRight(faults) == [])

        let calls = try journey.diary()
        var known = before["me"] ?? ExistJudge()
        known.weighIns.append(mine)
        #expect(known.faults(sent: calls, to: "mira", through: last) == [])
        #expect(judges["anna"]?.faults(sent: calls, to: "anna", through: last) == [])
        for (instance, person, user) in [("exist-me", "me", "mira"), ("exist-anna", "anna", "anna")] {
            let open = try await ExistJourney.untilRight { try journey.open(instance) }
            #expect(open == [])
            #expect(try ExistJudge.faults(ledger: journey.ledger(of: person), of: instance, user: user) == [])
            #expect(ExistJudge.faults(limits: calls, of: user, perHour: 60, leeway: 30) == [])
            let account = try #require(try journey.account(instance))
            #expect(
                account.refused == 0 && account.skipped == 0,
                "each sink counts only the days of its person: \(account)")
        }
        let trace = try await journey.host.command("trace", "\(number)")
        #expect(trace.lines.joined(separator: "\n").contains("anna/weight/2024-05-06"), "\(trace.lines)")
        let plan = try await journey.host.command("do", "exist-anna", "plan")
        #expect(plan.status == 0 && plan.lines.joined().contains("anna"), "\(plan)")

        // A check beside the running plugin logs in with the hub's token, and changes nothing.
        let written = try journey.diary().count { $0.method == "POST" }
        let check = try ChildProcess("hub-exist", ["--check", "--instance", "exist-anna", "--door", journey.host.door])
        #expect(await check.waitForExit() == 0, "\(check.errorLines)")
        #expect(await check.allLines().first?.contains("knows the log-in of anna") == true, "\(check.lines)")
        #expect(try journey.diary().count { $0.method == "POST" } == written)
        #expect(await journey.end(hub) == 0)
        server.signal(SIGTERM)
    }
}
