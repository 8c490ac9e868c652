/// "Did you mean" for unit names.
package enum UnitHints {
    /// The unit of this grammar that another system or a person calls so; `nil` where none is meant for sure.
    package static func usual(_ name: String) -> String? { UnitWords.spelling(of: name) ?? typed[name] }

    /// Words that people type, and that may mean another unit in a file.
    private static let typed = [
        "kilo": "kg", "kilos": "kg", "C": "degC", "Cel": "degC", "F": "degF", "calories": "kcal", "'": "ft", "′": "ft",
        "’": "ft", "\"": "in", "″": "in", "”": "in", "''": "in",
    ]

    /// `; did you mean kg?`, or a pointer to the grammar.
    static func hint(for name: String) -> String {
        let suggestion = usual(name) ?? nearest(to: name)
        return suggestion.map { "; did you mean \($0)?" } ?? "; units are spelled as HealthKit spells them, such as kg"
    }

    /// A plain name unless a prefixed one is nearer: `mim` is `min`, not a megametre.
    ///
    /// A single letter is one step from every other one, which says nothing: it is meant in the other case, or not at all.
    private static func nearest(to name: String) -> String? {
        func mayBeMeant(_ unit: String) -> Bool {
            name.utf8.count > 1 && unit.utf8.count > 1 || name.lowercased() == unit.lowercased()
        }
        let plain = EditDistance.nearest(to: name, among: unitAtoms.lazy.map(\.name).filter(mayBeMeant))
        let any = EditDistance.nearest(to: name, among: UnitNames.all.keys.lazy.filter(mayBeMeant))
        guard let plain, let any else { return any?.name }
        return any.distance < plain.distance ? any.name : plain.name
    }

    /// Advice on a character that the grammar lacks.
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
