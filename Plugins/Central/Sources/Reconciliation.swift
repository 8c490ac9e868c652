import JSON
import PluginKit

/// Compares the hub's records with the centre's after a restore of either or a new consent, and sends those that differ.
///
/// Ranges of the hub's sequence are compared by digest, and halved if they differ. The hub keeps no copy of the sent records;
/// its records are queried page by page.
struct Reconciliation: Sendable {
    let hub: PluginContext
    let centre: Centre
    let book: ConsentBook

    /// A page of the hub's answer: a range of sequences, and the rows and digest that the centre must have for it.
    private struct Page {
        var range: ClosedRange<Int64>
        var rows = 0
        var digest: Int64 = 0
    }

    /// - Parameters:
    ///   - epoch: the epoch of the hub's store.
    ///   - head: the last sequence to compare, or nil for all; later records are delivered as usual.
    /// - Returns: the number of records that were sent again.
    func run(epoch: String, upTo head: Int64?) async throws -> Int {
        let pages = try await pages(epoch, head)
        var open = [pages.indices]
        var sent = 0
        while let part = open.popLast(), let first = part.first, let last = part.last {
            let range = pages[first].range.lowerBound...pages[last].range.upperBound
            if try await isSame(pages[part], range) { continue }
            if part.count == 1 {
                sent += try await send(range, epoch)
            } else {
                // Send the newer half first: its records replace older versions, so the older half then agrees.
                let middle = (first + last + 1) / 2
                open += [first..<middle, middle..<part.endIndex]
            }
        }
        return sent
    }

    private func query(_ consents: [Consent]) -> QueryRequest.Filter {
        var filter = QueryRequest.Filter()
        filter.types = Array(Set(consents.flatMap(\.types))).sorted()
        filter.persons = Array(Set(consents.map(\.person))).sorted()
        filter.kinds = QueryRequest.Kind.allCases
        return filter
    }

    private func pages(_ epoch: String, _ head: Int64?) async throws -> [Page] {
        let consents = try await book.active()
        var pages: [Page] = []
        var next: Int64 = 1
        if !consents.isEmpty {
            for try await answer in hub.query(query(consents), since: Cursor(epoch: epoch, sequence: 0)) {
                let records = answer.records.filter { $0.sequence <= head ?? .max }
                guard let last = records.last?.sequence else { break }
                var page = Page(range: next...last)
                for record in records.compactMap({ Self.wire($0, consents) }) {
                    page.rows += 1
                    page.digest ^= record.digest
                }
                pages.append(page)
                next = last + 1
            }
        }
        // The centre may have records behind the hub's last one.
        if let head, next <= head { pages.append(Page(range: next...head)) }
        return pages
    }

    private func isSame(_ pages: ArraySlice<Page>, _ range: ClosedRange<Int64>) async throws -> Bool {
        let answer = try await centre.call(
            "digest", "SELECT central.digest_v2($1, $2) AS answer", ["\(range.lowerBound)", "\(range.upperBound)"])
        return answer["rows"]?.integer == pages.reduce(0) { $0 + $1.rows }
            && answer["digest"]?.integer.map { Int64($0) } == pages.reduce(0) { $0 ^ $1.digest }
    }

    /// Sends the hub's present records of a page's range.
    private func send(_ range: ClosedRange<Int64>, _ epoch: String) async throws -> Int {
        let consents = try await book.active()
        guard !consents.isEmpty else { return 0 }
        var sent = 0
        let start = Cursor(epoch: epoch, sequence: range.lowerBound - 1)
        for try await answer in hub.query(query(consents), since: start) {
            let records = answer.records.filter { range.contains($0.sequence) }.compactMap { Self.wire($0, consents) }
            if !records.isEmpty {
                let book = book
                let outcomes = try await centre.give(records, epoch: epoch, backlog: nil) {
                    try await book.active() == consents
                }
                for outcome in outcomes {
                    if case .impossible(let failure) = outcome {
                        hub.logger.warning("the centre cannot take a record", metadata: ["centre.reason": "\(failure)"])
                    } else {
                        sent += 1
                    }
                }
            }
            guard let last = answer.records.last?.sequence, last < range.upperBound else { break }
        }
        return sent
    }

    /// The form that the centre must have of a record under any consent; nil for none.
    ///
    /// Erased records are reported separately (``ErasedRecords``).
    private static func wire(_ stored: StoredRecord, _ consents: [Consent]) -> WireRecord? {
        guard !WireRecord.isErased(stored) else { return nil }
        let fitting = consents.filter { consent in
            consent.person == stored.assignment.person?.uid && consent.types.contains(stored.type.rawValue)
        }
        let passages = fitting.map { WireRecord.passage(of: stored, under: $0) }
        let records = passages.compactMap { if case .goes(let record) = $0 { record } else { nil } }
        return records.first { !$0.isTakenBack } ?? records.first
    }
}
