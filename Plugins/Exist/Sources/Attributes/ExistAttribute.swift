import PluginKit

/// The value type of an attribute, with the number that Exist's API uses for it.
enum ExistValueType: Int, Sendable {
    case whole = 0
    case decimal = 1
    case text = 2
    case minutes = 3
    /// Minutes after midnight.
    case timeOfDay = 4
    /// A fraction, 0 to 1.
    case percentage = 5
    /// Minutes after midday; templates only.
    case timeFromMidday = 6
    case truth = 7
    /// 1 to 9.
    case scale = 8
}

/// The hub's day values from which an attribute is filled.
struct DaySource: Hashable, Sendable {
    var type: TypeID
    var series: String
    /// The unit that Exist expects; nil sends the number in the hub's unit.
    var unit: String?
}

/// An attribute of Exist, and the days of the hub that fill it.
struct ExistAttribute: Sendable {
    /// The name at Exist; for a custom attribute, the name that Exist probably derives from its label.
    let name: String
    /// The group, after which OAuth scopes are named.
    let group: String
    let type: ExistValueType
    /// Number of decimals sent for a fractional value.
    let decimals: Int
    /// The label of a custom attribute; nil for a template.
    let label: String?
    /// Nil if the hub has no days for this attribute.
    var source: DaySource?

    var isTemplate: Bool { label == nil }

    /// All attributes that the setting `attributes` may name.
    static let all: [ExistAttribute] = read(AttributeTables.templates) + read(AttributeTables.customs)

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let types: [Substring: ExistValueType] = [
        "i": .whole, "d": .decimal, "s": .text, "min": .minutes, "tod": .timeOfDay, "%": .percentage,
        "tod12": .timeFromMidday, "1-9": .scale,
    ]

    /// Parses lines of `group name type [hub type, series, unit or -, decimals] [| label]`.
    private static func read(_ table: String) -> [ExistAttribute] {
        table.split(separator: "\n").map { line in
            let columns = line.split(separator: "|").map { $0.trimmingPrefix(" ") }
            let words = columns[0].split(separator: " ")
            var source: DaySource?
            var decimals = 2
            if words.count == 7, let type = try? TypeID(String(words[3])) {
                source = DaySource(
                    type: type, series: String(words[4]), unit: words[5] == "-" ? nil : String(words[5]))
                decimals = Int(words[6]) ?? 2
            }
            return ExistAttribute(
                name: String(words[1]), group: String(words[0]), type: types[words[2]] ?? .text, decimals: decimals,
                label: columns.count > 1 ? String(columns[1]) : nil, source: source)
        }
    }
}
