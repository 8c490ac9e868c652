import Digests
import JSON
import PluginKit
import PostgreSQL

/// Tells the centre which records were erased in this house, where no delivery does.
///
/// A record that was taken back before is told to no sink a second time, and after a restore of the centre none is. The hub does not know
/// their identities any more: the centre finds them by the hub's number and sequence.
struct ErasedRecords: Sendable {
    let hub: PluginContext
    let centre: Centre
    let book: ConsentBook

    /// What was told last: of which incarnation and epoch, and a digest of all of them.
    private static let toldKey = "erased"
    /// The most that the centre takes at once.
    private static let most = 1_000

    /// Tells all that there are, unless the centre has been told of the same before.
    ///
    /// - Parameters:
    ///   - epoch: of the hub's store; of a hub that was restored after its comparison.
    ///   - incarnation: of the centre.
    /// - Returns: how many of them the centre still had.
    @discardableResult
    func tell(epoch: String, incarnation: Int) async throws -> Int {
        let found = try await erased()
        let words = found.map { "\($0.number) \($0.sequence)" }.joined(separator: ",")
        let told = "\(incarnation) \(epoch) \(Digests.sha256(words.utf8).hexadecimal)"
        guard !found.isEmpty, try await hub.state.text(Self.toldKey) != told else { return 0 }
        var rows = 0
        for start in stride(from: 0, to: found.count, by: Self.most) {
            let part = found[start..<min(start + Self.most, found.count)]
            let answer = try await centre.call(
                "erased", "SELECT central.erased_v1($1, $2::bigint[], $3::bigint[]) AS answer",
                [epoch, ArrayText.of(part.map { "\($0.number)" }), ArrayText.of(part.map { "\($0.sequence)" })])
            rows += answer["rows"]?.integer ?? 0
        }
        try await hub.state.set(Self.toldKey, to: .text(told))
        if rows > 0 { hub.logger.notice("told the centre what was erased", metadata: ["records": "\(rows)"]) }
        return rows
    }

    private typealias Mark = (number: Int64, sequence: Int64)

    /// Of the types that someone has agreed to give or had; of all persons, for a record may have become another's before.
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
