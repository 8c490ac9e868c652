import Foundation
import IHealthCloudSimulation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleConnector
import ScaleFrames
import Testing
import WebFaults

@testable import IHealthHS5

/// The vendor's Open API, against its stand-in on a real socket.
@Suite(.timeLimit(.minutes(1)))
struct OpenAPITests {
    /// A stand-in in this process, and the settings of a plugin that asks it.
    final class Cloud: Sendable {
        let service: IHealthCloud
        let standIn: StandIn<IHealthCloud>
        let base: String
        private let serving: Task<Void, any Error>

        init() async throws {
            let service = IHealthCloud()
            let standIn = StandIn(service, faults: FaultDesk(), clock: try SettableClock())
            let (ports, tell) = AsyncStream<Int>.makeStream()
            serving = Task { try await standIn.run(host: "127.0.0.1", port: 0) { tell.yield($0) } }
            var iterator = ports.makeAsyncIterator()
            base = "http://127.0.0.1:\(try #require(await iterator.next()))"
            (self.service, self.standIn) = (service, standIn)
        }

        deinit { serving.cancel() }

        var settings: String {
            """
            ,"client_id":"client","client_secret":"shh","openapi_base":"\(base)","openapi_sc":"serial",\
            "openapi_sv":"right","openapi_redirect":"http://127.0.0.1:8737/","user":1234
            """
        }
    }

