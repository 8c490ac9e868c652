import ArgumentParser
import Foundation
import HealthText
import HubClient
import Synchronization

struct DevCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dev",
        abstract: "Run a plugin with a separate hub while you write it, and restart it at each save.",
        discussion: """
            A whole hub starts in a separate folder; nothing of yours is touched. The
            plugin runs there as it will for others, confined, with the settings of
            test.conf and the program simulator of its folder, as hub plugin test has them.
            Events are shown as they happen:

              log      the plugin's output; plugin: the hub's messages about its process
              state    whether it runs; if not, the reason and the remedy
              record   the records that it gave, as they come on the feed
              gave     how many records: new, changed, already there, rejected
              refused  records that the hub refused, with the reason
              made up  records given to a sink to deliver; they were not measured
              took     the outcome of these deliveries
              saved, build, restart

            When you save a file of the folder, the program is built if the language needs
            that (a folder with Package.swift, or --build), and the plugin started again:
            by hub apply if settings or manifest have changed, else as by hub restart. If
            the build fails, the former program keeps running. Files that its settings name
            are its input, and cause no restart; nor do .md files, names that begin with a
            dot, and files that editors leave.

            Records that it gives again are already there: no sample is stored twice.
            Ctrl-C ends everything, and the store is removed, unless --keep names a folder.

            Examples:
              hub plugin dev pulse
              hub plugin dev . --keep ~/pulse-store
              hub plugin dev . --set 'every = 1' --build 'make'
              hub plugin dev pulse --count 12 --for 60   in a script: are there 12 records?
              hub plugin dev . --json | jq 'select(.event == "refused")'

            Exit codes: 0 ended by Ctrl-C, or after --count records, or after --for seconds
            without --count; 1 there were not as many records in time; 65 the plugin or its
            settings cannot be used; 71 the hub could not be started, or ended early.
            """)

    @Argument(help: "The plugin's folder, or its program.", completion: .file()) var path: String = "."
    @Option(name: .customLong("set"), help: "A line of its section of hub.conf; may be given more than once.")
    var settings: [String] = []
    @Option(
        help: ArgumentHelp(
            "The shell command that makes the program after a change, run in its folder.", valueName: "command"))
    var build: String?
    @Option(help: ArgumentHelp("Keep the store in this folder, and go on with it next time.", valueName: "folder"))
    var keep: String?
    @Option(help: ArgumentHelp("End when n records were given or delivered.", valueName: "n")) var count: Int?
    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time.", valueName: "seconds"))
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
        let place = try DevFolders(keep: keep)
        defer { place.remove() }
        let step = (build ?? Self.buildLine(folder)).map { BuildStep($0, in: DevFolders.folder(of: folder)) }
        // Called at the second Ctrl-C.
        let interruption = Interruption {
            step?.kill()
            HubInstance.killAll()
            place.remove()
        }
        let view = DevView(json: json, most: count) { interruption.release() }
        let fault = Mutex<Failure?>(nil)
        let session = DevSession(path, settings: settings, place: place, build: step, view) {
            fault.withLock { $0 = $0 ?? Failure(.system, "the hub has ended unexpectedly") }
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
            throw Failure(.unhealthy, "\(NumberText.count(seen, "record")) came, and not \(count)")
        }
    }

    /// The build command for a folder that has something to build.
    private static func buildLine(_ folder: String) -> String? {
        guard PluginLanguage.built(in: folder) != nil else { return nil }
        return "'\(HubProgram.path.replacing("'", with: #"'\''"#))' build ."
    }
}
