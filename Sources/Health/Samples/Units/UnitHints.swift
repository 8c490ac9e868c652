/// "Did you mean" for unit names.
package enum UnitHints {
    /// The unit of this grammar for a name used by another system or a person; `nil` if the meaning is not certain.
    package static func usual(_ name: String) -> String? { UnitWords.spelling(of: name) ?? typed[name] }

    /// Words that people type but that may mean another unit in a file.
    private static let typed = UnitText.spellings(by: \.typedWords)

    /// `; did you mean kg?`, or a pointer to the grammar.
    static func hint(for name: String) -> String {
        let suggestion = usual(name) ?? nearest(to: name)
        return suggestion.map { "; did you mean \($0)?" } ?? "; units are spelled as HealthKit spells them, such as kg"
    }

    /// The nearest unit name.
    ///
    /// A plain name wins unless a prefixed one is nearer: `mim` suggests `min`, not a megametre.
    ///
    /// A single letter is one edit away from every other letter, so it suggests only the same letter in the other case.
    private static func nearest(to name: String) -> String? {
        func mayBeMeant(_ unit: String) -> Bool {
            name.utf8.count > 1 && unit.utf8.count > 1 || name.lowercased() == unit.lowercased()
        }
        let plain = EditDistance.nearest(to: name, among: unitAtoms.lazy.map(\.name).filter(mayBeMeant))
        let any = EditDistance.nearest(to: name, among: UnitNames.all.keys.lazy.filter(mayBeMeant))
        guard let plain, let any else { return any?.name }
        return any.distance < plain.distance ? any.name : plain.name
    }

    /// Advice on a character that the grammar does not contain.
    static func hint(at character: String) -> String? {
        switch character {
        case "µ", "μ": "micro is spelled mc, as in mcg"
        case "°": "degrees are spelled degC, degF or deg"
        case " ": "a unit has no spaces"
        case "²", "³": "exponents are spelled ^2 and ^3"
        case "×", "⋅": "factors are separated by ·, * or ."
        default: nil
        }
    }
}
