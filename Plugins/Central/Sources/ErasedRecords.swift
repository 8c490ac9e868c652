import JSON
import Platform
import PluginKit
import PostgreSQL

/// Reports to the centre which records were erased in the hub, if no delivery does.
///
/// The hub delivers no erasure of a record that was already retracted, nor any after a restore of the centre. The hub no longer
/// knows the identities of these records, so the centre finds them by number and sequence.
struct ErasedRecords: Sendable {
    let hub: PluginContext
    let centre: Centre
    let book: ConsentBook

    /// The key of the last report: incarnation, epoch, and a digest of all erased records.
    private static let reportedKey = "erased"
    /// Maximum number that the centre accepts at once.
    private static let most = 1_000

    /// Reports all erased records, unless the last report was the same.
    ///
    /// - Parameters:
    ///   - epoch: the epoch of the hub's store; after a restore of the hub, once it has compared.
    ///   - incarnation: the centre's incarnation.
    /// - Returns: how many of them the centre still had.
    @discardableResult
    func tell(epoch: String, incarnation: Int) async throws -> Int {
        let found = try await erased()
        let words = found.map { "\($0.number) \($0.sequence)" }.joined(separator: ",")
        let told = "\(incarnation) \(epoch) \(Digests.sha256(words.utf8).hexadecimal)"
        guard !found.isEmpty, try await hub.state.text(Self.reportedKey) != told else { return 0 }
        var rows = 0
        for start in stride(from: 0, to: found.count, by: Self.most) {
            let part = found[start..<min(start + Self.most, found.count)]
            let answer = try await centre.call(
                "erased", "SELECT central.erased_v1($1, $2::bigint[], $3::bigint[]) AS answer",
                [epoch, ArrayText.of(part.map { "\($0.number)" }), ArrayText.of(part.map { "\($0.sequence)" })])
            rows += answer["rows"]?.integer ?? 0
        }
        try await hub.state.set(Self.reportedKey, to: .text(told))
        if rows > 0 { hub.logger.notice("reported erased records to the centre", metadata: ["records": "\(rows)"]) }
        return rows
    }

    private typealias Mark = (number: Int64, sequence: Int64)

    /// Erased records of all types in any consent, and of all persons, because a record may have moved to another person before.
    private func erased() async throws -> [Mark] {
        var filter = QueryRequest.Filter()
        filter.types = Set(try await book.all().flatMap(\.types)).sorted()
        filter.kinds = [.retraction]
        var marks: [Mark] = []
        guard filter.types?.isEmpty == false else { return marks }
        for try await page in hub.query(filter) {
            for stored in page.records where WireRecord.isErased(stored) {
                marks.append((stored.number, stored.sequence))
            }
        }
        return marks
    }
}
