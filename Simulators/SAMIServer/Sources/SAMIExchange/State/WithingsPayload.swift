import WebFaults

/// Payloads of Withings' own service, which SAMI's cloud connector posted unchanged.
///
/// A measure group becomes the fields of the `Withings Device` (reference §3.3).
enum WithingsPayload {
    /// The fields by Withings' number of a measure.
    private static let fields: [Int: String] = [
        1: "weight", 4: "height", 5: "fatFreeMass", 6: "fatRatio", 8: "fatMassWeight", 9: "diastolicBloodPressure",
        10: "systolicBloodPressure", 11: "heartRate", 12: "temperature", 54: "bloodOxygenLevel", 71: "bodyTemperature",
        73: "skinTemperature", 76: "muscleMass", 77: "hydration", 88: "boneMass", 91: "pulseWaveVelocity",
    ]

    /// The fields of a payload, and its time in milliseconds since 1970; `nil` if it is not a measure group.
    static func read(_ data: JSONTree) -> (data: JSONTree, ts: Int64?)? {
        guard data["category"]?.text == "measure/getmeas", let group = data["measuregrp"], group.members != nil else {
            return nil
        }
        var members: [JSONTree.Member] = []
        for (name, field) in [("grpid", "groupId"), ("category", "category"), ("attrib", "attrib")] {
            if let value = group[name]?.lenientInteger { members.append(.init(field, .whole(value))) }
        }
        for measure in group["measures"]?.list ?? [] {
            guard let type = measure["type"]?.integer, let field = fields[type], let value = measure["value"]?.integer,
                let exponent = measure["unit"]?.integer, let number = decimal(value, exponent)
            else { continue }
            members.append(.init(field, .number(number)))
        }
        let seconds = group["date"]?.lenientInteger ?? -1
        return (.object(members), (0...10_000_000_000).contains(seconds) ? seconds * 1000 : nil)
    }

    /// `value` times ten to the `exponent`, without losing digits: 81400 and -3 are 81.4.
    private static func decimal(_ value: Int, _ exponent: Int) -> String? {
        guard (-18...18).contains(exponent) else { return nil }
        var digits = String(value.magnitude)
        if exponent >= 0 {
            digits += value == 0 ? "" : String(repeating: "0", count: exponent)
        } else {
            digits = String(repeating: "0", count: max(0, 1 - exponent - digits.count)) + digits
            var fraction = digits.suffix(-exponent)
            while fraction.last == "0" { fraction.removeLast() }
            digits = digits.dropLast(-exponent) + (fraction.isEmpty ? "" : "." + fraction)
        }
        return (value < 0 ? "-" : "") + digits
    }
}
