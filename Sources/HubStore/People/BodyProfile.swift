import JSON
import Samples

/// Values that a device computes with what it was told of the person: height, sex, age.
///
/// When it turns out that it was another person, the weight is still true, and these are marked.
enum BodyProfile {
    /// The member of `metadata` that names whose profile the device had.
    static let member = "profileOf"

    static let types: Set<TypeID> = registered.union([try? TypeID("x.ihealth.muscleMass")].compactMap(\.self))

    private static let registered: Set<TypeID> = [
        .bodyFatPercentage, .leanBodyMass, .bodyMassIndex, .hcBasalMetabolicRate, .hcBodyWaterMass, .hcBoneMass,
        .xIhealthBodyWaterPercentage, .xIhealthDailyCalorieIntake, .xIhealthMusclePercentage,
        .xIhealthVisceralFatLevel,
    ]

    /// Whose profile the device had when a record is about to be given to a person by hand for the first time.
    ///
    /// - Parameter assignment: the rules', by what the source said; a source that names no user says nothing of profiles.
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

    /// Takes the mark out of metadata that a person has edited: it is the hub's to make.
    static func unmarked(_ metadata: JSONObject, of name: String) -> JSONObject? {
        let (all, mark) = (members(of: metadata) ?? [], mark(name))
        return JSONObject(trusted: JSONTree.object(all.filter { $0 != mark }).json)
    }

    private static func members(of metadata: JSONObject?) -> [JSONTree.Member]? {
        metadata.flatMap { JSONTree(Array($0.text.utf8))?.members }
    }

    private static func mark(_ name: String) -> JSONTree.Member { .init(member, .text(name)) }
}
