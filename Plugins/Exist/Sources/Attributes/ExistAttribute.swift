import PluginKit

/// What an attribute's values are, by Exist's own numbers.
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

/// Which days of the hub an attribute is made of.
struct DaySource: Hashable, Sendable {
    var type: TypeID
    var series: String
    /// What Exist counts in; nil takes the number as the hub has it.
    var unit: String?
}

/// An attribute of Exist, and what fills it.
struct ExistAttribute: Sendable {
    /// Exist's own name; of a custom attribute the one that its label will probably get.
    let name: String
    /// What a scope is named after.
    let group: String
    let type: ExistValueType
    /// Decimals that are sent of a number that may have some.
    let decimals: Int
    /// For people; nil where Exist has a template of this name.
    let label: String?
    /// Nil where the hub has no days of it.
    var source: DaySource?

    var isTemplate: Bool { label == nil }

    /// All that can be named in `attributes`.
    static let all: [ExistAttribute] = read(AttributeTables.templates) + read(AttributeTables.customs)

    static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    private static let types: [Substring: ExistValueType] = [
        "i": .whole, "d": .decimal, "s": .text, "min": .minutes, "tod": .timeOfDay, "%": .percentage,
        "tod12": .timeFromMidday, "1-9": .scale,
    ]

    /// `group: name type [hub type, series, unit or -, decimals] [label]`, a line each.
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
