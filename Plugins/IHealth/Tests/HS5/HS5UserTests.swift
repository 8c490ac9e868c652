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
struct HS5UserTests {
    static let anna = person("anna", slot: 1)

    static func person(_ name: String, slot: Int?) -> Welcome.PersonEntry {
        Welcome.PersonEntry(
            name: name, zone: "Europe/Berlin",
            profile: PersonProfile(
                uid: "6f1c2a9e5b7d4c30", slot: slot, height: 172, sex: .female, birthDate: LocalDate("1984-05-06"),
                athlete: nil))
    }

    @Test func `users are listed, created for a person, modified and deleted`() async throws {
        let bench = try await ScaleBench(persons: [Self.anna])
        let scale = try HS5Scale(users: [0: 1, 3: 500])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        #expect(
            try await bench.ask("users-list")
                == #"[{"position":0,"serialNumber":1},{"position":3,"serialNumber":500}]"#)
        // Number 1 and position 0 are taken.
        let made = #"{"person":"anna","position":1,"serialNumber":2}"#
        #expect(try await bench.ask("users-create", #"{"person":"anna"}"#, dryRun: true) == made)
        #expect(scale.device.users[1] == nil, "a dry run changes nothing")
        #expect(try await bench.ask("users-create", #"{"person":"anna"}"#) == made)
        #expect(scale.device.users[1] == 2)
        #expect(
            try await bench.ask("users-create", #"{"person":"anna"}"#)
                == "refused: HS5: a user is at this position already")
        // The command has reported the refusal, so it is not an error that hub status should keep showing.
        await bench.hub.wait { $0.events.contains { $0.code == 5 } }
        let told = await bench.hub.events.filter { $0.code == 5 }
        #expect(told.allSatisfy { $0.event == "error" && $0.severity == .info }, "\(told)")
        #expect(try await bench.ask("users-modify", #"{"person":"anna","height":173}"#) == made)
        #expect(try await bench.ask("users-delete", #"{"person":"anna"}"#) == made)
        #expect(scale.device.users[1] == nil)
        // The number and the position stay the person's.
        #expect(try await bench.ask("users-create", #"{"person":"anna","position":1}"#) == made)
        #expect(await bench.events("users").count >= 2)
        #expect(await bench.end(run) == .done)
    }

