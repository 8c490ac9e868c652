import HubWire
import PluginKit
import PluginTesting
import Samples
import Testing
import WebFaults

@testable import Exist

/// Scenarios for every exporter, with a simulated Exist on a socket.
@Suite(.timeLimit(.minutes(2))) struct ScenarioTests {
    @Test func `the first run takes the attribute, sends thirty days in one call, and answers each`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        let known = try await scene.calls().count
        let results = try await scene.deliver(try ExistScene.days(30))
        #expect(results.areDelivered && results.count == 30)
        #expect(results.last == .delivered(receipt: "mira/weight/2024-05-20"))
        #expect(try await scene.calls(after: known) == ["accounts/profile", "acquire 1", "update 30"])
        let values = try await scene.values()
        #expect(values.count == 30 && values["2024-05-20"] == "80.29" && values["2024-04-21"] == "80")
        await scene.end(run)
    }

    @Test func `no calls are made within the interval, and a redelivered day is not sent again`() async throws {
        let scene = try await ExistScene(["interval": .string("1h")])
        let run = try await scene.loggedIn()
        let stored = await scene.hub.hold(days: try ExistScene.days(3))
        #expect(try await scene.redeliver(stored).areDelivered)
        let known = try await scene.calls().count
        #expect(try await scene.redeliver(stored).areDelivered, "a repeat is harmless")
        let wait = try #require(try await scene.deliver([try ExistScene.day("2024-05-20", 81)]).wait)
        #expect(wait > 3_500_000 && wait <= 3_600_001)
        #expect(try await scene.calls().count == known)
        await scene.end(run)
    }

    @Test func `R11.9 a missing log-in is reported at once, before any day waits`() async throws {
        let scene = try await ExistScene()
        let run = scene.start()
        await scene.hub.wait { $0.tokenFailures.contains { $0.kind == .auth } }
        #expect(try await scene.calls() == [])
        await scene.end(run)
    }

    @Test func `R10.16 after a sync the hub redelivers confirmed days, which are answered without a call`() async throws
    {
        let scene = try await ExistScene(["interval": .string("1h")])
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver(try ExistScene.days(3)).areDelivered)
        let stored = await scene.hub.hold(days: [try ExistScene.day("2024-05-20", 81)])
        #expect(try await scene.redeliver(stored).wait ?? 0 > 3_000_000)
        let times = 2  // At the start, and after the log-in.
        let report = try await scene.done("sync")
        #expect(report.text.contains(#""confirmed":2"#) && report.text.contains(#""sent":2"#), "\(report.text)")
        await scene.hub.wants("days", times: times + 1)
        let known = try await scene.calls().count
        #expect(try await scene.redeliver(stored) == [.delivered(receipt: "mira/weight/2024-05-20")])
        #expect(try await scene.calls().count == known)
        await scene.end(run)
    }

    @Test func `a sync reports how many values Exist confirmed, not how many were sent`() async throws {
        let scene = try await ExistScene(["reacquire": .string("never")])
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80)]).areDelivered)
        try await scene.control("steal", #"{"user":"mira","attribute":"weight","to":"withings"}"#)
        await scene.hub.hold(days: [try ExistScene.day("2024-05-20", 81)])
        let report = try await scene.done("sync")
        #expect(report.text.contains(#""confirmed":0"#) && report.text.contains(#""sent":1"#), "\(report.text)")
        #expect(report.text.contains(#""lost":{"weight":"#), "\(report.text)")
        let plan = try await scene.done("acquire", isDryRun: true)
        #expect(
            plan.text.contains(#""acquires":["weight"]"#),
            "a dry run of acquire shows the attributes it would take: \(plan.text)")
        #expect(try await scene.values() == ["2024-05-20": "80"])
        await scene.end(run)
    }

    @Test(arguments: ["sync", "acquire", "release"])
    func `with dry_run nothing is sent, even by a command`(_ command: String) async throws {
        let scene = try await ExistScene(["dry_run": .boolean(true)])
        let run = try await scene.loggedIn()
        await scene.hub.hold(days: try ExistScene.days(3))
        let known = try await scene.calls().count
        guard case .failed(let code, let reason) = await scene.hub.command(command) else {
            Issue.record("\(command) did something")
            return
        }
        #expect(code == "dry-run" && reason.contains("hub do exist plan"), "\(reason)")
        #expect(try await scene.calls().count == known)
        await scene.end(run)
    }

    @Test func `ninety values go out as 35, 35 and 20, in order of attribute and date`() async throws {
        let scene = try await ExistScene([
            "attributes": .list([.string("weight"), .string("body_fat"), .string("steps")])
        ])
        let run = try await scene.loggedIn()
        let known = try await scene.calls().count
        let records =
            try ExistScene.days(30) + ExistScene.days(30, type: .bodyFatPercentage, unit: "%", from: 0.2)
            + ExistScene.days(30, type: .stepCount, unit: "count", series: "sum", from: 7_200)
        #expect(try await scene.deliver(records).areDelivered)
        #expect(
            try await scene.calls(after: known) == [
                "accounts/profile", "acquire 3", "update 35", "update 35", "update 20",
            ])
        #expect(try await scene.values().count == 30)
        #expect(try await scene.values("body_fat").count == 30)
        #expect(try await scene.values("steps").values.allSatisfy { Int($0) != nil })
        await scene.end(run)
    }

    @Test func `a stolen attribute is taken back once, and only failed values are sent again`() async throws {
        let scene = try await ExistScene(["attributes": .list([.string("weight"), .string("body_fat")])])
        let run = try await scene.loggedIn()
        let fat = try ExistScene.days(3, type: .bodyFatPercentage, unit: "%", from: 0.2)
        #expect(try await scene.deliver(try ExistScene.days(3) + fat).areDelivered)
        try await scene.control("steal", #"{"user":"mira","attribute":"body_fat","to":"withings"}"#)
        let known = try await scene.calls().count
        let changed = try ExistScene.days(3, from: 90)
        let fatter = try ExistScene.days(3, type: .bodyFatPercentage, unit: "%", from: 0.3)
        #expect(try await scene.deliver(changed + fatter).areDelivered)
        #expect(try await scene.calls(after: known) == ["accounts/profile", "update 6", "acquire 1", "update 3"])
        #expect(try await scene.values("body_fat")["2024-05-20"] == "0.32")

        try await scene.control("steal", #"{"user":"mira","attribute":"body_fat","to":"withings"}"#)
        let again = try ExistScene.days(3, type: .bodyFatPercentage, unit: "%", from: 0.4)
        let before = try await scene.calls().count
        let results = try await scene.deliver(try ExistScene.days(3, from: 70) + again)
        #expect(results.prefix(3).map { $0 }.areDelivered)
        #expect(results.refusal?.contains("another service") == true && results.refusal?.contains("acquire") == true)
        #expect(try await scene.calls(after: before) == ["accounts/profile", "update 6"], "no ping-pong")
        #expect(await scene.hub.events.contains { $0.event == "ownership" && $0.severity == .warning })
        let quiet = try await scene.calls().count
        let more = try await scene.deliver([try ExistScene.day("2024-05-20", 0.5, type: .bodyFatPercentage, unit: "%")])
        #expect(more.refusal != nil)
        #expect(try await scene.calls().count == quiet)

        try await scene.done("acquire")
        #expect(try await scene.values("body_fat")["2024-05-20"] == "0.5")
        await scene.end(run)
    }

    @Test(arguments: [
        "cut-before@update*1", "cut-after@update*1", "cut-inside@update*1", "status=500@update*2", "html@update*1",
        "half@update*1", "no-failed*1", "lost-object@update*1", "title-for-name*1", "reordered*1",
        "status=503@profile*1",
        "cut-after@acquire*1", "half@acquire*1", "too-many@update*1", "too-many=120@profile*1", "html@owned",
        "cut-before@/oauth2/access_token*1",
    ])
    func `after any fault on the way, Exist has the values and each day is delivered`(
        _ fault: String
    ) async throws {
        let scene = try await ExistScene(rate: 3_600)
        let run = try await scene.loggedIn()
        try await scene.control("faults", #"["\#(fault)"]"#, method: "PUT")
        let results = try await scene.settle(try ExistScene.days(30))
        #expect(results.areDelivered)
        #expect(try await scene.values().count == 30)
        #expect(try await scene.values()["2024-05-20"] == "80.29")
        await scene.end(run)
    }

    @Test func `after 429 no calls are made until its time is over, even by a new process`() async throws {
        let scene = try await ExistScene()
        var run = try await scene.loggedIn()
        try await scene.control("faults", #"["too-many=600@update*1"]"#, method: "PUT")
        let stored = await scene.hub.hold(days: try ExistScene.days(30))
        let wait = try #require(try await scene.redeliver(stored).wait)
        #expect(wait > 500_000 && wait <= 600_001)
        let known = try await scene.calls().count
        for time in ["12:05:00", "12:09:00"] {
            #expect(try await scene.redeliver(stored).wait != nil)
            await scene.end(run)
            try await scene.set(clock: "2024-05-20T\(time)Z")
            run = try await scene.startAgain()
        }
        #expect(try await scene.redeliver(stored).wait != nil)
        #expect(try await scene.calls().count == known)
        await scene.end(run)
        try await scene.set(clock: "2024-05-20T12:11:00Z")
        run = try await scene.startAgain()
        #expect(try await scene.redeliver(stored).areDelivered)
        await scene.end(run)
    }

    @Test func `after 429 to a log-in no calls are made until its time is over`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        try await scene.control("faults", #"["too-many=600@profile*1"]"#, method: "PUT")
        guard case .failed("service", let reason) = try await scene.logIn() else {
            Issue.record("the log-in was not told of 429")
            return
        }
        #expect(reason.contains("429"), "\(reason)")
        let known = try await scene.calls().count
        let results = try await scene.deliver([try ExistScene.day("2024-05-20", 80)])
        let wait = try #require(results.wait)
        #expect(wait > 500_000 && wait <= 600_001)
        #expect(try await scene.calls().count == known)
        await scene.end(run)
    }

    @Test func `the exporter makes no more calls in an hour than the setting allows`() async throws {
        let scene = try await ExistScene(["calls_per_hour": .integer(6)], switches: ["rate_limit": "6"], rate: 3_600)
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80)]).areDelivered)
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 81)]).areDelivered)
        let stored = await scene.hub.hold(days: [try ExistScene.day("2024-05-20", 82)])
        let wait = try #require(try await scene.redeliver(stored).wait)
        #expect(wait > 1_000)
        #expect(try await scene.settle([try ExistScene.day("2024-05-20", 82)]).areDelivered)
        #expect(try await scene.values()["2024-05-20"] == "82")
        let diary = try await scene.send("GET", url: "\(scene.base)/control/calls").json?.list ?? []
        #expect(!diary.contains { $0["status"]?.integer == 429 })
        await scene.end(run)
    }

    @Test func `an expired token is renewed once and saved with the hub before it is used`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80)]).areDelivered)
        try await scene.control("expire", #"{"user":"mira"}"#)
        let known = try await scene.calls().count
        let versions = await scene.hub.tokens["me"]?.version
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 81)]).areDelivered)
        #expect(
            try await scene.calls(after: known) == [
                "accounts/profile", "/oauth2/access_token", "accounts/profile", "update 1",
            ])
        #expect(await scene.hub.tokens["me"]?.version == versions.map { $0 + 1 })
        await scene.end(run)
    }

    @Test func `a person must log in again if the answer to a refresh is lost, and retries end`() async throws {
        let scene = try await ExistScene(rate: 3_600)
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80)]).areDelivered)
        try await scene.control("expire", #"{"user":"mira"}"#)
        try await scene.control("faults", #"["cut-after@/oauth2/access_token*1"]"#, method: "PUT")
        let results = try await scene.settle([try ExistScene.day("2024-05-20", 81)])
        #expect(results.refusal?.contains("hub login") == true, "\(results)")
        let known = try await scene.calls().count
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 82)]).refusal != nil)
        // One call with the current token, and one attempt to renew it; a real hub delivers no more until there is a log-in.
        #expect(try await scene.calls().count <= known + 2)
        #expect(try await scene.logIn().isDone)
        #expect(try await scene.settle([try ExistScene.day("2024-05-20", 83)]).areDelivered)
        #expect(try await scene.values()["2024-05-20"] == "83")
        await scene.end(run)
    }

    @Test func `today follows the user's zone, and a change of zone rewrites no days`() async throws {
        let scene = try await ExistScene(at: "2024-05-20T12:30:00Z", zone: "Pacific/Auckland")
        let run = try await scene.loggedIn()
        let ahead = [try ExistScene.day("2024-05-20", 80), try ExistScene.day("2024-05-21", 81)]
        #expect(try await scene.deliver(ahead).areDelivered, "it is the 21st there already")
        let later = try await scene.deliver([try ExistScene.day("2024-05-22", 82)])
        let wait = try #require(later.wait)
        #expect(wait > 22 * 3_600_000 && wait <= 24 * 3_600_000, "until midnight in Auckland")
        try await scene.control("zone", #"{"user":"mira","zone":"Europe/Berlin"}"#)
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80.5)]).areDelivered)
        #expect(try await scene.values() == ["2024-05-20": "80.5", "2024-05-21": "81"])
        #expect(try await scene.bodies().count == 2)
        await scene.end(run)
    }

    @Test func `a new day waits while Exist's clock is behind`() async throws {
        let scene = try await ExistScene(at: "2024-05-20T22:00:30Z")
        let run = try await scene.loggedIn()
        try await scene.control("clock", #""2024-05-20T21:58:00Z@1""#, method: "PUT")
        let stored = await scene.hub.hold(days: [
            try ExistScene.day("2024-05-20", 80), try ExistScene.day("2024-05-21", 81),
        ])
        let results = try await scene.redeliver(stored)
        #expect([results[0]].areDelivered && results[1...].allSatisfy { [$0].wait == 60_000 }, "\(results)")
        try await scene.control("clock", #""2024-05-20T22:02:00Z@1""#, method: "PUT")
        #expect(try await scene.redeliver(stored).areDelivered)
        #expect(try await scene.values() == ["2024-05-20": "80", "2024-05-21": "81"])
        await scene.end(run)
    }

    @Test func `whole numbers are written without decimals, and decimals as short as possible`() async throws {
        let scene = try await ExistScene([
            "attributes": .list([
                .string("weight"), .string("steps"), .string("active_energy"), .string("steps_distance"),
            ])
        ])
        let run = try await scene.loggedIn()
        let date = "2024-05-20"
        #expect(
            try await scene.deliver([
                try ExistScene.day(date, 80.56666666666666),
                try ExistScene.day(date, 7_200, type: .stepCount, unit: "count", series: "sum"),
                try ExistScene.day(date, 500, type: .activeEnergyBurned, unit: "kcal", series: "sum"),
                try ExistScene.day(date, 5_432, type: .distanceWalkingRunning, unit: "m", series: "sum"),
            ]).areDelivered)
        let body = try #require(try await scene.bodies().first)
        for text in [#""value":80.57}"#, #""value":7200}"#, #""value":2092}"#, #""value":5.432}"#] {
            #expect(body.contains(text), "\(body)")
        }
        await scene.end(run)
    }

    @Test func `a retracted day stays at Exist, is reported once, and can be overwritten by hand`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-18", 79)]).areDelivered)
        let known = try await scene.calls().count
        let results = try await scene.deliver([try ExistScene.retraction("2024-05-18")])
        #expect(results == [.delivered(receipt: "mira/weight/2024-05-18: orphaned, Exist keeps its value")])
        #expect(try await scene.deliver([try ExistScene.retraction("2024-05-01")]).areDelivered, "it had none")
        #expect(try await scene.calls().count == known)
        #expect(await scene.hub.events.count { $0.event == "orphaned" } == 1)
        // The next run reports a day that was retracted before the hub delivered the retraction.
        #expect(try await scene.deliver([try ExistScene.day("2024-05-12", 78)]).areDelivered)
        await scene.hub.hold(days: [try ExistScene.retraction("2024-05-12")])
        try await scene.done("sync")
        #expect(await scene.hub.events.count { $0.event == "orphaned" } == 2)
        let plan = try await scene.done("plan")
        #expect(plan.text.contains(#""orphaned":["weight 2024-05-12","weight 2024-05-18"]"#))
        let order = RawJSON(trusted: Array(#"{"attribute":"weight","date":"2024-05-18","value":78.5}"#.utf8))
        try await scene.done("overwrite", order)
        #expect(try await scene.values() == ["2024-05-12": "78", "2024-05-18": "78.5"])
        #expect(try await scene.deliver([try ExistScene.day("2024-05-18", 80)]).areDelivered)
        #expect(try await scene.values() == ["2024-05-12": "78", "2024-05-18": "80"])
        guard case .failed = await scene.hub.command("overwrite", order) else {
            Issue.record("a value that the hub has was overwritten")
            return
        }
        await scene.end(run)
    }

    @Test func `a log-in to another account is refused, and another person's day is never sent`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 80)]).areDelivered)
        try await scene.control("switches", #"{"signed_in":"tane"}"#, method: "PUT")
        guard case .failed(let code, let reason) = try await scene.logIn() else {
            Issue.record("tane was logged in")
            return
        }
        #expect(code == "account" && reason.contains("mira") && reason.contains("forget"))
        let known = try await scene.calls().count
        let anna = Person(uid: "0000000000000001", name: "anna")
        let results = try await scene.deliver([try ExistScene.day("2024-05-20", 55)], of: anna)
        #expect(results.refusal?.contains("another person") == true)
        #expect(try await scene.calls().count == known)
        #expect(try await scene.values(of: "tane").isEmpty)

        _ = await scene.hub.command("forget")
        #expect(try await scene.logIn().isDone)
        #expect(try await scene.values()["2024-05-20"] == "80")
        await scene.end(run)
    }

    @Test func `with a token of another account nothing is written until a person repairs it`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-19", 80)]).areDelivered)
        let mine = await scene.hub.tokens["me"]?.json
        let pair = try await scene.send(
            "POST", url: "\(scene.base)/control/personal-token", json: #"{"user":"tane","client":"hub"}"#)
        let foreign = try #require(pair.json?["access_token"]?.text)
        await scene.hub.setToken(RawJSON(trusted: Array(#"{"access_token":"\#(foreign)"}"#.utf8)), of: "me")
        let known = try await scene.calls().count
        let day = [try ExistScene.day("2024-05-20", 81)]
        let results = try await scene.deliver(day)
        guard case .unauthorized(let reason)? = results.first else {
            Issue.record("\(results)")
            return
        }
        #expect(reason.contains("tane") && reason.contains("mira") && reason.contains("forget"))
        for command in ["sync", "verify", "release", "acquire"] {
            guard case .failed(_, let reason) = await scene.hub.command(command), reason.contains("tane") else {
                Issue.record("\(command) was done with another account's token")
                return
            }
        }
        #expect(try await scene.calls(after: known) == Array(repeating: "accounts/profile", count: 5))
        #expect(try await scene.values(of: "tane").isEmpty)
        await scene.hub.setToken(mine, of: "me")
        #expect(try await scene.deliver(day).areDelivered)
        #expect(try await scene.values() == ["2024-05-19": "80", "2024-05-20": "81"])
        await scene.end(run)
    }

    @Test func `a dry run shows values, calls and times, and sends only read requests`() async throws {
        let scene = try await ExistScene(["dry_run": .boolean(true)])
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver(try ExistScene.days(40)).wait != nil)
        for command in ["plan", "sync"] {
            let result = try await scene.done(command, isDryRun: true)
            let text = result.text
            #expect(
                text.contains(#""calls":1"#) && text.contains(#""account":"mira""#)
                    && text.contains(#""begins":"2024-"#))
            #expect(
                text.contains(#"{"attribute":"weight","changed":true,"date":"2024-05-20","value":"80.39"}"#), "\(text)")
            #expect(text.contains(#""acquires":["weight"]"#))
        }
        let diary = try await scene.send("GET", url: "\(scene.base)/control/calls").json?.list ?? []
        let posts = diary.filter { $0["method"]?.text == "POST" }
        #expect(posts.compactMap { $0["path"]?.text } == ["/oauth2/access_token"], "the log-in's own")
        await scene.end(run)
    }

    @Test func `days that are too old, carried too far, or not configured are refused with the reason`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        let results = try await scene.deliver([
            try ExistScene.day("2024-04-20", 80), try ExistScene.day("2024-04-21", 80),
            try ExistScene.day("2024-04-22", 80, observedOn: "2024-04-20"),
            try ExistScene.day("2024-04-23", 80, observedOn: "2024-04-21"),
            try ExistScene.day("2024-05-20", 80, series: "median30"),
        ])
        func reason(_ place: Int) -> String { if case .refused(let reason) = results[place] { reason } else { "" } }
        #expect(reason(0).contains("30 days") && reason(2).contains("repeats") && reason(4).contains("median30"))
        #expect([results[1], results[3]].areDelivered)
        #expect(try await scene.values().keys.sorted() == ["2024-04-21", "2024-04-23"])
        await scene.end(run)
    }

    @Test func `custom attributes are created once, and a new installation finds them again`() async throws {
        let scene = try await ExistScene([
            "attributes": .list([
                .string("systolic"), .string("blood_oxygen"), .string("Median weight=weight/median30"),
                .string("sleep_start=timeInDaylight/sum"),
            ])
        ])
        var run = try await scene.loggedIn()
        let days = [
            try ExistScene.day("2024-05-20", 120.6, type: .bloodPressureSystolic, unit: "mmHg", series: "mean"),
            try ExistScene.day("2024-05-20", 0.976, type: .oxygenSaturation, unit: "%", series: "mean"),
            try ExistScene.day("2024-05-20", 80.123, series: "median30"),
            try ExistScene.day("2024-05-20", 1_350, type: .timeInDaylight, unit: "min", series: "sum"),
        ]
        #expect(try await scene.deliver(days).areDelivered)
        #expect(try await scene.values("systolic") == ["2024-05-20": "121"])
        #expect(try await scene.values("blood_oxygen") == ["2024-05-20": "0.976"])
        #expect(try await scene.values("median_weight") == ["2024-05-20": "80.12"])
        #expect(try await scene.values("sleep_start") == ["2024-05-20": "630"], "minutes from midday")
        _ = await scene.hub.command("forget")
        await scene.end(run)
        run = try await scene.startAgain()
        #expect(try await scene.deliver([try ExistScene.day("2024-05-20", 81, series: "median30")]).areDelivered)
        #expect(try await scene.values("median_weight") == ["2024-05-20": "81"])
        await scene.end(run)
    }

    @Test func `verify finds values that were changed at Exist, and the next run sends them again`() async throws {
        let scene = try await ExistScene()
        let run = try await scene.loggedIn()
        #expect(try await scene.deliver(try ExistScene.days(30)).areDelivered)
        let pair = try await scene.send(
            "POST", url: "\(scene.base)/control/personal-token", json: #"{"user":"mira","client":"hub"}"#)
        let token = try #require(pair.json?["access_token"]?.text)
        let update = #"[{"name":"weight","date":"2024-05-10","value":1}]"#
        _ = try await scene.send("POST", url: "\(scene.base)/api/2/attributes/update/", json: update, token: token)
        let result = try await scene.done("verify")
        let text = result.text
        #expect(
            text.contains(#""compared":30"#) && text.contains(#""date":"2024-05-10","exist":"1.0","sent":"80.19""#),
            "\(text)")
        try await scene.done("sync")
        #expect(try await scene.values()["2024-05-10"] == "80.19")
        await scene.end(run)
    }
}
