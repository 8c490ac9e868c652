import ArgumentParser
import Foundation
import HubWire
import Logging
import Samples
import ZeroMQ

enum PluginVerb: String, EnumerableFlag {
    case describe, checkSettings, check, once, run

    static func help(for verb: PluginVerb) -> ArgumentHelp? {
        switch verb {
        case .describe: "Print the manifest as JSON: the types it reads and writes, and its settings."
        case .checkSettings: "Read settings as JSON from stdin, and print their faults as JSON."
        case .check: "Log in for real, write nothing, and report the findings."
        case .once: "Do one pass, wait until the hub has stored it, and end."
        case .run: "Work until stopped; the hub starts plugins with this."
        }
    }
}

/// The command line that every plugin has.
struct PluginCommandLine<P: Plugin>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "hub-\(P.manifest.name)", abstract: P.manifest.summary,
            discussion: """
                The hub starts this program for every [plugin.<instance>] of hub.conf that names it, and hands it address, \
                settings and secrets. By hand, write the settings into a file of their own (NAME = VALUE, as below \
                [plugin.<instance>]) and try:

                  hub-\(P.manifest.name) --describe
                  hub-\(P.manifest.name) --check --settings my.conf
                  hub-\(P.manifest.name) --once --settings my.conf --door ipc:///run/user/1000/health-hub/door

                On another machine than the hub's, or under another service manager, with the file that \
                `hub keys new` prints there:

                  hub-\(P.manifest.name) --run --key hub.key

                `hub status --json` prints the door of a running hub. Records that the hub has not stored yet are kept in \
                the state directory, and sent when the hub is there again.

                \(PluginExit.help)
                """, version: P.manifest.version)
    }

    @Flag(exclusivity: .exclusive) var verb: PluginVerb?

    @Option(help: ArgumentHelp("Take the settings from this file instead of the hub.", valueName: "file"))
    var settings: String?

    @Option(
        help: ArgumentHelp(
            "The hub's door, such as ipc:///run/user/1000/health-hub/door; $HUB_DOOR if not given (hub status --env).",
            valueName: "url"))
    var door: String?

    @Option(
        help: ArgumentHelp(
            "The key file of a hub on another machine, from hub keys new; $HUB_KEY if not given.", valueName: "file"))
    var key: String?

    @Option(
        help: ArgumentHelp("The name this instance has at the hub; \(P.manifest.name) if not given.", valueName: "name")
    )
    var instance: String?

    @Option(
        help: ArgumentHelp(
            "The directory of state and spool; ~/.local/state/health-hub/<instance> if not given.", valueName: "dir"))
    var state: String?

    @Flag(help: "Log details too.") var verbose = false

    func validate() throws {
        if door != nil, key != nil { throw ValidationError("--door and --key exclude each other.") }
    }

    func run() async throws {
        guard let verb else {
            say("hub-\(P.manifest.name) is started by the hub; by hand it needs one of the verbs below.")
            FileHandle.standardError.write(Data("\n\(Self.helpMessage())\n".utf8))
            throw ExitCode(PluginExit.usage.rawValue)
        }
        let manifest = P.fullManifest
        let faults = manifest.faults
        guard faults.isEmpty else {
            for fault in faults { say("hub-\(P.manifest.name): the manifest is wrong: \(fault)") }
            throw ExitCode(PluginExit.manifest.rawValue)
        }
        do {
            switch verb {
            case .describe: print(try manifest.json)
            case .checkSettings: print(try Self.verdict(on: Self.input()).json)
            case .check: print(PlainText.lines(try await check()))
            case .once: try await work(.once)
            case .run: try await work(.run)
            }
        } catch let failure as PluginFailure {
            say("hub-\(P.manifest.name): \(failure.message)")
            throw ExitCode(failure.exit.rawValue)
        }
    }

    /// Writes a line for a person to stderr, escaped, because the text may come from a service, a device or a file.
    private func say(_ text: String) {
        FileHandle.standardError.write(Data("\(PlainText.line(text))\n".utf8))
    }

    private func makeLogger(_ instance: String) -> Logger {
        LoggingSystem.bootstrap { PlainLogHandler(label: $0) }
        var logger = Logger(label: instance)
        logger.logLevel = verbose ? .debug : .info
        return logger
    }

    /// Reads and checks the file of `--settings`.
    private func readSettings() throws -> PluginSettings? {
        guard let settings else { return nil }
        let text: String
        var mode: UInt16?
        do {
            text = try String(contentsOfFile: settings, encoding: .utf8)
            let attributes = try FileManager.default.attributesOfItem(atPath: settings)
            mode = (attributes[.posixPermissions] as? NSNumber)?.uint16Value
        } catch {
            throw PluginFailure(.settings, "\(settings): the settings cannot be read: \(error.localizedDescription)")
        }
        let file = SettingsFile.load(
            text: Self.withoutHeader(text), file: settings, fileMode: mode, environment: .process(),
            declarations: P.manifest.settings)
        for problem in file.problems { say("\(problem)") }
        guard let values = file.settings else {
            throw PluginFailure(.settings, "the settings are wrong; nothing was started")
        }
        return PluginSettings(values)
    }

    /// Blanks the header `[plugin.NAME]`, with which `sample.conf` and a section copied from `hub.conf` begin.
    ///
    /// The line stays, so that problems keep their line numbers.
    static func withoutHeader(_ text: String) -> String {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if let first = lines.firstIndex(where: { !$0.isEmpty && !$0.hasPrefix("#") }),
            lines[first].hasPrefix("[plugin.")
        {
            lines[first] = ""
        }
        return lines.joined(separator: "\n")
    }

    /// The launch data from the hub, unless the arguments name a hub.
    private func readLaunch() throws -> Launch? { door == nil && key == nil ? try Launch.read() : nil }

    /// The key of a hub on another machine, if there is one.
    private func readKey(_ launch: Launch?) throws -> HubKey? {
        guard door == nil, launch == nil else { return nil }
        guard let path = key ?? ProcessInfo.processInfo.environment["HUB_KEY"], !path.isEmpty else { return nil }
        if let warning = HubKey.warning(path: path) { say(warning) }
        let key = try HubKey(path: path)
        guard instance == nil || instance == key.instance else {
            throw PluginFailure(.usage, "--instance \(instance ?? ""): the key \(path) is of \(key.instance)")
        }
        return key
    }

    /// The address of the hub: from `--door`, from the launch data, or from the key.
    private func place(
        _ launch: Launch?, _ key: HubKey?
    ) throws -> (address: HubAddress, instance: String, state: String) {
        let instance = instance ?? launch?.instance ?? key?.instance ?? P.manifest.name
        guard PeerName.isValid(instance) else {
            throw PluginFailure(.usage, "--instance \(instance): expected \(PeerName.expected)")
        }
        let directory = state ?? launch?.stateDirectory ?? Self.defaultState(instance)
        if let door { return (HubAddress(door: door), instance, directory) }
        if let key { return (HubAddress(door: key.door, logIn: .key(key)), instance, directory) }
        guard let launch else {
            if let address = HubAddress.ofShell() { return (address, instance, directory) }
            throw PluginFailure(
                .usage,
                "there is no hub to give to: add --door URL (hub status --json prints it) or --key FILE (hub keys new makes it), or let the hub start this"
            )
        }
        return (launch.address, instance, directory)
    }

    private static func defaultState(_ instance: String) -> String {
        let environment = ProcessInfo.processInfo.environment
        let base = environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        return (base ?? NSHomeDirectory() + "/.local/state") + "/health-hub/\(instance)"
    }

    private func work(_ mode: Hello.Mode) async throws {
        let launch = try readLaunch()
        let key = try readKey(launch)
        let settings = try readSettings()
        let (address, instance, directory) = try place(launch, key)
        let (signals, context) = (StopSignals(watchingInput: launch != nil), try Context())
        let runner = PluginRunner(
            P(), mode: mode, address: address, instance: instance, stateDirectory: directory, settings: settings,
            logger: makeLogger(instance), context: context)
        let exit = await runner.run(requests: signals.requests)
        // `return` does not end the process: cancelled work may still be running. `exit` tears down globals that this work still uses, so a plugin
        // without any fault would end by a signal.
        fflush(nil)
        // The last messages are still being sent; cancelled work may hold a socket open.
        context.finish(within: .milliseconds(500))
        _exit(exit.rawValue)
    }

    private func check() async throws -> String {
        let launch = try readLaunch()
        let given = try readSettings()
        // Ignore a key or a door of the environment if a settings file is given.
        let key = given != nil && key == nil ? nil : try readKey(launch)
        let namesShellsHub = given == nil && HubAddress.ofShell() != nil
        guard door != nil || launch != nil || key != nil || namesShellsHub else {
            guard let given else {
                throw PluginFailure(
                    .usage,
                    "there is nothing to check with: add --settings FILE, or --door URL or --key FILE of a hub that knows the settings"
                )
            }
            let instance = instance ?? P.manifest.name
            return try await checked(
                CheckContext(
                    instance: instance, settings: given, clock: .system, logger: makeLogger(instance),
                    stateDirectory: state ?? Self.defaultState(instance)))
        }
        let (address, instance, directory) = try place(launch, key)
        let logger = makeLogger(instance)
        let runner = PluginRunner(
            P(), mode: .check, address: address, instance: instance, stateDirectory: directory, settings: nil,
            logger: logger, context: try Context())
        return try await runner.withSession { welcome, tokens in
            let context = CheckContext(
                instance: instance, settings: try given ?? PluginSettings(welcome: welcome.settings, for: P.manifest),
                clock: try welcome.hubClock(), logger: logger, stateDirectory: directory, tokens: tokens)
            return try await checked(context)
        }
    }

    private func checked(_ context: CheckContext) async throws -> String {
        do {
            return try await P().check(context)
        } catch let failure as PluginFailure {
            throw failure
        } catch {
            throw PluginFailure(.failed, "\(error)")
        }
    }
}

extension Manifest {
    /// One line with members in alphabetical order, so that equal manifests have equal texts.
    package var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }
}
