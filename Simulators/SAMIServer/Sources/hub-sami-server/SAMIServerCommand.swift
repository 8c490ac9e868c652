import ArgumentParser
import Glibc
import HubWire
import SAMIExchange
import WebFaults

@main
struct SAMIServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-sami-server",
        abstract:
            "A SAMI-compatible data exchange on this machine: for the hub's SAMI connector, and for old apps and SDKs.",
        discussion: """
            SAMI (2014), later ARTIK Cloud, was switched off in 2019. This serves the same
            calls, log-in pages and WebSockets from one address, with its state in one
            SQLite file.

            Try it:
              hub-sami-server --history 30
              curl -s -X POST localhost:8790/control/tokens -d '{}'
              curl -s -H 'Authorization: bearer TOKEN' localhost:8790/v1.1/users/self

            A new state file has the user \(Fixtures.userName) (password \(Fixtures.password)), a Withings scale,
            and the application \(Fixtures.application).
            The first line on stdout is the address: REST and WebSockets are below
            /v1.1, the log-in is at its root, and a browser gets a page that says so.

            Faults (--fault, any number; NAME[=VALUE][@PATH][%PERCENT][*TIMES], where PATH
            is a part of the address and PERCENT a share of the calls):

            \(StandInProgram.rows(Fault.known.map { ($0.name, $0.help) } + forms))

            Each frame of a WebSocket has the path of its handshake and /frame, and can be
            late or cut: delay=2@live/frame, cut-after@websocket/frame*1.

            All of it can be changed while it runs, below /control/: the README has the list.
            Exit codes: 0 ended by SIGTERM, SIGINT or --until-eof; 64 wrong option; 69 the
            address or the state file cannot be used.
            """,
        version: ProductVersion.current)

    @Option(help: ArgumentHelp("The address to listen on; port 0 is any free one.", valueName: "host:port"))
    var listen = "127.0.0.1:8790"
    @Option(help: ArgumentHelp("The state file; without it everything is forgotten at the end.", valueName: "file"))
    var state: String?
    @Option(help: ArgumentHelp("sami (2014) or artik (2016).", valueName: "name"))
    var dialect = "sami"
    @Option(
        help: ArgumentHelp(
            "This many more invented messages of the scale at each start, one an hour up to now.", valueName: "n"))
    var history = 0
    @Flag(help: "Count no calls.")
    var noRateLimits = false
    @Option(
        help: ArgumentHelp(
            "Calls a minute and a day allowed to each caller, in place of SAMI's limits.", valueName: "n/n"))
    var limits: String?
    @Option(
        help: ArgumentHelp(
            "The address to which the first application sends browsers back; at first \(Fixtures.redirect).",
            valueName: "url"))
    var redirect: String?
    @Option(help: ArgumentHelp("How long a user's token lives.", valueName: "seconds"))
    var tokenLife: Int64 = 1_209_600
    @Option(help: ArgumentHelp("How far ahead a message may be dated.", valueName: "seconds"))
    var futureGrace: Int64 = 86_400
    @Option(help: ArgumentHelp("How long REST hides a new message.", valueName: "milliseconds"))
    var deliveryDelay: Int64 = 0
    @Option(help: ArgumentHelp("Between two pings on a socket.", valueName: "seconds"))
    var ping = 30.0
    @Option(help: ArgumentHelp("Within which a device registers on a socket.", valueName: "seconds"))
    var registration = 30.0
    @Flag(help: "Analytics leave out data less than a minute old, as SAMI's did.")
    var analyticsLag = false
    @Flag(help: "Device types are also found by the beginning of their name.")
    var prefixSearch = false
    @Flag(help: "A logout ends the browser's session only.")
    var logoutKeepsTokens = false
    @Option(help: ArgumentHelp("Make something go wrong; may be repeated.", valueName: "fault"))
    var fault: [String] = []
    @Option(
        help: ArgumentHelp(
            "Dates from the system, or from a clock that starts at an instant and runs at a rate.",
            valueName: "system|START@RATE"))
    var clock = "system"
    @Flag(help: "End when stdin does: for a server that must not outlive the program that started it.")
    var untilEof = false

    private static let forms = [
        ("expired", "401: the token has expired"),
        ("silent", "sockets stay open, without a ping or a message"),
        ("twice", "a posted message is stored twice, under two ids"),
    ]

    func run() async throws {
        let (host, port): (String, Int)
        let time: SettableClock
        let faults: FaultQueue
        do {
            (host, port) = try StandInProgram.address(listen, example: "127.0.0.1:8790")
            time = try SettableClock(clock)
            faults = FaultQueue(try fault.map { try Fault($0, forms: Exchange.forms) }, forms: Exchange.forms)
        } catch let error as WebFaultsError {
            throw ValidationError(error.description)
        }
        let options = try options()
        let exchange: Exchange
        do {
            exchange = try Exchange(options, clock: time, faults: faults)
            if history > 0 { try exchange.invent(history) }
        } catch {
            Self.complain("\(state ?? "the state") cannot be used: \(error)")
            throw ExitCode(69)
        }
        StandInProgram.endOnRequest(untilEof: untilEof)
        do {
            try await StandIn(exchange, faults: faults, clock: time)
                .run(host: host, port: port, sockets: exchange) { port in
                    StandInProgram.put("http://\(host):\(port)\n", to: STDOUT_FILENO)
                }
        } catch {
            Self.complain("cannot listen at \(listen): \(error)")
            throw ExitCode(69)
        }
    }

    private func options() throws -> Exchange.Options {
        guard let dialect = Dialect(name: dialect) else {
            throw ValidationError("--dialect '\(dialect)' is none of sami, artik")
        }
        guard (0...1_000_000).contains(history) else { throw ValidationError("--history takes 0 to 1000000") }
        guard (0.01...86_400).contains(ping), (0.01...86_400).contains(registration) else {
            throw ValidationError("--ping and --registration take 0.01 to 86400 seconds")
        }
        var options = Exchange.Options()
        (options.dialect, options.state, options.redirect) = (dialect, state, redirect)
        (options.hasRateLimits, options.tokenLife) = (!noRateLimits, tokenLife)
        if let limits {
            let numbers = limits.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
            guard numbers.count == 2, numbers.allSatisfy({ (1...1_000_000_000).contains($0) }) else {
                throw ValidationError("--limits '\(limits)': expected calls a minute and a day, such as 100/1000")
            }
            options.limits = (numbers[0], numbers[1])
        }
        (options.futureGrace, options.deliveryDelay) = (futureGrace * 1000, deliveryDelay)
        (options.pingSeconds, options.registrationSeconds) = (ping, registration)
        (options.analyticsLag, options.findsByPrefix) = (analyticsLag, prefixSearch)
        options.logoutRevokes = !logoutKeepsTokens
        return options
    }

    private static func complain(_ text: String) {
        StandInProgram.put("hub-sami-server: \(text)\n", to: STDERR_FILENO)
    }
}
