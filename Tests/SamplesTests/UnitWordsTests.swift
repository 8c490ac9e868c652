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
}
