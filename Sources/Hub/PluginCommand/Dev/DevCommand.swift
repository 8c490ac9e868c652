import ArgumentParser
import Foundation
import HealthText
import HubClient
import Synchronization

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Run a plugin beside a hub of its own while you write it, and start it again at each save.",
        discussion: """
            A whole hub starts in a folder of its own; nothing of yours is touched. The
            plugin runs there as it will for others, confined, with the settings of
            test.conf and the program simulator of its folder, as hub plugin test has them.
            What happens is shown as it happens:

              log      what the plugin prints; plugin: what the hub did with its process
              state    whether it runs, and if not, why and what to do
              record   what it has given, as it comes on the feed
              gave     how many records: new, changed, already there, rejected
              refused  what the hub did not take of it, and why
              made up  what a sink was given to deliver: records that were not measured
              took     what became of that
              saved, build, restart

            When a file of the folder is saved, the program is built where the language
            needs that (a folder with Package.swift, or --build), and the plugin started
            again: by hub apply where settings or manifest have changed, else as by hub
            restart. Where the build fails the program of before keeps running. A file that
            its settings name is what it reads, and starts nothing; nor do .md files, names
            that begin with a dot, and what editors leave.

            What it gives again is already there: no sample is stored twice. Ctrl-C ends
            everything, and the store goes with it, unless it is kept in a folder.

            Examples:
              hub plugin dev pulse
              hub plugin dev . --keep ~/pulse-store
              hub plugin dev . --set 'every = 1' --build 'make'
              hub plugin dev pulse --count 12 --for 60   in a script: are there 12 records?
              hub plugin dev . --json | jq 'select(.event == "refused")'

            Exit codes: 0 ended by Ctrl-C, or after --count records, or after --for seconds
            without --count; 1 there were not as many records in time; 65 the plugin or its
            settings cannot be used; 71 the hub could not be started, or ended by itself.
            """)

    @Argument(help: "The plugin's folder, or its program.", completion: .file())
    var path: String = "."
    @Option(name: .customLong("set"), help: "A line of its section of hub.conf; may be given more than once.")
    var settings: [String] = []
    @Option(
        help: ArgumentHelp(
            "What makes the program after a change, a line of a shell in its folder.", valueName: "command"))
    var build: String?
    @Option(help: ArgumentHelp("Keep the store in this folder, and go on with it next time.", valueName: "folder"))
    var keep: String?
    @Option(help: ArgumentHelp("End when so many records were given or delivered.", valueName: "n"))
    var count: Int?
    @Option(name: .customLong("for"), help: ArgumentHelp("End after so long.", valueName: "seconds"))
    var duration: Int?
    @Flag(help: "A JSON object a line: {\"event\",\"text\",…}, or {\"event\":\"record\",\"topic\",\"record\"}.")
    var json = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
        if let duration, !(1...86_400).contains(duration) { throw ValidationError("--for takes 1 to 86400 seconds.") }
    }

    func run() async throws {
        let folder = URL(filePath: path).standardizedFileURL.path
        guard FileManager.default.fileExists(atPath: folder) else {
            throw Failure(.badConfiguration, "\(folder) is not there: name a plugin's folder, or its program")
        }
        let place = try DevPlace(keep: keep)
        defer { place.remove() }
        let step = (build ?? Self.buildLine(folder)).map { BuildStep($0, in: DevPlace.folder(of: folder)) }
        // Called at the second Ctrl-C.
        let interruption = Interruption {
            step?.kill()
            WholeHub.killAll()
            place.remove()
        }
        let view = DevView(json: json, most: count) { interruption.release() }
        let fault = Mutex<Failure?>(nil)
        let session = DevSession(path, settings: settings, place: place, build: step, view) {
            fault.withLock { $0 = $0 ?? Failure(.system, "the hub has ended by itself") }
            interruption.release()
        }
        Task {
            do { try await session.run() } catch {
                fault.withLock { $0 = error as? Failure ?? Failure(.fault, "\(error)") }
                interruption.release()
            }
        }
        if let duration {
            Task {
                try await Task.sleep(for: .seconds(duration))
                interruption.release()
            }
        }
        await interruption.wait()
        let seen = view.count
        let failure = fault.withLock(\.self)
        await session.end()
        if let failure { throw failure }
        if let count, seen < count {
            throw Failure(.notWell, "\(NumberText.count(seen, "record")) came, and not \(count)")
        }
    }

    /// The build command for a folder that has something to build.
    private static func buildLine(_ folder: String) -> String? {
        guard PluginLanguage.built(in: folder) != nil else { return nil }
        return "'\(HubProgram.path.replacing("'", with: #"'\''"#))' build ."
    }
}
