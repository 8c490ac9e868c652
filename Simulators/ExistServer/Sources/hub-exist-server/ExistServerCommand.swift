import ArgumentParser
import ExistSimulation
import Glibc
import HubWire
import WebFaults

/// A stand-in for Exist on this machine.
@main
struct ExistServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-exist-server",
        abstract: "A stand-in for exist.io on this machine: for tests, demonstrations and plugin authors.",
        discussion: """
            Try it:
              hub-exist-server --user mira@Europe/Berlin
            and give the plugin base = "http://127.0.0.1:8730", client_id = "hub" and
            client_secret = "hub-secret". The first line on stdout is the address; in a
            browser it shows the stand-in's data.

            Faults (--fault, any number; NAME[=VALUE][@PATH][%PERCENT][*TIMES], where PATH
            is a part of the address and PERCENT a share of the calls):

            \(StandInProgram.rows(Fault.known.map { ($0.name, $0.help) } + forms))

            Switches (--set NAME=VALUE; the first value is the default):

            \(StandInProgram.rows(ExistSwitches.known.map { ($0.name, "\($0.help): \($0.values)") }))

            All of it can be changed while it runs, below /control/: the README has the list.
            Exit codes: 0 ended by SIGTERM, SIGINT or --until-eof; 64 wrong option; 69 it
            cannot listen or cannot use its file.
            """,
        version: ProductVersion.current)

    @Option(help: ArgumentHelp("The address to listen on; port 0 is any free one.", valueName: "host:port"))
    var listen = "127.0.0.1:8730"
    @Option(help: ArgumentHelp("Keep everything in this file; in memory without it.", valueName: "file"))
    var state: String?
    @Option(
        help: ArgumentHelp(
            "A person with an account; the password is the name if it is not given. Default: mira@Europe/Berlin.",
            valueName: "name[:password]@zone"))
    var user: [String] = []
    @Option(
        help: ArgumentHelp(
            "A registered client. Default: hub=hub-secret=http://127.0.0.1:8737/.", valueName: "id=secret=redirect"))
    var client: [String] = []
    @Option(help: ArgumentHelp("Make something go wrong.", valueName: "fault"))
    var fault: [String] = []
    @Option(help: ArgumentHelp("Set a switch.", valueName: "name=value"))
    var set: [String] = []
    @Option(help: ArgumentHelp("Fixes which calls a share of faults hits.", valueName: "n"))
    var seed: UInt64 = 1
    @Option(
        help: ArgumentHelp(
            "The machine's clock, or one that starts at an instant and runs at a rate.", valueName: "system|START@RATE")
    )
    var clock = "system"
    @Flag(help: "End when stdin does: for a stand-in that must not outlive the program that started it.")
    var untilEof = false

    private static let forms = [
        ("no-failed", "an answer without `failed`"), ("lost-object", "an object in neither list"),
        ("title-for-name", "`title` where `name` belongs"), ("reordered", "the lists backwards"),
    ]

    func run() async throws {
        let (host, port): (String, Int)
        let standIn: StandIn<SimulatedExist>
        do {
            (host, port) = try StandInProgram.address(listen, example: "127.0.0.1:8730")
            standIn = try make()
        } catch let error as WebFaultsError {
            throw ValidationError(error.description)
        } catch {
            Self.complain("the state cannot be used: \(error)")
            throw ExitCode(69)
        }
        StandInProgram.endOnRequest(untilEof: untilEof)
        do {
            try await standIn.run(host: host, port: port) { port in
                StandInProgram.put("http://\(host):\(port)\n", to: STDOUT_FILENO)
            }
        } catch {
            Self.complain("cannot listen at \(listen): \(error)")
            throw ExitCode(69)
        }
    }

    private func make() throws -> StandIn<SimulatedExist> {
        let clock = try SettableClock(clock)
        var switches = ExistSwitches()
        for text in set {
            let sides = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            try switches.set(sides[0], sides.count > 1 ? sides[1] : "")
        }
        var faults: [Fault] = []
        for text in fault { faults.append(try Fault(text, forms: SimulatedExist.forms)) }
        let service = try SimulatedExist(path: state, clock: clock, switches: switches)
        try service.register(try users(), try clients())
        return StandIn(service, faults: FaultQueue(faults, forms: SimulatedExist.forms, seed: seed), clock: clock)
    }

    private func users() throws -> [ExistUser] {
        try (user.isEmpty ? ["mira@Europe/Berlin"] : user).map { text in
            let sides = text.split(separator: "@", maxSplits: 1).map(String.init)
            let names = sides.first?.split(separator: ":", maxSplits: 1).map(String.init) ?? []
            guard sides.count == 2, let name = names.first else {
                throw WebFaultsError("--user '\(text)': expected NAME[:PASSWORD]@ZONE, such as mira@Europe/Berlin")
            }
            return ExistUser(name, password: names.count > 1 ? names[1] : name, zone: sides[1])
        }
    }

    private func clients() throws -> [ExistClient] {
        var clients: [ExistClient] = []
        for text in client.isEmpty ? ["hub=hub-secret=http://127.0.0.1:8737/"] : client {
            let sides = text.split(separator: "=", maxSplits: 2).map(String.init)
            guard sides.count == 3 else {
                throw WebFaultsError("--client '\(text)': expected ID=SECRET=REDIRECT")
            }
            clients.append(ExistClient(sides[0], secret: sides[1], label: "My \(sides[0])", redirects: [sides[2]]))
        }
        return clients
    }

    private static func complain(_ text: String) {
        StandInProgram.put("hub-exist-server: \(text)\n", to: STDERR_FILENO)
    }
}
