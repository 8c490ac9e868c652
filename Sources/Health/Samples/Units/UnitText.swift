/// A unit as people read and type it: a row of Types/Tables/unit-names.csv.
package struct UnitText: Sendable {
    /// HealthKit's spelling, without a molar mass.
    package let spelling: String
    /// The symbol after a number; empty for counts.
    package let symbol: String
    /// The shortest symbol, which directly follows the number.
    package let mark: String
    /// The full names; equal to the spelling of a unit that has none.
    package let singular, plural: String
    /// The minimum and maximum number of decimals; `nil` if the unit has the usual ones.
    package let decimals: ClosedRange<Int>?
    /// Words with no other meaning, wherever they are written.
    let words: [String]
    /// Words that people type but that may mean another unit in a file.
    let typedWords: [String]

    /// Every unit with a row.
    package static let all = TableReader.lines(of: unitNameTable).map(UnitText.init)

    private init(_ fields: [String]) {
        precondition(fields.count == 9, "a line of the generated table of unit names is malformed: \(fields)")
        (spelling, symbol, mark, singular, plural) = (fields[0], fields[1], fields[2], fields[3], fields[4])
        decimals = if let least = Int(fields[5]), let most = Int(fields[6]) { least...most } else { nil }
        (words, typedWords) = (TableReader.list(fields[7]), TableReader.list(fields[8]))
    }

    /// The unit of each word in a list.
    static func spellings(by list: (UnitText) -> [String]) -> [String: String] {
        Dictionary(uniqueKeysWithValues: all.flatMap { unit in list(unit).map { ($0, unit.spelling) } })
    }
}
