package import HubWire
package import PluginKit
import Samples

/// Sends an export to a hub in batches, several of them concurrently.
///
/// It does not record which records the hub has; the hub detects duplicates.
package struct ExportImport: Sendable {
    package var path: String
    package var options: ExportOptions
    /// A folder for the records that must wait until the end of the export.
    package var scratch: String
    /// Whether to store nothing and only look up which records the hub already has.
    package var isDryRun = false
    /// In a dry run: whether to ask the hub which records it has.
    package var looksUp = true
    /// The offset up to which the hub has everything; from ``save``.
    package var resumeOffset: Int64 = 0
    /// Called from time to time with the offset up to which the hub has answered everything.
    package var save: @Sendable (Int64) async throws -> Void = { _ in }
    package var tell: @Sendable (ImportDialogue.Progress) -> Void = { _ in }

    package init(_ path: String, options: ExportOptions, scratch: String) {
        (self.path, self.options, self.scratch) = (path, options, scratch)
    }

    /// The types that the importer declares in HELLO.
    package static let declarations = ExportReader.declaredTypes.map {
        TypeDeclaration(id: $0.rawValue, kind: .other)
    }
    /// The plugin kind of all records that come from exports.
    package static let kind = "apple-health"

    /// The hub could not store records for some seconds; the import ended and can be resumed.
    package struct StoreUnavailable: Error {
        /// The reason that the hub gave.
        package let reason: String
        /// The results so far; all answered records are stored unless the hub refused them.
        package let report: ImportReport
    }

    /// How long the hub may fail to store before the import ends, in milliseconds.
    ///
    /// A brief lack of space passes, but a full disk does not.
    private static let storePatience: Int64 = 4_000
    private static let batchRecords = 2_000
    private static let batchesAtOnce = 6

    /// One call to the hub in progress.
    private struct Sent: Sendable {
        let batch: ExportBatch
        let offset: Int64
        let position: Int64
        let task: Task<[RecordResult], any Error>
    }

    /// Reads the export to its end, or until the task is cancelled.
    ///
    /// - Returns: the results; ``ImportReport/finished`` is false if the task was cancelled.
    /// - Throws: ``ExportError`` if the file is not an export; ``StoreUnavailable``; ``GiveError`` `stopping`; errors of ``save``.
    package func run(_ link: HubLink) async throws -> ImportReport {
        let reader = try ExportReader(path, options: options, scratch: scratch, resumeOffset: resumeOffset)
        var counts = ImportCounts()
        var sent: [Sent] = []
        let began = ContinuousClock.now
        var saved = began
        func settle(_ first: Sent) async throws {
            let results = try await first.task.value
            note(results, of: first.batch, &counts)
            let part = Double(first.position) / Double(max(1, reader.size))
            let seconds = Double((ContinuousClock.now - began).components.seconds)
            tell(
                ImportDialogue.Progress(
                    done: first.position, total: reader.size, records: counts.answered,
                    remaining: seconds > 2 && part > 0.01 ? seconds / part * (1 - part) : nil))
            guard !isDryRun, ContinuousClock.now - saved > .seconds(2), first.offset < .max else { return }
            saved = .now
            try await save(first.offset)
        }
        func report(finished: Bool) -> ImportReport {
            counts.report(
                reader.account, file: path, dryRun: isDryRun, isCounted: looksUp || !isDryRun, finished: finished)
        }
        func settleFirst() async throws {
            do {
                try await settle(sent.removeFirst())
            } catch let error as GiveError where error.code == .storage {
                // Batches in progress also get answers, and some of them may be stored.
                for other in sent {
                    if let results = try? await other.task.value { note(results, of: other.batch, &counts) }
                }
                throw StoreUnavailable(reason: error.message, report: report(finished: false))
            }
        }
        while !Task.isCancelled, let batch = try reader.next(Self.batchRecords) {
            if sent.count == Self.batchesAtOnce { try await settleFirst() }
            let task = Task {
                guard isDryRun else { return try await give(batch.groups, link) }
                return looksUp ? try await look(batch, link) : []
            }
            sent.append(Sent(batch: batch, offset: batch.offset, position: reader.position, task: task))
        }
        let isFinished = !Task.isCancelled
        // Wait for the answers to all batches in progress, unless the plugin is stopped.
        while !sent.isEmpty { try await settleFirst() }
        return report(finished: isFinished)
    }

    private func note(_ results: [RecordResult], of batch: ExportBatch, _ counts: inout ImportCounts) {
        for (index, (mark, result)) in zip(batch.marks, results).enumerated() {
            switch result {
            // The number of a record equals the sequence of its first version (R6.2).
            case .stored(let number, let sequence):
                counts.add(mark) { if number == sequence { $0.new += 1 } else { $0.changed += 1 } }
            case .duplicate: counts.add(mark) { $0.known += 1 }
            case .rejected(let code, let reason):
                let record = ExportBatch.description(of: batch.groups.records[index])
                counts.refuse(
                    mark, "\(code.rawValue): \(reason)",
                    ImportReport.Place(date: record.start, type: record.type, source: record.device))
            }
        }
    }

    /// Sends a refused batch again group by group, so that only the groups at fault are refused.
    private func give(_ groups: GroupedRecords, _ link: HubLink) async throws -> [RecordResult] {
        do throws(GiveError) {
            return try await link.store(groups, isBackfill: true, storePatience: Self.storePatience)
        } catch {
            guard error.code == .refused || error.code == .invalid else { throw error }
            guard groups.count > 1 else {
                return groups.records.map { _ in .rejected(.group, reason: error.message) }
            }
            let middle = groups.count / 2
            return try await give(groups[0..<middle], link) + give(groups[middle..<groups.count], link)
        }
    }

    // MARK: - Look-up

    /// For each record, whether the hub has one with its identity.
    private func look(_ batch: ExportBatch, _ link: HubLink) async throws -> [RecordResult] {
        var known: Set<String> = []
        var decoder = StoredRecordDecoder()
        let identities = batch.groups.records.map { ExportBatch.identity(of: $0) }
        var rest = Set(identities.map(\.key)).sorted()[...]
        while !rest.isEmpty {
            let keys = Array(rest.prefix(900))
            rest = rest.dropFirst(900)
            var query = QueryRequest(id: 0)
            query.filter.sources = [Self.kind]
            query.filter.condition = .keys(keys)
            while true {
                let answer = try await link.ask(query)
                guard case .records(let records, let next, _) = answer.content else {
                    throw ExportError(.io, "the hub answered a question about records without records")
                }
                for record in records {
                    let found = try record.withUnsafeBytes { try decoder.record($0) }
                    guard case .sample(let sample) = found.record else { continue }
                    known.insert(Self.name(sample.source.device, sample.source.account, sample.key.text))
                }
                guard let next else { break }
                query.next = next
            }
        }
        return identities.map { identity in
            known.contains(Self.name(identity.device, identity.account, identity.key))
                ? .duplicate(number: 0, sequence: 0) : .stored(number: 0, sequence: 0)
        }
    }

    private static func name(_ device: String?, _ account: String?, _ key: String) -> String {
        "\(device ?? "")\u{1F}\(account ?? "")\u{1F}\(key)"
    }
}

extension ImportCounts {
    var answered: Int { all.new + all.changed + all.known + all.refused }
}
