import JSON
import Samples

/// A unit that is stated where this reader does not take it from: in an object beside the value, or as `"lb": true`.
///
/// A value in another unit than its type's would be wrong if the statement were passed over.
enum HiddenUnit {
    /// - Returns: the path of what states another unit than the type's own; `nil` if nothing does.
    static func place(in member: JSONTree.Member, of type: HealthType) -> String? {
        place(in: member, of: type, isInside: false, depth: 0)
    }

    private static func place(
        in member: JSONTree.Member, of type: HealthType, isInside: Bool, depth: Int
    ) -> String? {
        switch member.value {
        case .object(let inner) where depth < 8:
            return inner.lazy.compactMap { place(in: $0, of: type, isInside: true, depth: depth + 1) }.first
                .map { "\(member.name)/\($0)" }
        case .truth(let truth): return isSwitch(member.name, truth, type) ? member.name : nil
        case .text(let text) where isInside && UnitStatement.isName(member.name):
            guard let own = type.unit, case .unit(let unit)? = UnitStatement(member.name, text, of: type),
                !UnitStatement.areSame(unit, own, of: type)
            else { return nil }
            return member.name
        default: return nil
        }
    }

    /// Whether it says so by its name: `"imperial": true`, `"is_lbs": true`, `"metric": false`, `"kg": false`.
    private static func isSwitch(_ name: String, _ truth: Bool, _ type: HealthType) -> Bool {
        guard let own = type.unit else { return false }
        return UnitStatement.words(of: name).contains { word in
            if ["imperial", "metric"].contains(word) { return truth == (word == "imperial") }
            guard word.count > 1, let unit = PhoneUnits.unit(word, of: type) else { return false }
            return truth != UnitStatement.areSame(unit, own, of: type)
        }
    }
}
