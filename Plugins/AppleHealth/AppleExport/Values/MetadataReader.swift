import JSON
import Samples

/// Converts a `MetadataEntry` to metadata: HealthKit's keys get the hub's names and checked values, all others stay unchanged.
public struct MetadataReader {
    /// The result for a key and a value.
    enum Entry {
        /// A member, with its JSON.
        case member(name: String, json: [UInt8])
        case zone(String)
        case syncIdentifier(String)
        case syncVersion(Int64)
        case externalUUID(String)
    }

    private var times = ExportTimeReader()
    private var utc = UTCWriter()
    private var units: [String: HealthUnit?] = [:]

    public init() {}

    /// Reads an entry; a value that does not match its key is kept under the original spelling in `unread`.
    mutating func read(_ key: String, _ value: String) -> (entry: Entry, isRead: Bool) {
        guard let known = MetadataKey.named(key) else {
            let isTaken = MetadataReader.reserved.contains(key)
            return (.member(name: key, json: .quoted(value)), !isTaken)
        }
        switch known.name {
        case "timeZone" where MetadataReader.isZone(value): return (.zone(value), true)
        case "syncIdentifier": return (.syncIdentifier(value), true)
        case "syncVersion":
            if let version = Int64(value) ?? DecimalText.number(value).flatMap({ Int64(exactly: $0) }) {
                return (.syncVersion(version), true)
            }
        case "externalUUID": return (.externalUUID(value), true)
        default:
            if let json = json(value, known) { return (.member(name: known.name, json: json), true) }
        }
        return (.member(name: key, json: .quoted(value)), false)
    }

    /// Metadata members that this importer writes.
    private static let reserved: Set<String> = [
        "device", "sourceRevision", "sourceName", "creationDate", "unread", "unit", "appleSyncIdentifier",
        "appleSyncVersion", "zones", "note",
    ]

    private static func isZone(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF)
                    || [0x2B, 0x2D, 0x2F, 0x5F].contains($0)
            }
    }

    private mutating func json(_ text: String, _ key: MetadataKey) -> [UInt8]? {
        switch key.content {
        case .string: return .quoted(text)
        case .number: return DecimalText.number(text).map(number)
        case .boolean:
            return switch text.lowercased() {
            case "1", "true", "yes": Array("true".utf8)
            case "0", "false", "no": Array("false".utf8)
            default: nil
            }
        case .date:
            guard let seconds = Array(text.utf8).withUnsafeBytes({ times.seconds($0) }) else { return nil }
            return .quoted(utc.text(seconds))
        case .quantity(let unit): return quantity(text, key.name, unit)
        case .enumeration(let values):
            if let raw = Int(text), let value = values.first(where: { $0.raw == raw }) { return .quoted(value.name) }
            return values.contains { $0.name == text } ? .quoted(text) : nil
        }
    }

    private func number(_ value: Double) -> [UInt8] {
        var output: [UInt8] = []
        NumberWriter.append(value, to: &output)
        return output
    }

    private mutating func quantity(_ text: String, _ name: String, _ own: String?) -> [UInt8]? {
        guard let space = text.firstIndex(of: " "), var value = DecimalText.number(text[..<space]) else { return nil }
        let unit = String(text[text.index(after: space)...])
        guard let parsed = healthUnit(unit), own.map({ healthUnit($0)?.isCompatible(with: parsed) ?? false }) ?? true
        else { return nil }
        // Humidity is written in hundredths of a percent, and in old files in percent, but never as the fraction that % means elsewhere.
        if name == "weatherHumidity", unit == "%" { value /= value > 100 ? 10_000 : 100 }
        return .quantity(value, unit: unit)
    }

    private mutating func healthUnit(_ text: String) -> HealthUnit? {
        if let known = units[text] { return known }
        let unit = try? HealthUnit(text)
        if units.count < 1_000 { units[text] = .some(unit) }
        return unit
    }
}
