import JSON
import Samples

/// Finds a unit in a member that the reader does not use: in an object beside the value, or as `"lb": true`.
///
/// Ignoring it would store a wrong value if the unit differs from the type's unit.
enum HiddenUnit {
    /// - Returns: the path of the first member that gives another unit than the type's; `nil` if there is none.
    static func place(in members: [JSONTree.Member], of type: HealthType) -> String? {
        guard let own = type.unit, let unit = type.healthUnit else { return nil }
        let search = Search(type: type, own: own, hasSystems: systemUnits.contains { $0.isCompatible(with: unit) })
        return members.lazy.compactMap { search.place(in: $0, depth: 0) }.first
    }

    /// The dimensions with both metric and imperial units: mass, length, volume, temperature and speed.
    private static let systemUnits = ["kg", "m", "L", "degC", "m/s"].compactMap { try? HealthUnit($0) }
    /// Names of Boolean members that give a unit and have no other meaning.
    private static let switches = [
        "lb": "lb", "lbs": "lb", "pound": "lb", "pounds": "lb", "st": "st", "stone": "st", "stones": "st", "oz": "oz",
        "ounces": "oz", "kg": "kg", "kgs": "kg", "kilograms": "kg", "fahrenheit": "degF", "celsius": "degC",
        "miles": "mi", "mi": "mi", "km": "km", "inches": "in", "feet": "ft", "cm": "cm", "percent": "%",
    ]
    /// Members of an object that is a separate value with its own unit.
    private static let values: Set = ["value", "qty", "quantity", "amount", "min", "max", "target"]

    private struct Search {
        let type: HealthType
        let own: String
        let hasSystems: Bool

        func place(in member: JSONTree.Member, depth: Int) -> String? {
            switch member.value {
            case .object(let inner):
                guard depth < 8, !inner.contains(where: { HiddenUnit.values.contains($0.name.lowercased()) }) else {
                    return nil
                }
                return inner.lazy.compactMap { place(in: $0, depth: depth + 1) }.first.map { "\(member.name)/\($0)" }
            case .list(let elements):
                guard depth < 8 else { return nil }
                return elements.prefix(100).enumerated().lazy
                    .compactMap { place(in: .init("\($0)", $1), depth: depth + 1) }.first
                    .map { "\(member.name)/\($0)" }
            case .truth(let truth): return isSwitch(member.name, truth) ? member.name : nil
            case .number(let digits):
                return ["0", "1"].contains(digits) && isSwitch(member.name, digits == "1") ? member.name : nil
            case .text(let text):
                if let truth = Bool(text.lowercased()) { return isSwitch(member.name, truth) ? member.name : nil }
                // The reader itself reads texts at the top level.
                guard depth > 0 else { return nil }
                if hasSystems, UnitStatement.systems.contains(text.trimmed.lowercased()) { return member.name }
                guard UnitStatement.isName(member.name),
                    case .unit(let unit)? = UnitStatement(member.name, text, of: type),
                    !UnitStatement.areSame(unit, own, of: type)
                else { return nil }
                return member.name
            case .null: return nil
            }
        }

        /// Whether the name and the Boolean give a different unit: `"imperial": true`, `"is_lbs": true`, `"metric": false`, `"kg": false`.
        private func isSwitch(_ name: String, _ truth: Bool) -> Bool {
            let words = UnitStatement.words(of: name).filter {
                !["is", "in", "use", "uses", "unit", "units"].contains($0)
            }
            guard words.count == 1, let word = words.first else { return false }
            if ["imperial", "metric"].contains(word) { return hasSystems && truth == (word == "imperial") }
            guard let unit = HiddenUnit.switches[word], let ownUnit = type.healthUnit,
                (try? type.meant(by: unit))?.isCompatible(with: ownUnit) == true
            else { return false }
            return truth != UnitStatement.areSame(unit, own, of: type)
        }
    }
}
