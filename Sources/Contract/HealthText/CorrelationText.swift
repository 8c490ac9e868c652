package import Samples

/// Describes correlations by the values of their members.
package enum CorrelationText {
    /// `134/74 mmHg` for a type with fixed members, else `Lunch: Carbohydrates 40 g, …`; `nil` without members.
    ///
    /// - Parameter members: the other records of its group.
    package static func words(_ members: [StoredRecord], of record: StoredRecord, for reader: DisplayPreferences)
        -> String?
    {
        func value(_ member: StoredRecord) -> String { ValueText.marked(member, for: reader) }
        let needed = TypeRegistry.standard.type(record.type)?.requiredMembers ?? []
        guard needed.isEmpty else {
            let values = needed.compactMap { type in members.first { $0.type == type }.map(value) }
            let parts = values.map { ($0.prefix { !$0.isWhitespace }, $0.drop { !$0.isWhitespace }) }
            guard let unit = parts.last?.1 else { return nil }
            guard parts.allSatisfy({ $0.1 == unit }) else { return values.joined(separator: " / ") }
            return parts.map(\.0).joined(separator: "/") + unit
        }
        guard !members.isEmpty else { return nil }
        let parts = members.map { "\(NameWords.type($0.type)) \(value($0))" }.sorted()
        return "\(value(record)): \(parts.prefix(8).joined(separator: ", "))\(parts.count > 8 ? ", …" : "")"
    }
}
