/// A metadata key that HealthKit documents, and what its value is.
public struct MetadataKey: Hashable, Sendable {
    /// What a value consists of.
    public enum Kind: String, Hashable, Sendable { case string, number, boolean, date, quantity, `enum` }

    /// Our key: `timeZone`, `heartRateMotionContext`.
    public let name: String
    /// What a value consists of; exports write all of them as text.
    public let kind: Kind
    /// The unit of a quantity; `nil` for other kinds, and where it is the sample's own.
    public let unit: String?
    /// The enumeration's name; `WorkoutActivityType` means ``WorkoutActivity``.
    public let enumeration: String?
    /// The values of an enumeration.
    public let values: [CategoryValue]
    /// HealthKit's spellings: with and without the word `MetadataKey`.
    public let healthKitNames: [String]

    /// Every documented key, in the order of the table.
    public static let all: [MetadataKey] = TableReader.lines(of: metadataKeyTable).map { fields in
        guard fields.count == 6, let kind = Kind(rawValue: fields[1]) else {
            preconditionFailure("a line of the generated metadata table is malformed: \(fields)")
        }
        return MetadataKey(
            name: fields[0], kind: kind, unit: TableReader.optional(fields[2]),
            enumeration: TableReader.optional(fields[3]), values: TableReader.values(fields[4]),
            healthKitNames: TableReader.list(fields[5]))
    }

    private static let bySpelling: [String: MetadataKey] = {
        var keys: [String: MetadataKey] = [:]
        for key in all {
            for spelling in [key.name] + key.healthKitNames { keys[spelling] = key }
        }
        return keys
    }()

    /// The documented key with that name or HealthKit spelling.
    public static func key(named spelling: String) -> MetadataKey? { bySpelling[spelling] }

    /// Our spelling of a metadata key: `HKMetadataKeyTimeZone` and `HKTimeZone` are both `timeZone`.
    ///
    /// Keys newer than the table lose `HKMetadataKey` or `HK` and get a small first letter. All others, such as apps'
    /// own keys, stay as they are. Two spellings of one key in one record become one: whoever fills a dictionary checks.
    public static func normalized(_ spelling: String) -> String {
        if let key = bySpelling[spelling] { return key.name }
        for prefix in ["HKMetadataKey", "HK"] where spelling.hasPrefix(prefix) {
            let rest = spelling.dropFirst(prefix.count)
            guard let first = rest.first, ("A"..."Z").contains(first) else { continue }
            return first.lowercased() + rest.dropFirst()
        }
        return spelling
    }
}
