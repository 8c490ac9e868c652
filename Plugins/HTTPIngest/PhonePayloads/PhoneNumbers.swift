import JSON
import Samples

/// Reads numbers and units as apps write them.
enum PhoneNumbers {
    /// A unit in the hub's grammar, or the original text if it is not a unit of the type.
    static func unit(_ text: String, of type: TypeID? = nil) -> String {
        guard let type = type.flatMap({ PhoneTypes.registry.type($0) }) else { return PhoneUnits.unit(text) }
        return PhoneUnits.unit(text, of: type) ?? text
    }

    /// Divides a number by 100 by moving the decimal point, because 33.3/100 is a different double than 0.333.
    static func hundredth(_ digits: String) -> Double? {
        guard let split = digits.firstIndex(where: { $0 == "e" || $0 == "E" }) else { return finite(digits + "e-2") }
        guard let exponent = Int(digits[digits.index(after: split)...]), exponent.magnitude < 400 else { return nil }
        return finite("\(digits[..<split])e\(exponent - 2)")
    }

    private static func finite(_ text: String) -> Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    /// Rounds to nine significant digits, because a phone's repeated calculations differ in the last ones.
    static func rounded(_ value: Double) -> Double {
        guard value != 0, value.isFinite else { return value }
        let text = "\(value.magnitude)"
        let (mantissa, exponent) = split(text)
        // Most numbers have few digits anyway.
        let digits = mantissa.filter(\.isNumber).drop { $0 == "0" }
        guard digits.count > 9 else { return value }
        let point = mantissa.prefix { $0 != "." }.count
        let leading = mantissa.prefix(while: { $0 == "0" || $0 == "." })
        // The power of ten of the first significant digit.
        let first = mantissa.first == "0" ? -(leading.count - 1) : point - 1
        let kept = String(digits.prefix(9))
        let isUp = digits.dropFirst(9).first.map { $0 >= "5" } ?? false
        guard let whole = Int64(kept), let rounded = Double("\(whole + (isUp ? 1 : 0))e\(first - 8 + exponent)") else {
            return value
        }
        return value < 0 ? -rounded : rounded
    }

    private static func split(_ text: String) -> (mantissa: Substring, exponent: Int) {
        guard let place = text.firstIndex(of: "e") else { return (text[...], 0) }
        return (text[..<place], Int(text[text.index(after: place)...]) ?? 0)
    }

    /// Why the hub would reject this number in this unit; `nil` if it would not.
    static func fault(_ value: Double, _ unit: String, _ type: HealthType) -> ItemError? {
        var foreign: ItemError {
            ItemError("unit", "\(unit) is not a unit of \(type.id); expected \(type.unit ?? "none")")
        }
        guard !PhoneUnits.isPercentOfCount(unit, type) else { return foreign }
        let number: Double?
        do throws(UnitError) {
            number = try type.canonicalValue(value, unit: unit)
        } catch {
            return foreign
        }
        guard let number, let objection = type.limits?.objection(to: number, of: type.id, unit: type.unit ?? "") else {
            return nil
        }
        return ItemError("value", objection)
    }

    /// - Throws: ``ItemError`` if the hub would reject this number in this unit.
    static func check(_ value: Double, _ unit: String, _ type: HealthType?) throws(ItemError) {
        if let type, let fault = fault(value, unit, type) { throw fault }
    }

    /// Whether a fraction is impossible for a person, so that the percent setting does not match the sender.
    static func isNoPercentage(_ fraction: Double, of type: TypeID) -> Bool {
        switch type {
        case .oxygenSaturation: fraction < 0.5
        case .bodyFatPercentage: fraction < 0.02 || fraction > 0.75
        default: false
        }
    }
}
