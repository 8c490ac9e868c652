import Foundation
import HubCore
import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// The hub's command `setup`, as the page of a hub without `hub.conf` gives it.
@Suite(.timeLimit(.minutes(2))) struct SetupServerTests {
    private static func refusal(
        _ server: SetupServer, _ command: OwnCommands.Setup
    ) async throws -> OwnCommandFailure {
        let failure = await #expect(throws: OwnCommandFailure.self) {
            try await server.carryOut(command, isDryRun: false)
        }
        return try #require(failure)
    }

    @Test func `R8.202 a step is taken as a whole, and a dry run keeps nothing`() async throws {
        let folder = try TemporaryFolder()
        let server = SetupServer(SetupDraft(path: folder.configuration, old: nil)) {}
        let good = OwnCommands.Setup(.answer, step: "household", answers: ["zone=tokyo", "names=anna"])
        let dry = try await server.carryOut(good, isDryRun: true)
        #expect(dry.dryRun && dry.step == "persons" && dry.questions.map(\.name) == ["anna.locale", "anna.unit"])
        let wrong = OwnCommands.Setup(.answer, step: "household", answers: ["zone=tokyo", "names=!?"])
        let refused = try await server.carryOut(wrong, isDryRun: false)
        #expect(refused.step == "household" && refused.faults.map(\.question) == ["names"], "\(refused)")
        let look = try await server.carryOut(OwnCommands.Setup(.look), isDryRun: false)
        #expect(look.step == "household" && look.questions[0].value == nil, "\(look)")
        let taken = try await server.carryOut(good, isDryRun: false)
        #expect(taken.step == "persons" && taken.remarks == ["taken as Asia/Tokyo"], "\(taken)")
        #expect(taken.steps.filter(\.done).map(\.name) == ["household"])
        let reset = try await server.carryOut(OwnCommands.Setup(.reset), isDryRun: false)
        #expect(reset.step == "household" && reset.questions[0].value == nil, "\(reset)")
    }

    @Test func `a wrong step or question is refused with the known ones, and no answer is repeated`() async throws {
        let folder = try TemporaryFolder()
        let server = SetupServer(SetupDraft(path: folder.configuration, old: nil)) {}
        let step = try await Self.refusal(server, OwnCommands.Setup(.look, step: "plugin/exist"))
        #expect(step.code == "command" && step.reason.contains("there are household, persons, plugins, review"))
        for answers in [["apple tree"], ["token=apple tree"], ["zone=UTC", "zone=apple tree"]] {
            let failure = try await Self.refusal(
                server, OwnCommands.Setup(.answer, step: "household", answers: answers))
            #expect(failure.code == "command" && !failure.reason.contains("apple"), "\(failure)")
        }
        for action in [OwnCommands.Setup.Action.leave, .test] {
            #expect(try await Self.refusal(server, OwnCommands.Setup(action, step: "household")).code == "command")
        }
    }

    @Test func `R8.204 write replaces no file, and a dry run of it writes none`() async throws {
        let folder = try TemporaryFolder()
        let server = SetupServer(SetupDraft(path: folder.configuration, old: nil)) {}
        let planned = try await server.carryOut(OwnCommands.Setup(.write), isDryRun: true)
        #expect(!planned.written && planned.faults == [], "\(planned)")
        try folder.write("[person.ben]\n")
        let refused = try await Self.refusal(server, OwnCommands.Setup(.write))
        #expect(refused.code == "changed" && refused.reason.contains("is there already"), "\(refused)")
        #expect(try String(contentsOfFile: folder.configuration, encoding: .utf8) == "[person.ben]\n")
        try FileManager.default.removeItem(atPath: folder.configuration)
        do {
            // The lock of another set-up ends with this object.
            let other = try SetupFile(named: folder.configuration)
            let locked = try await Self.refusal(server, OwnCommands.Setup(.write))
            #expect(locked.code == "changed" && locked.reason.contains("another hub setup is at work"), "\(locked)")
            withExtendedLifetime(other) {}
        }
        #expect(try await server.carryOut(OwnCommands.Setup(.write), isDryRun: false).written)
        #expect(try String(contentsOfFile: folder.configuration, encoding: .utf8).contains("[person.me]"))
        #expect(try await Self.refusal(server, OwnCommands.Setup(.look)).code == "changed")
    }

    @Test func `the file of the machine names its folders, and any other has those of its user`() throws {
        var environment = SettingsEnvironment(variables: ["HOME": "/home/anna"], currentDirectory: "/") { _ in Data() }
        let system = try FutureConfiguration("/etc/health-hub/hub.conf", environment)
        #expect(system.data == "/var/lib/health-hub" && system.run == "/run/health-hub")
        let text = try system.draft(port: 7_790).text
        #expect(text.contains("\ndata = \"/var/lib/health-hub\"") && text.contains("\nrun = \"/run/health-hub\""))
        environment.variables["XDG_RUNTIME_DIR"] = "/run/user/1000"
        let own = try FutureConfiguration("/home/anna/.config/health-hub/hub.conf", environment)
        #expect(own.data == "/home/anna/.local/share/health-hub" && own.run == "/run/user/1000/health-hub")
        #expect(try !own.draft(port: 7_790).text.contains("\ndata = "))
    }
}
