import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing
import ZeroMQ

@testable import HubCommand

/// The `hub` program against a hub in another process.
@Suite struct ProgramTests {
    private static let weights = (1...5).map { day in
        #"{"type":"weight","value":7\#(day).3,"unit":"kg","start":"2026-03-0\#(day)T07:30:05+01:00","key":"2026030\#(day)"}"#
    }

    @Test func `every command shows records that a person entered, corrected and assigned`() async throws {
        let hub = try await TestHub("[person.me]\nzone = \"Europe/Berlin\"\n")
        let logged = try await hub.succeed(["log", "weight", "12st", "8lb", "--at", "2026-03-01T07:30:00+01:00"])
        #expect(logged.output.contains("me      weight  79.8 kg  hand         1\n"))
        let odd = try await hub.expect(["log", "weight", "240kg", "--at", "2026-03-02T07:30:00+01:00"], .usage)
        #expect(odd.errors.hasPrefix("hub: the last weight was 79.8 kg, this is 240.0 kg\n"))
        let edited = try await hub.run(["edit", "1", "80.2kg", "--reason", "misread"])
        #expect(edited.output == "1 edited: 79.8 kg → 80.2 kg\n")
        #expect(try await hub.run(["edit", "1", "80.2kg"]).output == "1 is so already\n")
        #expect(try await hub.run(["assign", "1", "--to", "you"]).code == HubExit.unhealthy.rawValue)
        try await hub.expect(["assign", "1", "--to", "guest"], errors: "--guest assigns a guest's record")
        let given = try await hub.run(["assign", "1", "--nobody"])
        #expect(given.output == "1 is now in the inbox: weight 80.2 kg, 2026-03-01 07:30:00 +01:00\n")
        let inbox = try await hub.run(["inbox"])
        #expect(inbox.output.contains("weight 80.2 kg  put back into the inbox by hand  hub assign 1 --to NAME"))
        #expect(try await hub.run(["assign", "--inbox", "--to", "me", "--yes"]).code == 0)
        #expect(
            try await hub.run(["edit", "1", "--undo"]).output.hasPrefix("1 is as its source says: 80.2 kg → 79.8 kg"))
        #expect(try await hub.run(["retract", "1", "--yes"]).code == 0)
        #expect(try await hub.run(["edit", "1", "80kg"]).code == HubExit.unhealthy.rawValue)
        #expect(try await hub.run(["retract", "1", "--undo"]).output == "1 is back\n")
        let trace = try await hub.run(["trace", "1"])
        for deed in ["logged by hand", "edited by hand: misread", "edit undone by hand", "brought back by hand"] {
            #expect(trace.output.contains(deed), "\(trace.output)")
        }
    }

    @Test func `a meal and a swim are entered in one line, told as groups, and taken back in another`() async throws {
        let hub = try await TestHub("[person.me]\nzone = \"Europe/Berlin\"\n")
        func numbers() async throws -> [String] {
            try await hub.run(["samples", "--json"]).output.split(separator: "\n").map(String.init)
        }
        let snack = try await hub.succeed(["log", "food", "Ham Sandwich", "300J", "--at", "2026-03-01T12:30:00+01:00"])
        #expect(snack.output.contains("dietaryEnergyConsumed  0.072 kcal (Ham Sandwich)  hand         1\n"))
        #expect(snack.errors == "hub retract 1 takes it back\n")
        let meal = try await hub.succeed([
            "log", "food", "Ham Sandwich", "350kcal", "--protein", "12g", "--at", "2026-03-01T12:31:00+01:00",
        ])
        #expect(meal.errors == "hub retract 2 takes all 3 of them back\n")
        #expect(meal.output.contains(#/food +Ham Sandwich +hand +2\n/#), "\(meal.output)")
        let swim = try await hub.run([
            "log", "swim", "30min", "--energy", "300kcal", "--distance", "1km", "--at", "2026-03-01T07:00:00+01:00",
        ])
        #expect(
            swim.output.contains(/2026-03-01 07:00:00–07:30:00 \+01:00 +me +workout +Swimming +hand +5\n/),
            "\(swim.output)")
        let records = try await numbers()
        #expect(records.count == 7)
        // Energy and distance are separate records, but the list shows them with the workout.
        try await hub.expect(["samples", "workout"], output: "Swimming (30 min, 300 kcal, 1,000 m)")
        try await hub.expect(["trace", "5"], output: "\nactive     30 min\nenergy     300 kcal\ndistance   1,000 m\n")
        let food = try await hub.run(["trace", "1"])
        #expect(!food.output.contains("\nactive "), "\(food.output)")
        #expect(records.filter { $0.contains(#""foodType":"Ham Sandwich""#) }.count == 4)
        // An entry with the same food needs a confirmation, one with another food does not.
        func same(_ name: String) async throws -> ChildProcess.Result {
            try await hub.run(["log", "food", name, "350kcal", "--at", "2026-03-01T12:32:00+01:00", "--dry-run"])
        }
        #expect(try await same("Ham Sandwich").errors.hasPrefix("hub: record 3 says the same"))
        #expect(try await same("Cheese Sandwich").errors == "nothing was stored\n")
        let paused = try await hub.run([
            "log", "run", "25min", "--from", "2026-03-01T08:00:00+01:00", "--to", "2026-03-01T08:30:00+01:00", "--json",
        ])
        #expect(paused.output.contains(#""workout":{"duration":1500}"#), "\(paused.output)")
        try await hub.succeed(["log", "run", "5km", "30min", "--dry-run", "--json"], output: "distanceWalkingRunning")
        try await hub.expect(["log", "run", "1h", "30m"], .usage, errors: "expected how long")
        // The number of one record retracts the whole group, and brings it back.
        #expect(try await hub.run(["retract", "5", "--yes"]).output == "5 retracted\n6 retracted\n7 retracted\n")
        #expect(try await numbers().count == 5)
        #expect(try await hub.run(["retract", "--undo", "5"]).output == "5 is back\n6 is back\n7 is back\n")
        let pressure = try await hub.run(["log", "bloodPressure", "120/80", "--at", "2026-03-02T07:30:00+01:00"])
        let line = try #require(
            pressure.errors.wholeMatch(of: /hub retract (\d+) takes all 3 of them back\n/), "\(pressure)")
        let better = try await hub.run(["edit", "\(line.1)", "118/79"])
        #expect(better.output.contains(" edited: 118 mmHg") && better.output.contains(" edited: 79 mmHg"), "\(better)")
        #expect(try await hub.run(["retract", "\(line.1)", "--yes"]).code == 0)
        for wrong in [["log", "height", "tall"], ["log", "weight", "70x"], ["log", "swim", "soon"]] {
            let refused = try await hub.run(wrong)
            #expect(refused.code == HubExit.usage.rawValue && refused.errors.hasPrefix("hub: "), "\(refused.errors)")
        }
        try await hub.expect(["log", "insulinDelivery", "4IU"], errors: "metadata.insulinDeliveryReason: missing")
        try await hub.succeed(["log", "insulinDelivery", "4IU", "--metadata", "insulinDeliveryReason=bolus"])
        #expect(try await numbers().count == 9)
    }

    @Test func `what a filter finds is shown, taken back when a person says so, and brought back by the same filter`()
        async throws
    {
        let hub = try await TestHub()
        try hub.give(Self.weights)
        for value in ["120/80", "118/79"] {
            let at = value == "120/80" ? "2026-03-02T08:00:00Z" : "2026-03-04T08:00:00Z"
            #expect(try await hub.run(["log", "bloodPressure", value, "--at", at]).code == 0)
        }
        func standing() async throws -> Int {
            try await hub.run(["samples", "--json"]).output.split(separator: "\n").count
        }
        #expect(try await standing() == 11)
        let filter = [
            "retract", "--type", "weight", "--type", "bloodPressure", "--from", "2026-03-02", "--to", "2026-03-03",
        ]
        let dry = try await hub.run(filter + ["--dry-run"])
        #expect(dry.output.contains("72.3 kg") && dry.output.contains("2 would be retracted"), "\(dry.output)")
        #expect(!dry.output.contains("71.3 kg"))
        #expect(try await hub.run(filter).code == HubExit.usage.rawValue, "without a terminal it needs --yes")
        #expect(try await standing() == 11)
        let done = try await hub.run(filter + ["--yes"])
        // Two weights, and a blood pressure with its members, whose types the filter does not name.
        #expect(done.output.split(separator: "\n").count == 5, "\(done.output)")
        #expect(
            done.errors.contains("72.3 kg") && !done.errors.contains("71.3 kg"),
            "with --yes, the retracted values are listed and no others")
        #expect(done.errors.hasSuffix("\nthe same with --undo brings them back\n"))
        #expect(try await standing() == 6)
        #expect(try await hub.run(filter + ["--yes"]).errors.contains("there is no such record"))
        try await hub.succeed(filter + ["--undo", "--yes"])
        #expect(try await standing() == 11)
        let json = try await hub.run(["retract", "--source", "hand", "--yes", "--json"])
        #expect(json.output.hasPrefix(#"{"dryRun":false,"records":[{"number":"#), "\(json.output)")
        #expect(json.output.ranges(of: #""outcome":"stored""#).count == 6, "\(json.output)")
        #expect(try await standing() == 5)
        for wrong in [["retract"], ["retract", "1", "--type", "weight"]] {
            #expect(try await hub.run(wrong).code == HubExit.usage.rawValue)
        }
    }

    @Test
    func `status counts implausible values, inbox explains them, and a person's confirmation clears them`()
        async throws
    {
        let hub = try await TestHub()
        try hub.give([
            #"{"type":"weight","value":450,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"a"}"#,
            #"{"type":"weight","value":80,"unit":"kg","start":"2099-03-01T07:30:05+01:00","key":"b"}"#,
        ])
        #expect(try await hub.run(["status"]).output.contains("2 implausible (hub inbox)"))
        let inbox = try await hub.run(["inbox"]).output
        for cell in [
            "weight 450.0 kg  the value is above 400.0 kg", "hub edit 1 VALUE",
            "it starts after its arrival, by the hub's clock", "hub edit 2 --at TIME",
        ] { #expect(inbox.contains(cell), "\(inbox)") }
        let lines = try await hub.run(["inbox", "--json"]).output.split(separator: "\n")
        #expect(lines.count == 2 && lines[0].contains(#""why":"the value is above 400.0 kg""#), "\(lines)")
        #expect(try await hub.run(["samples", "weight"]).output.contains("450.0 kg (implausible)"))
        #expect(try await hub.run(["trace", "1"]).output.contains("450.0 kg (implausible)"))
        let right = try await hub.run(["edit", "1", "80kg", "--dry-run"])
        #expect(right.code == 0 && !right.errors.contains("the last weight was"), "\(right)")
        let edited = try await hub.run(["edit", "1", "450kg", "--yes"])
        #expect(edited.output == "1 edited: 450.0 kg (implausible) → 450.0 kg\n", "\(edited)")
        #expect(try await hub.run(["retract", "2", "--yes"]).code == 0)
        #expect(try await hub.run(["inbox"]).output.isEmpty)
        #expect(try await hub.run(["status"]).output.contains("implausible") == false)
    }

    @Test func `status, samples, tap, trace and retract agree with each other`() async throws {
        let hub = try await TestHub("[person.me]\nzone = \"Europe/Berlin\"\n")
        let listener = try hub.start(["tap", "sample/weight/", "--count", "5", "--json", "--since", "0"])
        try hub.give(ProgramTests.weights)
        let live = await listener.result()
        #expect(live.code == 0)

        let listed = try await hub.succeed(["samples", "weight", "--json"])
        #expect(listed.output == live.output)
        #expect(listed.output.split(separator: "\n").count == 5)
        #expect(listed.output.hasPrefix(#"{"kind":"quantity","type":"weight","value":71.3,"unit":"kg","#))

        let table = try await hub.run(["samples", "bodyMass", "--last", "2", "--to", "2026-03-04"])
        #expect(
            table.output == """
                TIME                        PERSON  TYPE    VALUE    SOURCE    NUMBER
                2026-03-03 07:30:05 +01:00  me      weight  73.3 kg  test-pub       3
                2026-03-04 07:30:05 +01:00  me      weight  74.3 kg  test-pub       4

                """)

        let status = try await hub.succeed(["status", "--json"])
        let report = try JSON.decode(HubStatus.self, from: status.output.utf8)
        #expect(report.records == 5)
        #expect(report.endpoints.door == hub.endpoints.door)
        #expect(report.endpoints.feed == hub.endpoints.feed)
        #expect(status.output.contains(#""plugins":[]"#))

        let look = try await hub.run(["retract", "3", "--dry-run"])
        #expect(look.output.hasSuffix("3 would be retracted\n"))
        let unasked = try await hub.expect(["retract", "3"], .usage)
        #expect(
            unasked.errors.hasSuffix("hub: there is no terminal to ask at; say --yes, or look first with --dry-run\n"))
        let unknown = try await hub.expect(["retract", "3", "99", "--yes"], .unhealthy)
        #expect(unknown.errors == "hub: no record has the number 99; nothing was changed\n")
        #expect(try await hub.run(["samples", "weight", "--json"]).output == listed.output)

        let retracted = try await hub.succeed(["retract", "3", "3", "--reason", "the dog", "--yes"])
        #expect(retracted.output == "3 retracted\n")
        #expect(try await hub.run(["samples", "weight", "--json"]).output.split(separator: "\n").count == 4)

        let trace = try await hub.expect(["trace", "3"], output: "state      retracted by a person: the dog\n")
        #expect(trace.output.contains("73.3 kg  "))
        let missing = try await hub.expect(["trace", "99"], .unhealthy)
        #expect(missing.errors == "hub: there is no record 99; numbers go up to 6\n")
        #expect(missing.output == "")
        #expect(try await hub.stop() == 0)
    }

    @Test(arguments: [("y", Int32(0)), ("n", 1), ("", 1)])
    func `retract asks for confirmation, and only yes confirms`(_ answer: String, _ code: Int32)
        async throws
    {
        let hub = try await TestHub()
        try hub.give(Array(ProgramTests.weights[..<1]))
        let terminal = try TestTerminal()
        terminal.type(answer + "\n")
        let asked = try ChildProcess("hub", ["retract", "1", "--config", hub.configuration], terminal: terminal.end)
        #expect(await asked.result().code == code)
        let left = try await hub.run(["samples", "--json"]).output
        #expect(left.isEmpty == (code == 0))
    }

    @Test func `a reader that closes the pipe ends the listing without an error message`() async throws {
        let hub = try await TestHub()
        try hub.give(ProgramTests.weights)
        let head = try await ChildProcess(
            "/bin/sh",
            ["-c", #""$0" samples weight --json --config "$1" | head -n 1"#, Programs.path("hub"), hub.configuration]
        ).result()
        #expect(head.output.split(separator: "\n").count == 1)
        #expect(head.errors == "")
    }

    @Test func `tap waits for a hub that is away and then continues`() async throws {
        let hub = try await TestHub()
        let listener = try hub.start(["tap", "sample/", "--count", "5", "--since", "0"])
        try hub.give(Array(ProgramTests.weights[..<2]))
        try await listener.line { $0.contains("#2") }
        #expect(try await hub.stop() == 0)
        try await listener.line { $0.contains("no hub at \(hub.endpoints.feed); waiting for it") }
        try await hub.restart()
        try hub.give(Array(ProgramTests.weights[2...]))
        let result = await listener.result()
        #expect(result.code == 0)
        #expect(
            result.output.split(separator: "\n").map { $0.split(separator: "#").last } == ["1", "2", "3", "4", "5"])
        #expect(result.errors.contains("the hub is there"))
    }

    @Test func `an impossible argument is refused: an unknown person, an empty path, a weight of zero`()
        async throws
    {
        let hub = try await TestHub()
        let samples = try await hub.expect(["samples", "--person", "\u{1B}[31mnosuch"], .usage)
        #expect(samples.errors.contains(#"the hub says: --person: no person "\u001b[31mnosuch" here; there are: me"#))
        #expect(try await hub.run(["backup", ""]).code == 64)
        for (weight, expected) in [("0kg", "below 0.1 kg, which is impossible"), ("501kg", "an implausible weight")] {
            #expect(try await hub.run(["log", "weight", weight]).code != 0)
            #expect(try await hub.run(["log", "weight", weight, "--dry-run"]).errors.contains(expected))
        }
    }

    @Test func `an error repeats typed words without control characters and abbreviated`() async throws {
        for arguments in [["bogus\u{1B}[31m"], ["samples", "--\u{1B}[31m"], ["samples", "\u{9B}31m"]] {
            let answer = try await Programs.hub(arguments)
            #expect(answer.code == 64)
            #expect(!answer.errors.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
        }
        let long = try await Programs.hub([String(repeating: "x", count: 10_000)])
        #expect(long.code == 64 && long.errors.utf8.count < 200)
    }

    @Test func `a second hub with the same folder exits and reports the first`() async throws {
        let hub = try await TestHub()
        let second = try await hub.expect(["run"], .tryAgain)
        #expect(second.errors == "hub: a hub runs already at \(hub.endpoints.door); see hub status\n")
    }

    @Test func `the run directory's lock is not taken through a symbolic link`() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path + "/run", withIntermediateDirectories: false)
        try files.createSymbolicLink(atPath: folder.path + "/run/lock", withDestinationPath: folder.path + "/mine")
        let refused = try await Programs.hub(["run", "--config", folder.configuration])
        #expect(refused.code != 0)
        #expect(refused.errors.contains("\(folder.path)/run/lock: it is a symbolic link"), "\(refused.errors)")
        #expect(!files.fileExists(atPath: folder.path + "/mine"))
    }

    @Test func `a hub started with --until-eof stops in order when its stdin ends`() async throws {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        let input = Pipe()
        let hub = try ChildProcess(
            "hub", ["run", "--until-eof", "--config", folder.configuration], input: input.fileHandleForReading)
        try await hub.line { $0.hasPrefix("hub: ready: ") }
        try input.fileHandleForWriting.close()
        #expect(await hub.result().code == 0)
    }

    @Test func `without a hub, status --env prints the addresses, and other commands report that no hub answers`()
        async throws
    {
        let folder = try TemporaryFolder()
        try folder.writeSettings()
        let environment = try await Programs.hub(["status", "--env", "--config", folder.configuration])
        #expect(environment.code == 0)
        #expect(
            environment.output
                == "export HUB_DOOR=ipc://\(folder.path)/run/door\nexport HUB_FEED=ipc://\(folder.path)/run/feed\n")
        for command in [["status"], ["plugins"], ["samples"], ["trace", "1"], ["retract", "1", "--yes"]] {
            let result = try await Programs.hub(command + ["--config", folder.configuration])
            #expect(result.code == HubExit.noHub.rawValue)
            #expect(result.output == "")
            #expect(
                result.errors
                    == "hub: no hub answers at ipc://\(folder.path)/run/door: is it running? Start it with hub run\n")
        }
    }

    @Test func `check lists all errors in hub.conf, and run does not start with any`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("[hub]\nlog_level = \"loud\"\n[person.me]\nheigth = 180\n")
        let check = try await Programs.hub(["check", "--config", folder.configuration])
        #expect(check.code == HubExit.badConfiguration.rawValue)
        #expect(check.output.split(separator: "\n").count == 3)
        #expect(
            check.output.contains("\(folder.configuration):4: [person.me] heigth: unknown key; did you mean height?\n"))
        let json = try await Programs.hub(["check", "--json", "--config", folder.configuration])
        #expect(json.code == HubExit.badConfiguration.rawValue)
        #expect(json.output.hasPrefix(#"{"errors":2,"#))
        let run = try await Programs.hub(["run", "--config", folder.configuration])
        #expect(run.code == HubExit.badConfiguration.rawValue)
        #expect(run.errors.hasSuffix("hub: \(folder.configuration) cannot be used; nothing was started\n"))
        let missing = try await Programs.hub(["check", "--config", "/nonexistent/hub.conf"])
        #expect(missing.code == HubExit.noConfiguration.rawValue)
        #expect(missing.errors == "hub: --config /nonexistent/hub.conf: there is no such file; hub setup writes one\n")
    }
}
