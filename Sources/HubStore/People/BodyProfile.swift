import Samples

/// Values that a device computes with what it was told of the person: height, sex, age.
///
/// When it turns out that somebody else stood there, the weight is still true, and these are marked.
enum BodyProfile {
    /// The member of `metadata` that names whose profile the device had.
    static let member = "profileOf"

    static let types: Set<TypeID> = registered.union([try? TypeID("x.ihealth.muscleMass")].compactMap(\.self))

    private static let registered: Set<TypeID> = [
        .bodyFatPercentage, .leanBodyMass, .bodyMassIndex, .hcBasalMetabolicRate, .hcBodyWaterMass, .hcBoneMass,
        .xIhealthBodyWaterPercentage, .xIhealthDailyCalorieIntake, .xIhealthMusclePercentage,
        .xIhealthVisceralFatLevel,
    ]

    /// Whose profile the device had when a record is about to be given to somebody by hand for the first time.
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
        guard let metadata, !metadata.isEmpty else { return JSONObject(trusted: "{\(text(name))}") }
        return JSONObject(trusted: "\(metadata.text.dropLast()),\(text(name))}")
    }

    /// Takes the mark out of metadata that a person has edited: it is the hub's to make.
    static func unmarked(_ metadata: JSONObject, of name: String) -> JSONObject? {
        let mark = text(name)
        for (found, rest) in [(",\(mark)", ""), ("\(mark),", ""), ("{\(mark)}", "{}")] {
            if let range = metadata.text.firstRange(of: found) {
                return JSONObject(
                    trusted: metadata.text[..<range.lowerBound] + rest + metadata.text[range.upperBound...])
            }
        }
        return metadata
    }

    private static func text(_ name: String) -> String {
        var text = "\"\(member)\":\""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\": text += "\\\(scalar)"
            case _ where scalar.value < 0x20:
                text += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
