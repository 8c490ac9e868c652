import Foundation
package import HubClient
import HubWire
import Samples

/// Made-up records of the types that a sink reads, published to the hub as any script would do it.
package enum GeneratedBatch {
    /// Maximum number of types.
    private static let most = 4

    /// - Returns: a description of the published records.
    package static func give(for instance: String, _ endpoints: OwnerEndpoints) throws -> String {
        let plugins = try DoorClient(endpoint: endpoints.door, command: "dev").ask(.plugins, as: [PluginEntry].self)
        let reads = plugins.first { $0.name == instance }?.reads ?? []
        let names = reads.contains("*") ? ["weight"] : reads
        let types = names.compactMap { GeneratedRecords.type(among: [$0]) }.prefix(most)
        guard !types.isEmpty else {
            return
                "nothing: it reads \(names.joined(separator: ", ")), of which there are no made-up records; give it some with hub bridge publish"
        }
        let now = Date()
        try give(
            types.flatMap { GeneratedRecords.samples($0, of: "made-up", before: now) }, as: "made-up", to: endpoints)
        let measured = types.filter { $0.kind == .quantity }
        try give(
            measured.flatMap { GeneratedRecords.dayValues($0, person: "me", before: now) }, as: "gap-filler",
            to: endpoints)
        let days = measured.isEmpty ? "" : ", and the values of three days, as the gap-filler makes them"
        return "three records each of \(types.map(\.id.rawValue).joined(separator: ", "))\(days), all made up"
    }

    /// Publishes records as the script of a source would.
    ///
    /// - Throws: ``HubExit/unhealthy`` if one is rejected.
    static func give(_ records: [Record], as source: String, to endpoints: OwnerEndpoints) throws {
        var raw = RawRecords()
        for record in records {
            var bytes: [UInt8] = []
            RecordEncoder.append(record, to: &bytes)
            raw.append(bytes)
        }
        guard !records.isEmpty else { return }
        let results = try DoorClient(endpoint: endpoints.door, command: "dev", source: source).give(raw)
        for case .rejected(_, let reason) in results { throw Failure(.unhealthy, reason) }
    }
}
