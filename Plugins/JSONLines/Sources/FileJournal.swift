import HealthExports
import Platform
import PluginKit

/// Writes each record version once, however often it is delivered.
///
/// A delivery is durable when its lines are flushed *and* the state has saved the new length of the file; the hub gets the answer
/// after both. A crash between the two leaves unsaved lines: the next write cuts them off, and the hub delivers them again.
/// A crash after both may lose the answer: the hub delivers again, and the plugin confirms the versions that its state remembers.
actor FileJournal {
    /// Number of versions remembered: more than a hub may have unconfirmed (R10.19).
    private static let remembered = 20_000

    /// A version within an epoch.
    private struct Version: Hashable {
        let number: Int64
        let sequence: Int64
    }

    private struct Place: Hashable {
        var name: String
        /// The period of the file, by UTC.
        var period: String
        var length: Int64
    }

    private var settings: FileSettings?
    private var files: RecordFiles?
    private var hub: PluginContext?
    private var place: Place?
    /// The hub's epoch of the versions; nil before the first delivery.
    private var epoch: String?
    private var known: Set<Version> = []
    /// The writes, oldest first: each with its key in the state and its versions.
    private var writes: [(key: String, versions: [Version])] = []
    private var lastWrite: Int64 = 0

    // MARK: - Opening

    /// Creates the directory, and reads from the state where the last run ended.
    func open(_ settings: FileSettings, _ hub: PluginContext) async throws {
        let files = RecordFiles(
            directory: settings.path, instance: hub.instance, extension: settings.format.suffix)
        try files.prepare()
        (self.settings, self.files, self.hub) = (settings, files, hub)
        let saved = try await hub.state.transaction { state in
            let keys = try state.keys(prefix: "write/")
            return Saved(
                path: try state.text("path"), columns: try state.text("columns"), name: try state.text("file"),
                period: try state.text("period"),
                epoch: try state.text("epoch"), length: try state.integer("length"),
                writes: try keys.map { ($0, try state.bytes($0) ?? []) })
        }
        guard saved.path == settings.path, let name = saved.name, let length = saved.length else { return }
        // If files were removed or truncated, forget their versions: hub replay may deliver them again.
        guard name.hasSuffix(".\(files.extension)"), let size = files.size(of: name), size >= length else {
            hub.logger.notice(
                "the last file is not as it was left; a new one begins",
                metadata: ["file": "\(settings.path)/\(name)"])
            return try await forget()
        }
        // Lines with other columns go to another file, so use a period that never matches.
        let period = saved.columns == settings.header ? saved.period : "before"
        place = Place(name: name, period: period ?? "", length: length)
        do { try cutTail() } catch { throw PluginFailure(.unavailable, error.description) }
        epoch = saved.epoch
        for (key, bytes) in saved.writes {
            let versions = Self.versions(bytes)
            writes.append((key, versions))
            known.formUnion(versions)
            lastWrite = max(lastWrite, Int64(key.dropFirst("write/".count), radix: 16) ?? 0)
        }
    }

    private struct Saved: Sendable {
        var path, columns, name, period, epoch: String?
        var length: Int64?
        var writes: [(key: String, bytes: [UInt8])]
    }

    private func forget() async throws {
        guard let hub else { return }
        try await hub.state.transaction { state in
            for key in try state.keys(prefix: "write/") { try state.set(key, to: nil) }
            for key in ["path", "columns", "file", "period", "length", "epoch"] { try state.set(key, to: nil) }
        }
    }

    // MARK: - Writing

    /// - Throws: ``DeliveryFailure`` if the files cannot be written; then no record of the call counts as written.
    func write(_ records: [DeliveredRecord]) async throws -> [DeliveryResult] {
        guard let settings, let files, let hub else { return records.map { _ in .retry(after: 1_000, reason: nil) } }
        if let epoch = records.first?.version.epoch { try await follow(epoch, hub) }
        let new = records.filter { !known.contains(Version(number: $0.number, sequence: $0.sequence)) }
        if !new.isEmpty {
            do {
                let target = try await place(for: settings, files, hub)
                let lines = Self.lines(new, settings, isFirst: target.length == 0)
                try files.append(lines, to: target.name, at: target.length)
                try await note(new, in: target, length: target.length + Int64(lines.count))
            } catch let error as FileError {
                throw DeliveryFailure.retry(error.description)
            }
        }
        // No receipt, because the hub would have to keep one for every record.
        guard settings.format == .fhirLines else { return records.map { _ in .delivered } }
        return records.map { record in
            FHIRLinesExport.refusal(of: record.stored).map { .refused(reason: $0) } ?? .delivered
        }
    }

    /// The file for the next lines; a new one is saved in the state before it is written to.
    private func place(
        for settings: FileSettings, _ files: RecordFiles, _ hub: PluginContext
    ) async throws -> Place {
        let period = settings.rotation.period(at: hub.clock.time)
        if let place, place.period == period, place.length < settings.maximumSize,
            let size = files.size(of: place.name), size >= place.length
        {
            return place
        }
        try cutTail()
        try files.prepare()
        let new = Place(name: try files.next(period: period), period: period, length: 0)
        try files.create(new.name)
        try await hub.state.transaction { state in
            try Self.set(new, of: settings.path, in: state)
            try state.set("columns", to: .text(settings.header))
        }
        place = new
        return new
    }

    /// Forgets the versions of another epoch: a restored hub reuses numbers that other records had.
    private func follow(_ epoch: String, _ hub: PluginContext) async throws {
        guard epoch != self.epoch else { return }
        let isKnown = self.epoch != nil
        try await hub.state.transaction { state in
            if isKnown { for key in try state.keys(prefix: "write/") { try state.set(key, to: nil) } }
            try state.set("epoch", to: .text(epoch))
        }
        self.epoch = epoch
        guard isKnown else { return }
        hub.logger.notice("the hub's store was restored; lines from before that stay as they are")
        (known, writes) = ([], [])
    }

    /// Cuts off lines that were written but not saved in the state, because the hub delivers them again.
    private func cutTail() throws(FileError) {
        guard let files, let place, let size = files.size(of: place.name), size > place.length else { return }
        try files.append([], to: place.name, at: place.length)
    }

    private static func set(
        _ place: Place, of path: String, in state: borrowing PluginState.Transaction
    ) throws(PluginStateError) {
        try state.set("path", to: .text(path))
        try state.set("file", to: .text(place.name))
        try state.set("period", to: .text(place.period))
        try state.set("length", to: .integer(place.length))
    }

    private static func lines(_ records: [DeliveredRecord], _ settings: FileSettings, isFirst: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        switch settings.format {
        case .jsonLines:
            for record in records {
                bytes += record.json.utf8
                bytes.append(0x0A)
            }
        case .csv:
            if isFirst { bytes += settings.header.utf8 }
            for record in records { bytes += CSVColumn.line(record.stored, settings.columns).utf8 }
        case .fhirLines:
            // A later version of one value of a blood pressure arrives alone, so write the first alone, too.
            var writer = FHIRLinesExport(joinsCorrelations: false)
            for record in records { writer.write(ExportItem(record.stored, json: []), to: &bytes) }
        }
        return bytes
    }

    /// Saves the new length and the versions in the state.
    private func note(_ records: [DeliveredRecord], in target: Place, length: Int64) async throws {
        guard let settings, let hub else { return }
        var target = target
        target.length = length
        let versions = records.map { Version(number: $0.number, sequence: $0.sequence) }
        let key = "write/" + (lastWrite + 1).hexadecimal(digits: 16)
        var forgotten = 0
        var count = known.count + versions.count
        while count > Self.remembered, forgotten < writes.count {
            count -= writes[forgotten].versions.count
            forgotten += 1
        }
        let (path, noted, old) = (settings.path, target, writes[..<forgotten].map(\.key))
        try await hub.state.transaction { state in
            try Self.set(noted, of: path, in: state)
            try state.set(key, to: .bytes(Self.bytes(versions)))
            for key in old { try state.set(key, to: nil) }
        }
        lastWrite += 1
        place = target
        for write in writes[..<forgotten] { known.subtract(write.versions) }
        writes.removeFirst(forgotten)
        writes.append((key, versions))
        known.formUnion(versions)
    }

    private static func bytes(_ versions: [Version]) -> [UInt8] {
        versions.flatMap { version in
            withUnsafeBytes(of: version.number.littleEndian, Array.init)
                + withUnsafeBytes(of: version.sequence.littleEndian, Array.init)
        }
    }

    private static func versions(_ bytes: [UInt8]) -> [Version] {
        func integer(_ offset: Int) -> Int64 {
            bytes[offset..<offset + 8].reversed().reduce(0) { $0 << 8 | Int64($1) }
        }
        return stride(from: 0, to: bytes.count - bytes.count % 16, by: 16).map {
            Version(number: integer($0), sequence: integer($0 + 8))
        }
    }
}
