import Foundation
import PluginKit
import PluginTesting
import ScaleBench
import ScaleProtocols
import ScaleStandIns
import Testing

@testable import IHealthHS5

/// The commands for the users of the scale.
@Suite(.timeLimit(.minutes(1)))
struct UserTests {
    static let anna = Welcome.PersonEntry(
        name: "anna", zone: "Europe/Berlin",
        profile: PersonProfile(
            uid: "6f1c2a9e5b7d4c30", slot: nil, height: 172, sex: .female, birthDate: LocalDate("1984-05-06"),
            athlete: nil))

    static func ask(_ bench: ScaleBench, _ command: String, _ arguments: String = "{}", dryRun: Bool = false)
        async throws
        -> String
    {
        let outcome = await bench.hub.command(command, try #require(RawJSON(arguments)), isDryRun: dryRun)
        switch outcome {
        case .done(let result): return result?.text ?? "null"
        case .failed(let code, let reason): return "\(code): \(reason)"
        default: return "\(outcome)"
        }
    }

    @Test func `users are listed, created for a person, modified and deleted`() async throws {
        let bench = try await ScaleBench(persons: [Self.anna])
        let scale = try Scale(users: [0: 1, 3: 500])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        #expect(
            try await Self.ask(bench, "users-list")
                == #"[{"position":0,"serialNumber":1},{"position":3,"serialNumber":500}]"#)
        // Number 1 and position 0 are taken.
        let made = #"{"person":"anna","position":1,"serialNumber":2}"#
        #expect(try await Self.ask(bench, "users-create", #"{"person":"anna"}"#, dryRun: true) == made)
        #expect(scale.device.users[1] == nil, "a dry run changes nothing")
        #expect(try await Self.ask(bench, "users-create", #"{"person":"anna"}"#) == made)
        #expect(scale.device.users[1] == 2)
        #expect(
            try await Self.ask(bench, "users-create", #"{"person":"anna"}"#)
                == "refused: HS5: a user is at this position already")
        // Who asked has been told: it is not an error of the scale's that hub status would go on showing.
        await bench.hub.wait { $0.events.contains { $0.code == 5 } }
        let told = await bench.hub.events.filter { $0.code == 5 }
        #expect(told.allSatisfy { $0.event == "error" && $0.severity == .info }, "\(told)")
        #expect(try await Self.ask(bench, "users-modify", #"{"person":"anna","height":173}"#) == made)
        #expect(try await Self.ask(bench, "users-delete", #"{"person":"anna"}"#) == made)
        #expect(scale.device.users[1] == nil)
        // The number stays the person's.
        #expect(
            try await Self.ask(bench, "users-create", #"{"person":"anna","position":19}"#)
                == #"{"person":"anna","position":19,"serialNumber":2}"#)
        #expect(await bench.events("users").count >= 2)
        #expect(await bench.end(run) == .done)
        await scale.stop()
    }

    @Test func `a number of one person is given to no other, and one the scale refused to none`() async throws {
        let bench = try await ScaleBench(persons: [Self.anna, .init(name: "ben"), .init(name: "carl")])
        let scale = try Scale(users: [:])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        let body = #""height":180,"sex":"male","birth_date":"1980-01-01""#
        #expect(
            try await Self.ask(bench, "users-create", #"{"person":"anna"}"#)
                == #"{"person":"anna","position":0,"serialNumber":1}"#)
        #expect(
            try await Self.ask(bench, "users-create", "{\"person\":\"ben\",\"serial\":1,\(body)}")
                == "command: serial: 1 is another person's", "also while the scale has it")
        #expect(
            try await Self.ask(bench, "users-create", "{\"person\":\"ben\",\"position\":0,\(body)}")
                .hasPrefix("refused:"))
        #expect(try await Self.ask(bench, "users-delete", #"{"person":"ben"}"#).contains("no user of the scale"))
        // Both at once.
        async let ben = Self.ask(bench, "users-create", "{\"person\":\"ben\",\"position\":3,\(body)}")
        async let carl = Self.ask(bench, "users-create", "{\"person\":\"carl\",\"position\":4,\(body)}")
        let made = try await [ben, carl]
        #expect(Set([scale.device.users[3], scale.device.users[4]]) == [2, 3], "\(made)")
        #expect(await bench.end(run) == .done)
        await scale.stop()
    }

    @Test func `what a scale needs to know is asked for, and a full scale is told`() async throws {
        let bench = try await ScaleBench(persons: [Self.anna, .init(name: "ben")])
        let all = Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, UInt32(100 + $0)) })
        let scale = try Scale(users: all)
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, ",\"user\":100"))
        _ = await bench.events("connected")
        #expect(try await Self.ask(bench, "users-create", #"{"person":"anna"}"#).contains("all 20 positions are taken"))
        #expect(try await Self.ask(bench, "users-create", #"{"person":"ben"}"#).contains("needs height and birth_date"))
        #expect(try await Self.ask(bench, "users-create", #"{"person":"carl"}"#).contains("no \"carl\""))
        #expect(try await Self.ask(bench, "users-create").contains("give person, or serial"))
        #expect(
            try await Self.ask(
                bench, "users-create", #"{"serial":7,"height":180,"sex":"male","birth_date":"2024-01-01"}"#
            ).contains("7 to 99 years"))
        #expect(try await Self.ask(bench, "users-delete", #"{"serial":9}"#).contains("no user 9"))
        #expect(try await Self.ask(bench, "cloud").contains("hsl link"))
        #expect(await bench.end(run) == .done)
        await scale.stop()
    }
}
