import Foundation
import Testing

@testable import HealthText

@Suite struct FormatterTests {
    /// The fields of a line of a CSV file, with quoted fields.
    private func fields(_ line: Substring) -> [String] {
        var (fields, isQuoted) = ([""], false)
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    @Test func `the texts equal those of Foundation's formatters in four locales and three widths`() throws {
        let url = try #require(Bundle.module.url(forResource: "formatter-vectors", withExtension: "csv"))
        let rows = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").dropFirst().map(fields)
        #expect(rows.count == 282)
        for row in rows {
            let (function, option) = (row[0], row[3])
            let value = try #require(Double(row[4]))
            let formatter = HealthFormatter(Locale(identifier: row[1]), try #require(TextWidth(rawValue: row[2])))
            let options = Dictionary(
                option.split(separator: ";").map { $0.split(separator: "=").map(String.init) }.map { ($0[0], $0[1]) },
                uniquingKeysWith: { $1 })
            var unit = options["unit"].flatMap { PeopleUnit(named: $0) }
            if unit == PeopleUnit("kcal"), options["food"] == "true" { unit = PeopleUnit("Cal") }
            let text =
                switch function {
                case "mass.unitString", "length.unitString": formatter.label(value, try #require(unit))
                default: formatter.text(value, try #require(unit))
                }
            #expect(text == row[5], "\(row)")
        }
        print("formatter vectors: \(rows.count) rows")
    }

    @Test(arguments: [
        (12.99999, "13 st"), (11.9999, "12 st"), (11.99, "11 st, 13.86 lb"), (0.5, "7 lb"), (-0.5, "-7 lb"),
        (0, "0 st"),
    ])
    func `stones never have fourteen pounds`(_ stones: Double, _ text: String) {
        #expect(HealthFormatter(Locale(identifier: "en_GB"), decimals: 0...2).text(stones, .stone) == text)
    }

    @Test func `a height never has twelve inches`() {
        let formatter = HealthFormatter(Locale(identifier: "en_US"), decimals: 0...0)
        #expect(formatter.pair(1.8287 / 0.3048, .foot) == "6 ft, 0 in")
        #expect(formatter.pair(1.778 / 0.3048, .foot) == "5 ft, 10 in")
    }

    @Test(arguments: [
        ("en_US", "1,234.5"), ("de_DE", "1.234,5"), ("fr_FR", "1\u{202F}234,5"), ("es_ES", "1234,5"),
        ("ja_JP", "1,234.5"),
    ])
    func `numbers have the separators of the locale`(_ locale: String, _ text: String) {
        #expect(HealthFormatter(Locale(identifier: locale)).number(1_234.5) == text)
    }
}
