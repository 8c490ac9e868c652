import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire
import Samples

struct LogsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "logs", abstract: "Show a plugin's output, and the hub's messages about its process.",
        discussion: """
            Reads the files below the data directory, logs/NAME.log, whether the hub runs
            or not. A line has its time, a level, its origin (out, err, or hub: the hub's
            messages about the process) and its text. Secrets stand there as <secret>. If
            a plugin prints more than ten lines a second for long, some are left out. The
            files of a plugin hold 5 MiB together; the oldest lines are removed first.

            Examples:
              hub logs ihealth-hs3
              hub logs ihealth-hs3 -f
              hub logs ihealth-hs3 --since 1h --json | jq -r .text

            Exit codes: 0; 1 nothing was logged under that name; 66 there is no hub.conf.
            """)

    @Argument(help: "The instance, as hub.conf names it.") var name: String
    @Flag(name: [.customShort("f"), .long], help: "Wait for more, until Ctrl-C.") var follow = false
    @Option(help: ArgumentHelp("Only the newest n lines; 200 if --since is not given.", valueName: "n")) var last: Int?
    @Option(
        help: ArgumentHelp("Only lines from this time on: \(DateArgument.forms).", valueName: "time"),
        transform: DateArgument.parsed)
    var since: DateArgument?
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document a line: {\"time\",\"level\",\"from\",\"text\"}.") var json = false

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last takes a number from 1.") }
    }

    func run() throws {
        let files = PluginLogFiles(data: try options.hub().data)
        var reader = LogReader(files: files, instance: name)
        let clock = try Failure.entryValue { () throws(EntryError) in
            try PersonClock(zone: nil, now: HubClock.system.now())
        }
        let start = since.map { LogLine.time($0.start(by: clock).microseconds) }
        var lines = reader.read().filter { line in start.map { line.time >= $0 } ?? true }
        guard reader.exists || follow else { throw Failure(.unhealthy, absent(files)) }
        if let most = last ?? (since == nil ? 200 : nil) { lines = lines.suffix(most) }
        try show(lines)
        while follow {
            usleep(200_000)  // Not every file system reports that a file grows.
            try show(reader.read())
        }
    }

    private func show(_ lines: [LogLine]) throws {
        var output = Output()
        for line in lines {
            if json {
                try output.json(Array(try JSON.line(line).utf8)[...])
            } else {
                try output.line(LogsCommand.text(line, colours: Terminal.hasColours))
            }
        }
        try output.flush()
    }

    /// A line for people, with its time in the household's zone.
    static func text(_ line: LogLine, colours: Bool, zone: TimeZone = .current) -> String {
        let level = line.level + String(repeating: " ", count: max(0, 8 - line.level.count))
        let text = StatusColour(level: line.level)?.paint(line.text, colours) ?? line.text
        return "\(LogsCommand.local(line.time, zone)) \(level) \(line.from.rawValue): \(text)"
    }

    private static func local(_ time: String, _ zone: TimeZone) -> String {
        guard let date = try? Date(time, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true))
        else { return time }
        return date.formatted(
            Date.ISO8601FormatStyle(timeZone: zone).year().month().day().dateTimeSeparator(.space).time(
                includingFractionalSeconds: false))
    }

    private func absent(_ files: PluginLogFiles) -> String {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: files.folder)) ?? []
        let names = all.filter { $0.hasSuffix(".log") }.map { String($0.dropLast(4)) }.sorted()
        return "nothing was logged under the name \(name) in \(files.folder)"
            + (names.isEmpty ? "; hub plugins lists the plugins" : "; there are: \(names.joined(separator: ", "))")
    }
}