    @Test func `a user for a person is created only at the person's position in hub.conf`() async throws {
        let people = [Self.person("anna", slot: 0), Self.person("ben", slot: nil), Self.person("carl", slot: 2)]
        let bench = try await ScaleBench(persons: people)
        let scale = try HS5Scale(users: [0: 1])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        #expect(
            try await bench.ask("users-delete", #"{"serial":1}"#)
                == #"{"person":"anna","position":0,"serialNumber":1}"#)
        // Position 0 is free now, but still belongs to anna.
        for arguments in [#"{"person":"ben"}"#, #"{"person":"ben","position":0}"#] {
            for dryRun in [true, false] {
                let answer = try await bench.ask("users-create", arguments, dryRun: dryRun)
                #expect(
                    answer.hasPrefix("refused: ben has no position on this scale in hub.conf")
                        && answer.hasSuffix("hub device ihealth-hs5 slot ben 1"), "\(answer)")
            }
        }
        let other = try await bench.ask("users-create", #"{"person":"carl","position":5}"#)
        #expect(
            other.contains("hub.conf gives carl position 2") && other.hasSuffix("slot carl 5"), "\(other)")
        let body = #""height":180,"sex":"male","birth_date":"1980-01-01""#
        let guest = try await bench.ask("users-create", "{\"serial\":7,\"position\":0,\(body)}")
        #expect(guest.hasPrefix("refused: position: 0 is anna's in hub.conf"), "\(guest)")
        #expect(scale.device.users.allSatisfy { $0 == nil }, "nothing was created")
        // A guest gets the first position without an owner.
        #expect(
            try await bench.ask("users-create", "{\"serial\":7,\(body)}") == #"{"position":1,"serialNumber":7}"#)
        #expect(
            try await bench.ask("users-create", #"{"person":"carl"}"#)
                == #"{"person":"carl","position":2,"serialNumber":1}"#)
        #expect(await bench.end(run) == .done)
    }

    @Test func `the list names the owner of the position, even if the user was created for another person`()
        async throws
    {
        let scale = try HS5Scale(users: [:])
        let bench = try await ScaleBench(persons: [Self.person("anna", slot: 0), Self.person("ben", slot: 1)])
        var run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        #expect(
            try await bench.ask("users-create", #"{"person":"anna"}"#)
                == #"{"person":"anna","position":0,"serialNumber":1}"#)
        #expect(await bench.end(run) == .done)
        // Now hub.conf gives the position to ben.
        await bench.hub.change { $0.persons = [Self.person("anna", slot: 1), Self.person("ben", slot: 0)] }
        run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected", 2)
        #expect(
            try await bench.ask("users-list")
                == #"[{"createdFor":"anna","person":"ben","position":0,"serialNumber":1}]"#)
        #expect(await bench.end(run) == .done)
    }

    @Test func `a number of one person is never given to another, and a refused creation assigns none`() async throws {
        let bench = try await ScaleBench(
            persons: [Self.person("anna", slot: 0), Self.person("ben", slot: 3), Self.person("carl", slot: 4)])
        let scale = try HS5Scale(users: [:])
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link))
        _ = await bench.events("connected")
        let body = #""height":180,"sex":"male","birth_date":"1980-01-01""#
        #expect(
            try await bench.ask("users-create", #"{"person":"anna"}"#)
                == #"{"person":"anna","position":0,"serialNumber":1}"#)
        #expect(
            try await bench.ask("users-create", "{\"person\":\"ben\",\"serial\":1,\(body)}")
                == "command: serial: 1 is another person's", "also while the scale has it")
        #expect(
            try await bench.ask("users-create", "{\"person\":\"ben\",\"position\":0,\(body)}")
                .hasPrefix("refused:"))
        let taken = try await bench.ask("users-create", #"{"person":"anna"}"#)
        #expect(taken == "refused: HS5: a user is at this position already")
        #expect(try await bench.ask("users-delete", #"{"person":"ben"}"#).contains("no user of the scale"))
        // Both at once.
        async let ben = bench.ask("users-create", "{\"person\":\"ben\",\"position\":3,\(body)}")
        async let carl = bench.ask("users-create", "{\"person\":\"carl\",\"position\":4,\(body)}")
        let made = try await [ben, carl]
        #expect(Set([scale.device.users[3], scale.device.users[4]]) == [2, 3], "\(made)")
        #expect(await bench.end(run) == .done)
    }

    @Test func `missing body data is requested, and a full scale is reported`() async throws {
        let bench = try await ScaleBench(
            persons: [Self.person("anna", slot: nil), .init(name: "ben"), Self.person("dora", slot: 3)])
        let all = Dictionary(uniqueKeysWithValues: (0..<20).map { ($0, UInt32(100 + $0)) })
        let scale = try HS5Scale(users: all)
        let run = await bench.run(HS5Bench.plugin(), try HS5Bench.settings(scale.link, ",\"user\":100"))
        _ = await bench.events("connected")
        #expect(try await bench.ask("users-create", #"{"person":"anna"}"#).contains("all 20 positions are taken"))
        #expect(
            try await bench.ask("users-create", #"{"person":"dora"}"#).contains("at this position already"))
        #expect(try await bench.ask("users-create", #"{"person":"ben"}"#).contains("needs height and birth_date"))
        #expect(try await bench.ask("users-create", #"{"person":"carl"}"#).contains("no \"carl\""))
        #expect(try await bench.ask("users-create").contains("give person, or serial"))
        #expect(
            try await bench.ask(
                "users-create", #"{"serial":7,"height":180,"sex":"male","birth_date":"2024-01-01"}"#
            ).contains("7 to 99 years"))
        #expect(try await bench.ask("users-delete", #"{"serial":9}"#).contains("no user 9"))
        #expect(try await bench.ask("cloud").contains("hsl link"))
        #expect(await bench.end(run) == .done)
    }
}
