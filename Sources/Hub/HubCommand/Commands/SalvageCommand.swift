import HealthText
import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubStore
import HubWire

struct SalvageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "salvage", abstract: "Copy all readable rows of a damaged store into a new file.",
        discussion: """
            If the disk has lost pages of the store, the hub confirms no more records (hub
            status names the page). Restoring a backup is best. If there is none, or it
            lacks much, this copies every readable row into a new file, corrects its
            counters, and reports the losses: which sequences, and of whom as far as that
            is known. The damaged store is only read.

            hub restore FILE then puts the new file in the place of the store, under a
            new epoch. Subscriptions keep their readable state of deliveries; lost records
            that were still to be delivered are counted.

            Examples:
              hub salvage --dry-run                   only what would be lost
              hub salvage whole.sqlite
              hub restore whole.sqlite

            Exit codes: 0 the file is made, even if something is lost; 1 so much is
            damaged that nothing can be read; 64 there is such a file; 71 the disk is full
            or cannot be written; 75 the hub runs: stop it first.
            """)

    @Argument(help: "The new file, outside the hub's own folder.") var file: String?
    @Flag(help: "Report its contents; the file is made beside the store, and removed.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @Flag(help: "One JSON document.") var json = false
    @OptionGroup var options: ConfigurationOptions

    func validate() throws {
        guard (file == nil) == dryRun else {
            throw ValidationError(
                dryRun ? "--dry-run makes no file; leave the name out." : "Name the new file, or say --dry-run.")
        }
    }

    func run() async throws {
        let hub = try options.configuration().hub
        let store = HubFiles(hub).store
        let target = try file.map { name throws(Failure) in
            let files = try BackupFiles(name, data: hub.data, now: Date())
            guard files.folder == nil else { throw Failure(.usage, "\(name) is a folder; name a file in it") }
            return files.target
        }
        let interruption = Interruption { unlink((target ?? store) + ".salvaging") }
        let found = try await BackupCommand.storing("salvaging", until: interruption) { progress in
            try StoreSalvage(store).carryOut(to: target, now: HubClock.system.now(), progress: progress)
        }
        try Output.print(SalvageText.lines(found, target: target), json: json ? try JSON.line(found) : nil)
    }
}

/// The report of `hub salvage`.
enum SalvageText {
    /// Maximum number of lines of each kind; `--json` has all.
    private static let most = 20

    static func lines(_ report: SalvageReport, target: String?) -> [String] {
        var lines = shortened(report.damage.map { "damaged  \(PlainText.escaped($0))" }, "more damaged pages")
        if report.damage.isEmpty { lines.append("damaged  no page: hub backup makes a copy without stopping the hub") }
        if let store = report.store { lines.append("whole    \(StoreText.summary(store))") }
        lines.append("lost     \(loss(report))")
        lines += shortened(report.topics.map { "           \(topic($0))" }, "more kinds of records")
        lines += shortened(report.lostSequences.map { "           sequence \(range($0))" }, "more runs of sequences")
        lines += report.lostSinks.map {
            "sink     \(PlainText.escaped($0)) is lost: its target's contents are no longer known, and it begins again"
        }
        lines += report.lostDeliveries.sorted { $0.key < $1.key }.map { sink, count in
            let sink = PlainText.escaped(sink)
            return
                "sink     \(sink): \(NumberText.count(count, "delivery is", "deliveries are")) lost; hub replay --to \(sink) delivers all records again"
        }
        if report.hasLostErasures {
            lines.append("erased   part of the list of erased and removed records is lost: sources may bring them back")
        }
        if let target { lines.append("made     \(target); now: hub restore \(target)") }
        return lines
    }

    private static func loss(_ report: SalvageReport) -> String {
        if report.lostVersions == 0 { return report.unreadable.isEmpty ? "nothing" : "no record" }
        return
            "\(NumberText.count(report.lostRecords, "record")), \(NumberText.count(report.lostVersions, "version")) of records in all"
    }

    private static func topic(_ topic: SalvageReport.Topic) -> String {
        if topic.kind == "inbox" { return "\(NumberText.count(topic.lost, "version")) of the inbox" }
        let kind = topic.kind == "sample" ? "" : topic.kind + "s of "
        let from = topic.label.map { (topic.kind == "day" ? " in " : " from ") + $0 } ?? ""
        return PlainText.escaped(
            "\(NumberText.grouped(topic.lost)) \(kind)\(topic.type ?? "a type that is lost") of \(topic.person ?? "a person who is lost")\(from)"
        )
    }

    private static func range(_ range: ClosedRange<Int64>) -> String {
        range.count == 1
            ? NumberText.grouped(range.lowerBound)
            : "\(NumberText.grouped(range.lowerBound)) to \(NumberText.grouped(range.upperBound))"
    }

    private static func shortened(_ lines: [String], _ what: String) -> [String] {
        lines.count <= most
            ? lines
            : lines.prefix(most) + [
                "           \(NumberText.grouped(Int64(lines.count - most))) \(what); --json has them"
            ]
    }
}
