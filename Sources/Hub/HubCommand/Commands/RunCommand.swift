import HealthText
import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the hub, in the foreground, until Ctrl-C or SIGTERM.",
        discussion: """
            Checks hub.conf first and shows all errors. With an error in [hub], in
            [person.…] or in the file's grammar nothing is started. A [plugin.…] with an
            error, or without its program, is left out, and the rest runs: hub status shows
            that. The log goes to stderr ([hub] log_level sets how much).

            Ctrl-C and SIGTERM end it in order: plugins finish, and accepted records are
            stored. A second Ctrl-C ends it at once; no confirmed record is lost. SIGHUP
            does the same as hub apply. When its terminal is closed, the hub ends.

            Without a hub.conf only the page runs, on this machine alone, and asks who you
            are, for units and plugins: hub web prints a link to it, for one browser. The
            hub takes no records before it has the file. It starts with the file that the
            page has it write, or with one that appears in the meantime. With --no-setup
            it ends with exit code 66 instead.

            Examples:
              hub run
              hub run --config ~/health/hub.conf
              hub run 2>> hub.log &

            Exit codes: 0 ended in order; 64 wrong arguments; 65 hub.conf has an error
            outside [plugin.…]; 66 there is no hub.conf and it cannot be made, or it cannot
            be read; 71 the store or the sockets cannot be opened; 75 another hub runs
            already, or the hub left at memory_limit and must be started again.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "End with an error if there is no hub.conf.") var noSetup = false
    @Option(
        help: ArgumentHelp(
            "The port of this machine at which the page asks if there is no hub.conf.", valueName: "port"))
    var setupPort = 7_790
    @Flag(
        help: ArgumentHelp(
            "End when stdin does, as with SIGTERM: for a program that starts the hub.", visibility: .hidden))
    var untilEof = false

    func validate() throws {
        guard (1...65_535).contains(setupPort) else { throw ValidationError("--setup-port takes 1 to 65535.") }
    }

    func run() async throws {
        let (hangups, hangup) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let interruption = Interruption(hangup: { hangup.yield() })
        if untilEof { RunCommand.end(interruption) }
        if !noSetup, let future = try FutureConfiguration.wanted(named: options.config) {
            let first = FirstRun(future: future, named: options.config, port: setupPort)
            guard try await first.run(interruption) else { return }
        }
        let path = try options.path()
        let loader = ConfigurationLoader(path: path, programPath: HubProgram.path)
        let checked = await loader.load(asksPlugins: false)
        for problem in checked.loaded.problems { Terminal.say(problem.description) }
        guard checked.text != nil else { throw Failure(.noConfiguration, "nothing was started") }
        guard let configuration = checked.loaded.configuration else {
            throw Failure(.badConfiguration, "\(path) cannot be used; nothing was started")
        }
        configuration.hub.liveInZone()
        let running = try RunningHub(checked, configuration, reload: { await loader.load($0) })
        let applying = Task { for await _ in hangups { RunCommand.tell(await running.hub.applyConfiguration()) } }
        defer { applying.cancel() }
        try await running.run(interruption) {
            let greeting = try? await blocking { RunCommand.greeting(running.hub.endpoints, configuration) }
            if let greeting { Terminal.complain(greeting) }
            Terminal.complain(RunCommand.next(configuration))
        } end: {
            await interruption.wait()
        }
    }

    /// Ends the hub when stdin ends.
    private static func end(_ interruption: Interruption) {
        Thread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            interruption.release()
        }.start()
    }

    /// Reports the effect of SIGHUP where the log goes.
    private static func tell(_ report: ApplyReport?) {
        guard let report else {
            return Terminal.complain("SIGHUP came too early or too late, or twice; nothing was changed")
        }
        for line in ApplyText(report).lines { Terminal.say(line) }
    }

    /// The next command to type, in another terminal.
    static func next(_ configuration: HubConfiguration) -> String {
        configuration.persons.isEmpty
            ? "next: hub setup adds the people of this hub and its plugins"
            : configuration.plugins.contains(where: \.enabled)
                ? "next, in another terminal: hub status"
                : "next, in another terminal: hub log weight 80kg enters a value, hub setup enables plugins"
    }

    /// The line that announces the running hub.
    ///
    /// It blocks for the answer to one question.
    static func greeting(_ endpoints: HubEndpoints, _ configuration: HubConfiguration) -> String {
        var records = ""
        let status = try? DoorClient(endpoint: endpoints.door, command: "run").ask(.status, as: HubStatus.self)
        if let count = status?.records { records = ", \(NumberText.count(count, "record"))" }
        let plugins = configuration.plugins.filter(\.enabled).map(\.name)
        let names =
            plugins.isEmpty
            ? "no plugins" : NumberText.count(plugins.count, "plugin") + ": " + plugins.joined(separator: ", ")
        return "ready: door \(endpoints.door), feed \(endpoints.feed)\(records), \(names)"
    }
}