    /// Logs in as a person does whose browser is sent back.
    static func logIn(_ bench: ScaleBench, _ cloud: Cloud) async throws -> CommandOutcome.Content {
        let call = await bench.hub.begin("login")
        guard case .ask(let question) = await bench.hub.outcome(of: call) else {
            Issue.record("no page was opened")
            return .failed(code: "test", reason: "")
        }
        let page = try #require(question.url.flatMap { URLComponents(string: $0) })
        let query = Dictionary(
            uniqueKeysWithValues: (page.queryItems ?? []).map { ($0.name, $0.value ?? "") })
        #expect(page.path == "/OpenApiV2/OAuthv2/userauthorization/")
        #expect(query["APIName"] == "OpenApiWeight" && query["client_id"] == "client")
        let answer = cloud.service.answer(
            WebRequest("GET", page.path + "?" + (page.percentEncodedQuery ?? "")), faults: [])
        let back = try #require(answer.fields.first { $0.name == "Location" }?.value)
        await bench.hub.answer(call, try #require(RawJSON("\"\(back)\"")))
        return await bench.hub.outcome(of: call)
    }

    private func run(_ cloud: Cloud, _ scale: Scale, _ bench: ScaleBench) async throws -> PluginRun {
        await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, cloud.settings, auth: "openapi"))
    }

    @Test func `nobody is measured before the account is linked, and hub login goes on by itself`() async throws {
        let (bench, cloud, scale) = (try await ScaleBench(), try await Cloud(), try Scale())
        let run = try await run(cloud, scale, bench)
        await bench.hub.wait { hub in hub.events.contains { $0.event == "error" && $0.code == 111 } }
        #expect(await bench.events("authentication").map(\.code) == [5])
        #expect(await bench.events("error").first?.text?.contains("hub login") == true)
        guard case .done = try await Self.logIn(bench, cloud) else {
            Issue.record("the log-in failed")
            return
        }
        #expect(await bench.events("authentication", 2).last?.code == 3)
        await SessionTests.weigh(811, scale, bench)
        #expect(await bench.end(run) == .done)
        #expect(await SessionTests.weights(bench) == [81.1])
        #expect(await bench.hub.tokens["ihealth"]?.json?.text.contains("u1b2c3d4") == true)
        await scale.stop()
    }

    @Test(arguments: ["status=503", "cut-before", "html", "half", "too-many=3600"])
    func `a cloud that cannot be reached is 8 on a HS5, which has no trial`(fault: String) async throws {
        let (bench, cloud, scale) = (try await ScaleBench(), try await Cloud(), try Scale())
        try await Self.give(bench, cloud)
        cloud.standIn.faults.add([try Fault(fault)])
        let run = try await run(cloud, scale, bench)
        #expect(await bench.events("authentication").first?.code == 8)
        #expect(await bench.end(run) == .done)
        #expect(await bench.samples.isEmpty)
        await scale.stop()
    }

    @Test func `an account that is refused is 5, an application that is refused 6, a token that has ended is renewed`()
        async throws
    {
        let cloud = try await Cloud()
        for (change, code) in [(1, 3), (2, 5), (3, 6)] {
            let (bench, scale) = (try await ScaleBench(), try Scale())
            try await Self.give(bench, cloud)
            cloud.service.end(access: true, refresh: change == 2)
            if change == 3 { cloud.service.change { $0.secret = "other" } }
            let run = try await run(cloud, scale, bench)
            #expect(await bench.events("authentication").first?.code == Int64(code), "\(change)")
            #expect(await bench.end(run) == .done)
            await scale.stop()
        }
    }

    /// Somebody has logged in before.
    private static func give(_ bench: ScaleBench, _ cloud: Cloud) async throws {
        let target = "/OpenApiV2/OAuthv2/userauthorization/?client_id=client&redirect_uri=http://127.0.0.1:8737/"
        let page = cloud.service.answer(
            WebRequest("GET", target + "&response_type=code&APIName=OpenApiWeight"), faults: [])
        let code = try #require(page.fields.first { $0.name == "Location" }?.value.split(separator: "=").last)
        let answer = cloud.service.answer(
            WebRequest("GET", target + "&client_secret=shh&grant_type=authorization_code&code=\(code)"), faults: [])
        let token = try #require(JSONTree(answer.body))
        let json = """
            {"access_token":"\(token["AccessToken"]?.text ?? "")","refresh_token":"\(token["RefreshToken"]?.text ?? "")",\
            "user_id":"\(IHealthCloud.user)"}
            """
        await bench.hub.setToken(RawJSON(trusted: Array(json.utf8)), of: "ihealth")
    }

    @Test func `the cloud's records join those of the scale, page by page, each once`() async throws {
        let (bench, cloud) = (try await ScaleBench(), try await Cloud())
        let memory = try Scale.mornings(3)
        let scale = try Scale(memory: [1234: memory])
        let summer = try #require(WallTime("2026-03-29 03:00:00"))
        var weights = try (0..<120).map { day in
            let time = try #require(WallTime("2026-03-01 07:10:03")?.adding(seconds: day * 43_455))
            var weight = IHealthCloud.Weight(
                "d\(day)", date: time.secondsSince2000 + 946_684_800, weight: 60 + Double(day) / 10)
            weight.zone = time < summer ? "+0100" : 200
            return weight
        }
        // The last three are those of the scale's memory, in summer.
        for (place, record) in memory.enumerated() {
            let time = try #require(record.time)
            var weight = IHealthCloud.Weight(
                "m\(place)", date: time.secondsSince2000 + 946_684_800, weight: 70 + Double(place) / 10)
            (weight.zone, weight.fat, weight.water, weight.muscle) = (200, 47.7, 45.3, 41.3)
            (weight.bone, weight.visceral, weight.calories) = (2.2, 8, 2502)
            weights.append(weight)
        }
        weights[5].source = "Manual"
        weights[6].weight = 500
        weights[7].zone = "-0800"
        cloud.service.put(weights)
        try await Self.give(bench, cloud)
        let run = try await run(cloud, scale, bench)
        await bench.hub.records(3 * 7)
        _ = await bench.events("memory-end")
        let outcome = await bench.hub.command("cloud", RawJSON(trusted: Array(#"{"from":"2026-01-01"}"#.utf8)))
        guard case .done(let result) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(result?.text == #"{"manual":1,"records":121,"unreadable":1}"#)
        await bench.hub.records(3 * 7 + 118)
        guard case .done = await bench.hub.command("cloud") else {
            Issue.record("the second time failed")
            return
        }
        #expect(await bench.end(run) == .done)
        let samples = await bench.samples
        #expect(samples.count == 3 * 7 + 118)
        #expect(await bench.hub.duplicates == 0)
        #expect(await bench.hub.violations == [])
        #expect(samples.allSatisfy { $0.subject == .slot(0) && $0.source.device == Scale.id })
        let suspect = samples.filter { $0.metadata?.text.contains("clockSuspect") == true }
        #expect(suspect.map(\.value) == [.quantity(60.7, unit: "kg")], "its date is meant in another zone")
        #expect(cloud.service.requests.filter { $0.contains("weight.json") }.count >= 7)
        await scale.stop()
    }

    @Test(arguments: [(1, 158.73, 72.0), (2, 11.338, 72.0)])
    func `pounds and stones become kilograms`(unit: Int, value: Double, kilograms: Double) async throws {
        let (bench, cloud, scale) = (try await ScaleBench(), try await Cloud(), try Scale())
        var weight = IHealthCloud.Weight("a", date: 1_772_349_003, weight: value)
        (weight.fat, weight.bone) = (20.1, 5)
        cloud.service.put([weight], unit: unit)
        try await Self.give(bench, cloud)
        let run = try await run(cloud, scale, bench)
        _ = await bench.events("connected")
        guard case .done = await bench.hub.command("cloud") else {
            Issue.record("not fetched")
            return
        }
        await bench.hub.records(2)
        #expect(await bench.end(run) == .done)
        #expect(await SessionTests.weights(bench) == [kilograms])
        #expect(
            await bench.samples.map(\.type.rawValue) == ["weight", "bodyFatPercentage"], "no bone in an unknown unit")
        await scale.stop()
    }

    @Test func `what is missing is named, and local settings have nothing to log in to`() async throws {
        let failure = try #require(throws: PluginFailure.self) {
            _ = try SettingsTests.setup("auth_mode = \"openapi\"\nclient_id = \"a\"\nclient_secret = \"b\"")
        }
        #expect(failure.message.contains("not set: openapi_sc, openapi_sv, openapi_redirect"))
        let (bench, scale) = (try await ScaleBench(), try Scale())
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        guard case .failed(let code, let reason) = await bench.hub.command("login") else {
            Issue.record("a log-in where there is none")
            return
        }
        #expect(code == "settings" && reason.contains("auth_mode"))
        #expect(await bench.end(run) == .done)
        await scale.stop()
    }
}
