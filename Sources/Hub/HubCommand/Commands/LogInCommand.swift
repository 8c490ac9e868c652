import ArgumentParser
import HubClient
import HubSettings
import HubWire

struct LogInCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login", abstract: "Log in to the service of a plugin.",
        discussion: """
            Opens the service's page in your browser, waits for its answer at an address
            of this machine, and has the plugin turn it into a token, which the hub keeps.
            The plugin must be running (hub status); a resting plugin is started for it.
            Without a browser here, or over ssh: --paste shows the page's address; paste
            the address on which the browser of any other machine ends. If the service
            hands out a long-lived token, the plugin asks for that; it is not displayed,
            and may come from a pipe.

            $BROWSER names another browser than the desktop's.

            Examples:
              hub login exist
              hub login exist --paste
              pass show exist-token | hub login exist --paste --json

            Exit codes: 0 logged in; 1 the service or the plugin failed, the answer was of
            another log-in, or the plugin does not run; 64 no such plugin, or it has no
            log-in; 69 no hub answers; 71 the port that the browser comes back to is taken;
            75 not finished in time, or the hub or the plugin is busy; 77 the service or
            the person said no; 130 given up at Ctrl-C.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Argument(help: ArgumentHelp("Arguments; hub do NAME lists them.", valueName: "key=value"))
    var arguments: [String] = []
    @Flag(help: "Open no browser and no port; paste the service's answer.") var paste = false
    @Option(
        help: ArgumentHelp("Give up after this time, such as 90s or 30min; up to 24h.", valueName: "time"),
        transform: CallOptions.deadline)
    var timeout: Int64 = 600_000
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document: account, user, expires, renewable.") var json = false

    func run() async throws {
        let endpoint = try options.endpoints().door
        let call = PluginCommandCall(
            instance: name, command: "login", words: arguments, deadline: timeout,
            exits: ["denied": .forbidden, "deadline": .tryAgain])
        let interruption = Interruption(last: HiddenInput.end)
        let result = try await blocking { [name, paste] in
            let door = try DoorClient(endpoint: endpoint, command: "login")
            _ = try LogInPlugin(name, of: door, doing: "login")
            let handler = LogInHandler(isPasting: paste)
            do {
                let result = try call.run(door, interruption, ask: handler.ask)
                handler.end("You may close this page.", isWell: true)
                return result
            } catch let failure as Failure {
                handler.end(failure.message, isWell: false)
                throw failure
            }
        }
        if json { return try Output.json(result?.text ?? "null") }
        let report = try result.map { try JSON.answer(LogInResult.self, $0) }
        try Output.print(report?.line ?? "logged in")
    }
}

/// A plugin to log in to or out of.
struct LogInPlugin {
    /// Whether its program has a command to log out.
    let canLogOut: Bool

    /// - Throws: ``HubExit/usage`` if there is no such plugin, or if `command` is `login` and its program has no log-in.
    init(_ name: String, of door: DoorClient, doing command: String) throws {
        let plugins = try door.ask(.plugins, as: [PluginEntry].self)
        guard let plugin = plugins.first(where: { $0.name == name }) else {
            throw Failure(.usage, "\(command): \(try PluginEntry.absence(of: name, among: plugins.map(\.name), door))")
        }
        let names = plugin.commands.map { $0.map(\.name) }
        if command == "login", let names, !names.contains("login") {
            throw Failure(.usage, "login: \(name) has no log-in; hub do \(name) lists its commands")
        }
        canLogOut = names?.contains("logout") == true
    }
}

/// PluginKit's answer to `login`; other plugins may have other answers.
private struct LogInResult: Decodable {
    var account: String?
    var user: String?
    var expires: String?
    var renewable: Bool?

    var line: String {
        var line = "logged in" + ((user ?? account).map { " as \($0)" } ?? "")
        if let expires { line += renewable == true ? "; it renews itself" : ", until \(expires)" }
        return line
    }
}
