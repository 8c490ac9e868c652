import JSON
import Samples

/// The names that types and units have in FHIR and Open mHealth exports.
///
/// The codes come from the type registry (LOINC, UCUM, HealthKit's identifiers). This type only formats them.
enum InterchangeCode {
    /// A code and its code system.
    struct Coding: Hashable, Sendable {
        let system: String
        let code: String
    }

    static let loinc = "http://loinc.org"
    static let ucum = "http://unitsofmeasure.org"
    static let healthKit = "http://developer.apple.com/documentation/healthkit"

    /// The codes of a type: all its LOINC codes, the preferred one first, or else its HealthKit identifier.
    ///
    /// Empty for types that have neither.
    static func codings(of type: HealthType?) -> [Coding] {
        guard let type else { return [] }
        guard type.aliases.loinc.isEmpty else {
            return type.aliases.loinc.map { Coding(system: loinc, code: $0) }
        }
        return type.aliases.healthKit.prefix(1).map { Coding(system: healthKit, code: $0) }
    }

    /// A quantity in the unit that FHIR uses for its type.
    struct Quantity: Hashable, Sendable {
        /// The value in decimal digits.
        ///
        /// Percent and centimetres are computed by moving the decimal point.
        let value: String
        /// The unit for display.
        let unit: String
        /// The UCUM code; `nil` if the type has none.
        let code: String?
    }

    /// - Parameters:
    ///   - value: in `unit`, the type's own.
    ///   - type: `nil` if the registry does not know it.
    static func quantity(_ value: Double, _ unit: String, of type: HealthType?) -> Quantity {
        let own = type?.aliases.ucum
        guard unit == type?.unit, let own, let code = type?.aliases.fhirUCUM else {
            return Quantity(value: NumberWriter.text(value), unit: unit, code: nil)
        }
        // The hub stores fractions and metres; FHIR uses percent and centimetres. Both are a hundred times as large.
        let isHundredfold = code == "%" || (own, code) == ("m", "cm")
        return Quantity(
            value: isHundredfold ? DecimalDigits.hundredfold(value) : NumberWriter.text(value),
            unit: words[code] ?? code,
            code: code)
    }

    /// Display names of units that UCUM spells differently.
    private static let words = [
        "mm[Hg]": "mmHg", "Cel": "°C", "[iU]": "IU", "dB[SPL]": "dB SPL", "{count}": "count", "{steps}": "steps",
        "{score}": "score", "kg/m2": "kg/m²", "/min": "/min",
    ]

    /// A number of a workout as a quantity.
    ///
    /// It may be in any unit of its type.
    static func quantity(_ total: WorkoutParts.Total) -> Quantity {
        let type = TypeRegistry.standard.type(total.type)
        guard let type, let unit = type.unit, let value = try? type.canonicalValue(total.value, unit: total.unit) else {
            return Quantity(value: NumberWriter.text(total.value), unit: total.unit, code: nil)
        }
        return quantity(value, unit, of: type)
    }
}

/// Arithmetic on decimal digits.
enum DecimalDigits {
    /// A hundred times the value, computed by moving the decimal point: 0.29 gives 29, not 28.999999999999996.
    static func hundredfold(_ value: Double) -> String {
        let text = NumberWriter.text(value)
        if let mark = text.firstIndex(of: "e"), let exponent = Int(text[text.index(after: mark)...].drop { $0 == "+" })
        {
            return "\(text[..<mark])e\(exponent + 2)"
        }
        let (sign, digits) = text.hasPrefix("-") ? ("-", text.dropFirst()) : ("", text[...])
        let parts = digits.split(separator: ".", maxSplits: 1)
        let fraction = parts.count > 1 ? String(parts[1]) : ""
        let padded = fraction + String(repeating: "0", count: max(0, 2 - fraction.count))
        let whole = (String(parts[0]) + padded.prefix(2)).drop { $0 == "0" }
        let rest = padded.dropFirst(2)
        return sign + (whole.isEmpty ? "0" : String(whole)) + (rest.isEmpty ? "" : "." + rest)
    }
}

extension StoredRecord {
    /// A quantity in the canonical unit of its type.
    var inOneUnit: (value: Double, unit: String)? {
        if let canonical { return (canonical.value, canonical.unit) }
        switch record {
        case .sample(let sample):
            guard case .quantity(let value, let unit) = sample.value else { return nil }
            return (value, unit)
        case .day(let day): return (day.value, day.unit)
        case .retraction: return nil
        }
    }
}
