import Foundation
import HubProcess
import HubWire
import Platform
import Samples
import Testing

/// The way to Exist survives kill -9 of any of four processes while everything goes wrong that can.
@Suite(.serialized) struct ExistKillTests {
    /// The number of kills in one run, which `EXIST_KILLS` can change.
    private static let kills = ProcessInfo.processInfo.environment["EXIST_KILLS"].flatMap(Int.init) ?? 16
    private static let perHour = 60
    /// Seconds of the clock, half a second of real time, in which an answer reaches the exporter's disk.
    private static let writing = 300.0

    /// The stand-in's faults, all at once and for the whole run.
    private static let faults = [
        "delay=0.02%20", "cut-before%5", "cut-after%5", "cut-inside%3", "status=503%4", "html%3", "half@update%3",
        "too-many=900%2", "no-failed%4", "lost-object@update%4", "title-for-name%5", "reordered%20",
    ]
    private static let switches = [
        "token_life=3600", "code_life=36000", "missing_value=zero_for_quantities", "range_check=on", "next_scheme=http",
        "scope_denied=http403", "retry_after=900", "rate_limit=300",
    ]

    /// Runs from the evening before a midnight, ten minutes a second.
    @Test(.timeLimit(.minutes(10)))
    func
        `Exist has the right values without a call too many after kills of all four programs and faults of the service`()
        async throws
    {
        let seed = ProcessInfo.processInfo.environment["EXIST_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let first = try #require(LocalDate("2024-05-20")).daysSinceEpoch
        var judge = ExistJudge(weighIns: [.init(time: ExistTests.time(first - 29, "06:00:00"), tenths: [800])])
        let journey = try await ExistJourney(
            at: "2024-05-20T20:45:00Z", rate: 600,
            plugins: ExistTests.scale
                + ExistTests.plugins(
                    [("exist", "me")],
                    more: "interval = \"10min\"\ngather = \"1min\"\ncarried = \"all\"\ndays = 40\n"
                        + "calls_per_hour = \(Self.perHour)"),
            memory: judge.weighIns, faults: Self.faults, switches: Self.switches)
        var server = try await journey.startServer(seed: random.next())
        var hub = try await journey.startHub()
        /// The times at which a person logged in, in seconds of the clock.
        var logIns: [ClosedRange<Double>] = []
        var isOurs = true
        /// The times at which one end of a call was killed, in seconds of the clock.
        var cuts: [Double] = []

        func seconds() -> Double { Double(journey.clock.now()) / 1e6 }
        func logIn() async throws {
            let begin = seconds()
            try await journey.logInUntilDone("exist", as: "mira")
            logIns.append(begin...seconds())
        }
        /// Acts as a person who looks at `hub status` now and then.
        func care() async throws {
            if journey.needsLogIn("exist") { try await logIn() }
            if !isOurs { isOurs = try await journey.host.command("do", "exist", "acquire").status == 0 }
        }
        try await logIn()

        for round in 0..<Self.kills {
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let day = first - Int.random(in: 0...28, using: &random)
                // At most three a day, so that a mean is never between two equally near neighbours.
                guard judge.weighIns.count(where: { $0.day == day }) < 3 else { continue }
                let weighIn = ExistJudge.WeighIn(
                    time: ExistTests.time(
                        day, "0\(7 + judge.weighIns.count % 3):\(10 + judge.weighIns.count / 3 % 50):00"),
                    tenths: [Int.random(in: 700...900, using: &random)])
                judge.weighIns.append(weighIn)
                try journey.scale?.step(on: weighIn)
            }
            try await changeOne(&judge, journey, &random)
            // Twice another service takes the attribute: the second time too soon for the plugin to take it back unasked.
            if round == 3 || round == 6 {
                _ = try journey.ask("POST", "/control/steal", #"{"user":"mira","attribute":"weight","to":"withings"}"#)
                if round == 6 { isOurs = false }
            }
            try await Task.sleep(for: .milliseconds(Int.random(in: 0...900, using: &random)))
            switch round < 4 ? round : Int.random(in: 0...3, using: &random) {
            case 0:
                // The hub's plugins end with it, and do not receive the answers under way.
                cuts.append(seconds())
                await hub.killAndWait()
                hub = try await journey.startHub()
            case 1:
                cuts.append(seconds())
                await server.killAndWait()
                server = try await journey.startServer(seed: random.next())
            case 2: cuts += try await journey.killPlugin("exist").map { [$0] } ?? []
            default: _ = try await journey.killPlugin("gap-filler")
            }
            if round % 3 == 2 { try await care() }
        }

        let played = judge
        let wrong = try await ExistJourney.untilRight(within: .seconds(60)) {
            try await care()
            let today = try journey.today()
            return played.faults(held: try journey.held(), days: first - 29...today, open: today)
        }
        if !wrong.isEmpty { journey.host.folder.keep() }
        #expect(wrong == [], "seed \(seed), \(journey.host.folder.path) is kept")
        let open = try await ExistJourney.untilRight {
            try await care()
            return try ["gap-filler", "exist"].flatMap { try journey.open($0) }
        }
        #expect(open == [], "seed \(seed)")
        #expect(try played.faults(stored: journey.weighIns().map { ($0.time, $0.tenths) }) == [], "seed \(seed)")
        #expect(try ExistJudge.faults(ledger: journey.ledger(), of: "exist", user: "mira") == [], "seed \(seed)")

        let (calls, leeway) = (try journey.diary(), journey.leeway)
        #expect(try played.faults(sent: calls, to: "mira", through: journey.today()) == [], "seed \(seed)")
        let limits = ExistJudge.faults(
            limits: calls, of: "mira", perHour: Self.perHour, leeway: leeway,
            wasCutOff: { call in
                cuts.contains { (call.seconds - leeway...call.seconds + Self.writing + leeway).contains($0) }
            }
        ) { call in
            call.path.hasSuffix("/profile/")
                && logIns.contains { ($0.lowerBound - leeway...$0.upperBound + leeway).contains(call.seconds) }
        }
        #expect(limits == [], "seed \(seed)")
        #expect(calls.contains { $0.fault != nil } && calls.contains { $0.status == 200 })
        #expect(await journey.end(hub) == 0, "seed \(seed)")
        server.signal(SIGTERM)
    }

    /// Corrects or deletes a weigh-in by hand, unless the hub does not have it yet.
    private func changeOne(
        _ judge: inout ExistJudge, _ journey: ExistJourney, _ random: inout SeededGenerator
    ) async throws {
        let place = Int.random(in: judge.weighIns.indices, using: &random)
        let isDeletion = Bool.random(using: &random)
        let tenths = Int.random(in: 700...900, using: &random)
        // The first weigh-in stays, so that every day has a value: a value of Exist cannot be deleted.
        guard place > 0, !judge.weighIns[place].isDeleted,
            let there = try? journey.weighIns().first(where: { $0.time == judge.weighIns[place].time })
        else { return }
        let number = "\(there.number)"
        let words =
            isDeletion
            ? ["retract", number, "--yes"] : ["edit", number, "\(tenths / 10).\(tenths % 10)", "kg", "--yes"]
        let said = try await journey.host.command(words)
        guard said.status == 0 else { throw ExistJourney.Trouble(lines: said.errors) }
        if isDeletion { judge.weighIns[place].isDeleted = true } else { judge.weighIns[place].tenths.append(tenths) }
    }
}
