import Foundation
import HubWire
import Samples

/// One line of `deliveries.jsonl`.
struct CaseDelivery: Sendable {
    var want: String
    var records: [String]
    var results: CaseValue

    /// Returns an empty array if there is no such file.
    static func read(_ file: URL) throws -> [CaseDelivery] {
        guard FileManager.default.fileExists(atPath: file.path) else { return [] }
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .filter { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) }.map { line in
                // The records are kept byte for byte: a DELIVER without its number has the same form.
                let body = Array(line.replacing("{", with: "{\"delivery\":0,", maxReplacements: 1).utf8)
                let message = try Array("DELIVER".utf8).withUnsafeBytes { verb in
                    try body.withUnsafeBytes { try HubMessage.decode(verb: verb, body: $0) }
                }
                guard case .deliver(let delivery) = message, case .object(let members) = try CaseValue(json: line),
                    let results = members["results"]
                else { throw CaseFailure(name: file.lastPathComponent, differences: ["a line has no results"]) }
                return CaseDelivery(
                    want: delivery.want, records: delivery.records.indices.map(delivery.records.text), results: results)
            }
    }

    /// Sends each delivery after the previous one is answered.
    ///
    /// - Returns: the differences from the expected answers.
    static func play(_ deliveries: [CaseDelivery], _ hub: FakeHub) async -> [String] {
        var differences: [String] = []
        for (index, delivery) in deliveries.enumerated() {
            let path = "delivery \(index + 1)"
            await hub.wants(delivery.want)
            guard let place = await hub.deliver(delivery.records, to: delivery.want) else {
                return differences + ["\(path): no subscription \(delivery.want) is open, or its credit is used up"]
            }
            guard let report = await hub.report(of: place) else { return differences + ["\(path) was not answered"] }
            let body = String(decoding: ClientMessage.done(report).body, as: UTF8.self)
            guard case .object(let members)? = try? CaseValue(json: body) else { continue }
            differences += delivery.results.differences(from: members["results"], at: "\(path): results")
        }
        return differences
    }
}
