import Samples
import Testing

/// Spellings of units outside the grammar.
@Suite struct UnitWordsTests {
    @Test(arguments: [
        ("bpm", "count/min"), ("BPM", "count/min"), ("°C", "degC"), ("\u{2103}", "degC"), ("Km", "km"),
        ("kilocalories", "kcal"),
        ("KCAL", "kcal"), ("Lbs", "lb"), (" pounds ", "lb"), ("mm\u{A0}Hg", "mmHg"), ("ml", "mL"), ("hours", "hr"),
        ("percent", "%"),
    ]) func `a word with one possible unit maps to that unit`(_ word: String, _ unit: String) {
        #expect(UnitWords.spelling(of: word) == unit)
        #expect((try? HealthUnit(unit)) != nil)
    }

    @Test(arguments: ["calories", "Calories", "C", "F", "H", "Mg", "kilo", ""])
    func `an ambiguous word maps to no unit`(_ word: String) {
        #expect(UnitWords.spelling(of: word) == nil)
    }

    @Test func `every unit in which people read a type has names in unit-names.csv`() {
        for (_, unit) in Self.shown {
            let text = UnitText.all.first { $0.spelling == unit }
            #expect(text.map { $0.symbol.isEmpty || $0.singular != unit } == true, "unit-names.csv lacks \(unit)")
        }
    }

    @Test func `a person may type every name of a unit in which people read a type`() throws {
        for (type, unit) in Self.shown {
            let meant = try type.meant(by: unit)
            for text in UnitText.all where text.spelling == unit {
                for name in [text.symbol, text.singular, text.plural] where !name.isEmpty {
                    #expect(try type.meant(by: UnitHints.usual(name) ?? name) == meant, "\(type): \(name)")
                }
            }
        }
    }

    /// The types, each with every unit in which people read it, without the molar mass.
    private static let shown = TypeRegistry.standard.all.flatMap { type in
        type.typicalDisplayUnits.flatMap { $0.split(separator: "+") }.map { unit in
            (type: type, unit: String(unit).replacing(/<[^>]*>/, with: ""))
        }
    }
}
