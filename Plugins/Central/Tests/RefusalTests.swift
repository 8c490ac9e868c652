import Foundation
import HubProcess
import JSON
import Testing

/// Hubs that the centre refuses, and the reports that people read.
@Suite(.enabled(if: Need.postgresql.isMet, Comment(rawValue: Need.postgresql.reason)), .timeLimit(.minutes(5)))
struct RefusalTests {
    /// The output and the exit status of `hub-central --check`.
    private func check(_ scene: CentralScene) async throws -> (code: Int32, text: String) {
        let section = try String(contentsOfFile: scene.host.configuration, encoding: .utf8)
            .components(separatedBy: "[plugin.central]\n")[1].split(separator: "\n")
            .filter { !$0.hasPrefix("grants") && !$0.hasPrefix("enabled") }.joined(separator: "\n")
        let file = try scene.host.folder.write(section, to: "check.conf")
        let result = try await ChildProcess("hub-central", ["--check", "--settings", file]).result()
        return (result.code, result.output + result.errors)
    }

    @Test func `a certificate of an unknown role or of another authority is refused with the error code`() async throws
    {
        let server = try await CentralScene.centre()
        let scene = try await CentralScene(at: server, login: "hub_other")
        _ = try await scene.fault(with: "28000")
        #expect(try await scene.refusal("studies").contains("28000"))
        let (code, text) = try await check(scene)
        #expect(code == 77 && text.contains("28000"), "\(text)")
    }

    @Test func `a certificate that another hub has used is refused`() async throws {
        let server = try await CentralScene.centre()
        let first = try await CentralScene(at: server)
        try await first.until("SELECT hub_id IS NOT NULL FROM central.hub", is: ["t"])
        let second = try await CentralScene(at: server)
        let said = try await second.refusal("studies")
        #expect(said.contains("another hub's") && said.contains("ask the desk for an invitation"), "\(said)")
        _ = try await second.fault(with: "another hub's")
    }

    @Test func `a hub that the desk has stopped delivers nothing, and says whom to ask`() async throws {
        let scene = try await CentralScene()
        try await scene.consent()
        _ = try await scene.receipt(try await scene.log("70 kg"))
        try await scene.sql("UPDATE central.hub SET state = 'stopped'")
        let number = try await scene.log("71 kg", at: "2026-03-16 07:30")
        _ = try await scene.fault(with: "the desk has stopped this hub")
        #expect(try await scene.delivery(number)?["state"] as? String == "retrying")
        #expect(try await scene.rows("value") == ["70"])
    }

    @Test func `check, doctor and the plugin name settings that make receipts untrue, and nothing is delivered`()
        async throws
    {
        let scene = try await CentralScene(at: try await CentralScene.centre(settings: ["full_page_writes = off"]))
        _ = try await scene.fault(with: "full_page_writes is off")
        let doctor = try await scene.host.command(["doctor"]).lines
        #expect(doctor.contains { $0.contains("central says:") && $0.contains("full_page_writes is off") }, "\(doctor)")
        let (code, text) = try await check(scene)
        #expect(
            code == 1 && text.contains("receipts would be untrue") && text.contains("full_page_writes is off"),
            "\(text)")
        #expect(try await scene.refusal("consent", "study=heart", "person=me").contains("nothing is delivered"))
    }

    @Test func `several hosts without a replica are refused, and a single one is accepted with a warning`() async throws
    {
        let server = try await CentralScene.centre()
        let one = try await CentralScene(at: server)
        let (code, text) = try await check(one)
        #expect(code == 0 && text.contains("A warning: the centre is one host alone"), "\(text)")
        try await one.consent()
        let two = try await CentralScene(at: server, hosts: ["127.0.0.1:\(server.port)", "localhost:\(server.port)"])
        let (refused, said) = try await check(two)
        #expect(refused == 1 && said.contains("synchronous_standby_names is empty"), "\(said)")
        #expect(try await two.refusal("studies").contains("synchronous_standby_names is empty"))
    }

    @Test func `a hub without an invitation shows the next step, and refuses a line that is not an invitation`()
        async throws
    {
        let scene = try await CentralScene(login: nil)
        _ = try await scene.fault(with: "ask the desk of the centre for an invitation")
        #expect(try await scene.refusal("enrol").contains("ask the desk of the centre for an invitation"))
        #expect(try await scene.refusal("enrol", "invite=central://db1/central").contains("expected the whole line"))
    }

    @Test func `a hub with a wrong clock reports it, and still delivers`() async throws {
        let ahead = Date.now.addingTimeInterval(200).formatted(.iso8601)
        let scene = try await CentralScene(hub: "clock = \"\(ahead)@1\"")
        func told() async throws -> Int {
            try await scene.host.command("logs", "central").lines
                .count { $0.contains("this hub's clock is ") && $0.contains(" s ahead of the centre's: set it") }
        }
        let tap = try ChildProcess(
            "hub", ["tap", "device/central/clock", "--count", "1", "--json"], environment: scene.host.environment)
        var times = 0
        // Each run of the plugin reports it once: in the hub's log, and as an event.
        while true {
            try await eventually { try await told() != times }
            times = try await told()
            if !tap.lines.isEmpty { break }
            try await scene.killPlugin()
        }
        let event = tap.lines.joined()
        #expect(event.contains("ahead of the centre's") && event.contains("\"severity\":\"warning\""), "\(event)")
        try await scene.until("SELECT skew < interval '-190 seconds' FROM central.hub", is: ["t"])
        try await scene.consent()
        _ = try await scene.receipt(try await scene.log("70 kg"))
    }

    @Test func `a text that PostgreSQL cannot represent is refused alone, and the rest of its batch is stored`()
        async throws
    {
        let scene = try await CentralScene()
        let count = 37
        let lines = (0..<count).map { n in
            let word = n == 23 ? "ca\\u0000lm" : "calm"
            return
                #"{"kind":"other","type":"stateOfMind","value":"\#(word)","start":"2026-03-15T21:\#(n + 10):00+01:00","key":"k\#(n)","person":"me","source":{"plugin":"diary"}}"#
        }
        let file = try scene.host.folder.write(lines.joined(separator: "\n") + "\n", to: "moods.jsonl")
        try await scene.command("import", file)
        try await scene.consent(types: "stateOfMind")
        try await scene.until("SELECT count(*), count(DISTINCT word) FROM central.record", is: ["\(count - 1)|1"])
        var refused: [String] = []
        for number in 1...count {
            guard let delivery = try await scene.delivery(number) else { continue }
            if delivery["state"] as? String == "refused" { refused.append("\(number): \(delivery)") }
        }
        #expect(refused.count == 1, "\(refused)")
        #expect(refused.first?.contains("22021 a text has the character NUL") == true, "\(refused)")
        #expect(refused.first?.contains("lm") == false, "\(refused)")
    }
}
