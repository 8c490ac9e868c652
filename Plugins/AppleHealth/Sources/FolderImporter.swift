import AppleExport
import Foundation
import HubWire
import Logging
import PluginKit

/// Imports the exports of the folder, one at a time, and saves how far each has been read.
actor FolderImporter {
    nonisolated let settings: ImportSettings
    private let hub: PluginContext
    private let turns = AsyncLock()
    /// The state of each export that failed; it is retried when the state changes.
    private var failed: [String: String] = [:]
    /// The last report about each file, or about the folder under an empty name; not repeated at every check.
    private var said: [String: String] = [:]
    /// The report that the hub shows; nil before the first one, when the hub may still show one of an earlier process.
    private var shown: String?

    init(_ hub: PluginContext, _ settings: ImportSettings) { (self.hub, self.settings) = (hub, settings) }

    /// The saved progress of a file.
    private struct Place {
        var state: String
        /// Nil if the file was read to its end.
        var offset: Int64?
        /// The epoch of the hub with its records; a hub restored from a backup may have lost some.
        var epoch: String

        init(state: String, offset: Int64?, epoch: String) {
            (self.state, self.offset, self.epoch) = (state, offset, epoch)
        }

        init?(_ text: String?) {
            let parts = text?.split(separator: "|", omittingEmptySubsequences: false).map(String.init) ?? []
            guard parts.count == 3 else { return nil }
            self.init(state: parts[0], offset: Int64(parts[1]), epoch: parts[2])
        }

        var text: String { "\(state)|\(offset.map(String.init) ?? "")|\(epoch)" }
    }

    /// Imports exports that were not read, or not to their end.
    ///
    /// - Parameter settledFor: minimum time since the last write, so that a file being copied is not read.
    func importNew(settledFor quiet: Duration = .seconds(3)) async throws {
        let listing = try await listing()
        if listing.leftOut > 0 {
            say(
                "",
                "\(settings.folder): of its exports the last \(listing.leftOut) by name are not read: take older ones out"
            )
        }
        let names = Set(listing.entries.map(\.name))
        said = said.filter { names.contains($0.key) || ($0.key.isEmpty && listing.leftOut > 0) }
        for entry in listing.entries {
            guard !hub.isStopping else { return }
            guard failed[entry.name] != entry.state else { continue }
            let epoch = try await self.epoch()
            let known = Place(try await hub.state.text(key(entry)))
            let place = known.flatMap { $0.state == state(entry) && $0.epoch == epoch ? $0 : nil }
            if let place, place.offset == nil { continue }
            guard quiet == .zero || Int(time(nil)) - entry.written >= Int(quiet.components.seconds) else { continue }
            do {
                _ = try await read(entry, from: place?.offset ?? 0, epoch: epoch)
            } catch let error as ExportError {
                // A full disk or an absent share is not the file's fault: retry at the next check.
                if error.code != .io { failed[entry.name] = entry.state }
                say(entry.name, "\(error)")
            } catch let halt as ExportImport.StoreUnavailable {
                // The next check resumes it, and reads the others.
                say(entry.name, "\(entry.name): the hub cannot store: \(halt.reason)")
                break
            } catch let error as PluginStateError where error.code == .diskFull {
                say(entry.name, "\(entry.name): \(error)")
                break
            }
        }
        await showFaults(of: listing.entries.count)
    }

    /// Reports all unreadable exports in one text, because `hub status` shows only the last event.
    private func showFaults(of count: Int) async {
        let faults = said.sorted { $0.key < $1.key }.map(\.value)
        let text =
            faults.count < 2
            ? faults.first ?? ""
            : "\(faults.count) of \(count) exports cannot be read: \(faults.joined(separator: "; "))"
        guard shown != text else { return }
        shown = text
        guard text.isEmpty else { return await tell("import-failed", .error, text) }
        if let event = try? DeviceEvent("import-failed", isResolved: true) { await hub.event(event) }
    }

    /// Lists the folder if it is the one that was read before, or contains exports.
    ///
    /// - Throws: ``PluginFailure`` `unavailable` if the folder is absent, because its exports must not count as deleted.
    private func listing() async throws -> ExportFolder.Listing {
        let listing = try ExportFolder(settings.folder).exports()
        let known = try await hub.state.text("folder")
        guard listing.entries.isEmpty else {
            if known != listing.folder { try await hub.state.set("folder", to: .text(listing.folder)) }
            return listing
        }
        guard let known, known != listing.folder else { return listing }
        throw PluginFailure(
            .unavailable,
            "\(settings.folder) is empty, and not the folder that exports were read from before: if it is of a disk or "
                + "share, mount that; if you have another now, put export.zip there")
    }

    /// Reports that the folder is absent, such as a share, or that the plugin's disk is full; the next check retries.
    func wait(for fault: String) async {
        say("", fault)
        await showFaults(of: said.count)
    }

    private func say(_ name: String, _ text: String) {
        guard said.updateValue(text, forKey: name) != text else { return }
        hub.logger.error(
            name.isEmpty ? "the folder cannot be read" : "an export cannot be read",
            metadata: ["export.error": "\(text)"])
    }

    /// Runs the command `import`.
    func importAgain(_ call: CommandCall) async throws -> [String: [ImportReport]] {
        let name = call.arguments["file"]?.string
        let all = try ExportFolder(settings.folder).exports().entries
        let wanted = all.filter { name == nil || $0.name == name }
        guard !wanted.isEmpty else {
            let names = all.map(\.name).joined(separator: ", ")
            throw CommandFailure(
                "missing",
                "\(settings.folder) has no \(name ?? "export") in it; "
                    + (names.isEmpty ? "put export.zip there" : "it has \(names)"))
        }
        let epoch = try await epoch()
        var (reports, results): ([ImportReport], [String]) = ([], [])
        for entry in wanted {
            do {
                // One bad file does not stop the import of others.
                let report = try await read(entry, from: 0, epoch: epoch, call)
                reports.append(report.keepingPlaces(5))
                results.append(sentence(report, entry))
            } catch let error as ExportError {
                results.append("\(entry.name): cannot be read: \(error)")
            } catch let halt as ExportImport.StoreUnavailable {
                results.append(
                    "\(sentence(halt.report, entry)); the rest of it is not stored, for the hub cannot store: \(halt.reason)"
                )
                let others = wanted.drop { $0.name != entry.name }.dropFirst().map(\.name)
                if !others.isEmpty { results.append("not read: \(others.joined(separator: ", "))") }
                throw CommandFailure(
                    "store",
                    results.joined(separator: "; ")
                        + ". Import again when the hub can store: nothing is stored twice")
            }
        }
        guard reports.count == wanted.count else {
            let count = wanted.count - reports.count
            throw CommandFailure(
                "unreadable",
                (wanted.count > 1 ? "\(count) of \(wanted.count) exports cannot be read. " : "")
                    + results.joined(separator: "; "))
        }
        return ["files": reports]
    }

    private func read(
        _ entry: ExportFolder.Entry, from offset: Int64, epoch: String, _ call: CommandCall? = nil
    ) async throws -> ImportReport {
        var options = settings.options(personZone: hub.persons.first?.zone)
        options.account = try await account()
        var work = ExportImport(entry.path, options: options, scratch: hub.state.directory)
        work.isDryRun = call?.isDryRun ?? false
        // A source may not query the hub.
        work.looksUp = false
        work.resumeOffset = offset
        let (key, state) = (key(entry), state(entry))
        work.save = { try await self.keep(Place(state: state, offset: $0, epoch: epoch), key) }
        if let call {
            work.tell = { call.progress($0.done, of: $0.total, "\(entry.name)\($0.estimate)") }
        }
        let job = work
        hub.logger.info("an export is read", metadata: ["export.size": "\(entry.state)", "export.from": "\(offset)"])
        return try await turns.withLock {
            let report = try await job.run(hub.link)
            if report.finished, !report.dryRun {
                if report.complete, report.fault == nil {
                    try await keep(Place(state: state, offset: nil, epoch: epoch), key)
                } else {
                    // The failure is not final: it is read again when it changes, and once at the next start of the plugin.
                    try await keep(Place(state: state, offset: 0, epoch: epoch), key)
                    failed[entry.name] = entry.state
                }
                said[entry.name] = nil
                await told(report, entry)
            }
            return report
        }
    }

    /// Saves how far an export was read.
    ///
    /// A full disk does not end the plugin: if the position is not saved, the export is read again and nothing is stored twice.
    private func keep(_ place: Place, _ key: String) async throws(PluginStateError) {
        do throws(PluginStateError) {
            try await hub.state.set(key, to: .text(place.text))
        } catch {
            guard error.code == .diskFull else { throw error }
            hub.logger.warning("the place in an export is not saved", metadata: ["state.error": "\(error)"])
        }
    }

    /// The result of an import, in one line.
    private func sentence(_ report: ImportReport, _ entry: ExportFolder.Entry) -> String {
        "\(entry.name): \(report.new ?? 0) of \(report.records) records were new"
            + (report.changed.map { $0 > 0 ? ", \($0) were changed" : "" } ?? "")
            + (report.refused > 0 ? ", \(report.refused) were refused" : "")
            + (report.lost > 0 ? ", \(report.lost) things are lost" : "")
            + (report.complete || !report.finished ? "" : "; the file ends before its end")
            + (report.fault.map { "; \($0)" } ?? "")
    }

    private func told(_ report: ImportReport, _ entry: ExportFolder.Entry) async {
        let sentence = sentence(report, entry)
        hub.logger.info("an export was read", metadata: ["export.result": "\(sentence)"])
        await tell("imported", report.isWhole ? .info : .warning, sentence)
    }

    private func tell(_ name: String, _ severity: DeviceEvent.Severity, _ text: String) async {
        guard let event = try? DeviceEvent(name, severity: severity, text: String(text.prefix(2_000))) else { return }
        await hub.event(event)
    }

    /// The account of the exports, which is part of each record's identity, so that two people's records stay separate.
    ///
    /// Once set, it does not change, even if the person is renamed.
    private func account() async throws -> String? {
        if let account = settings.account { return account }
        if let account = try await hub.state.text("account") { return account }
        guard hub.persons.count < 2 else {
            let names = hub.persons.map(\.name).joined(separator: ", ")
            throw PluginFailure(
                .settings,
                "\(hub.instance) does not know whose exports these are: add persons = [\"\(hub.persons[0].name)\"] to [plugin.\(hub.instance)], and a section with another name and kind = \"apple-health\" for each other of \(names)"
            )
        }
        guard let person = hub.persons.first else { return nil }
        try await hub.state.set("account", to: .text(person.name))
        return person.name
    }

    private func key(_ entry: ExportFolder.Entry) -> String { "file \(entry.name)" }

    /// Includes the settings, because other settings give other records for the same file.
    private func state(_ entry: ExportFolder.Entry) -> String {
        "\(entry.state) \(settings.account ?? "") \(settings.zone ?? "") \(settings.options(personZone: hub.persons.first?.zone).filter.summary)"
            .replacing(
                "|", with: " ")
    }

    private func epoch() async throws -> String {
        guard let welcome = await hub.link.welcome() else { throw CancellationError() }
        return "\(welcome.hub) \(welcome.epoch)"
    }
}

extension ExportFilter {
    /// A text that is equal for equal filters.
    fileprivate var summary: String {
        let types = types?.map(\.rawValue).sorted().joined(separator: ",") ?? "*"
        let sources = sources?.sorted().joined(separator: ",") ?? "*"
        return "\(types) \(sources) \(from ?? 0) \(to ?? 0)"
    }
}
