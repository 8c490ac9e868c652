import JSON
import Samples

/// Values that a device computes from its user profile: height, sex, age.
///
/// If a record turns out to be another person's, the weight is still correct, and these values are marked.
enum BodyProfile {
    /// The member of `metadata` that names the person whose profile the device used.
    static let member = "profileOf"

    static let types: Set<TypeID> = registered.union([try? TypeID("x.ihealth.muscleMass")].compactMap(\.self))

    private static let registered: Set<TypeID> = [
        .bodyFatPercentage, .leanBodyMass, .bodyMassIndex, .hcBasalMetabolicRate, .hcBodyWaterMass, .hcBoneMass,
        .xIhealthBodyWaterPercentage, .xIhealthDailyCalorieIntake, .xIhealthMusclePercentage,
        .xIhealthVisceralFatLevel,
    ]

    /// The name of the device's profile, for a record that is about to be assigned by hand for the first time.
    ///
    /// - Parameter assignment: the assignment by the rules from the source's subject. Sources without a user name say nothing about profiles.
    static func told(_ sample: Sample, _ assignment: Assignment) -> String? {
        guard types.contains(sample.type), let subject = sample.subject else { return nil }
        if let person = assignment.person { return person.name }
        return switch subject {
        case .slot(let slot): "slot \(slot)"
        case .name(let name), .account(let name): name
        }
    }

    static func marked(_ metadata: JSONObject?, with name: String) -> JSONObject {
        JSONObject(trusted: JSONTree.object((members(of: metadata) ?? []) + [mark(name)]).json)
    }

    /// Removes the mark from metadata that a person has edited, because only the hub sets it.
    static func unmarked(_ metadata: JSONObject, of name: String) -> JSONObject? {
        let (all, mark) = (members(of: metadata) ?? [], mark(name))
        return JSONObject(trusted: JSONTree.object(all.filter { $0 != mark }).json)
    }

    private static func members(of metadata: JSONObject?) -> [JSONTree.Member]? {
        metadata.flatMap { JSONTree(Array($0.text.utf8))?.members }
    }

    private static func mark(_ name: String) -> JSONTree.Member { .init(member, .text(name)) }
}
