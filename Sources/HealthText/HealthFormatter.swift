public import Foundation

/// Writes masses, lengths and energies as people of a locale read them.
///
/// Two units together carry: 11 st 13.9996 lb are 12 st, and never 11 st 14 lb. The smaller unit is rounded before the larger is split off.
public struct HealthFormatter: Sendable {
    public let locale: Locale
    public let width: TextWidth
    /// Digits after the decimal separator.
    public let decimals: ClosedRange<Int>

    public init(_ locale: Locale, _ width: TextWidth = .medium, decimals: ClosedRange<Int> = 0...3) {
        (self.locale, self.width, self.decimals) = (locale, width, decimals)
    }

    // MARK: - In the unit that the locale has for it

    /// Kilograms from more than one on, else grams; pounds, or ounces of less than one.
    public func mass(kilograms: Double) -> String {
        let size = abs(kilograms)
        let unit: PeopleUnit =
            isUS ? (size >= PeopleUnit.pound.factor ? .pound : .ounce) : (size > 1 ? .kilogram : .gram)
        return text(kilograms / unit.factor, unit)
    }

    /// - Parameter isHeight: of a person: centimetres, or feet and inches.
    public func length(meters: Double, isHeight: Bool = false) -> String {
        let size = abs(meters)
        let unit: PeopleUnit =
            if isUS {
                if isHeight || PeopleUnit.foot.factor..<PeopleUnit.yard.factor ~= size {
                    .foot
                } else if size < PeopleUnit.foot.factor {
                    .inch
                } else {
                    size < PeopleUnit.mile.factor ? .yard : .mile
                }
            } else if isHeight {
                .centimeter
            } else if size > 1 {
                size > 1_000 ? .kilometer : .meter
            } else {
                size > 0.01 ? .centimeter : .millimeter
            }
        return isHeight && unit == .foot
            ? pair(meters / unit.factor, unit, showsZero: true) : single(meters / unit.factor, unit)
    }

    public func energy(joules: Double, isFood: Bool = false) -> String {
        let unit: PeopleUnit =
            usesJoules
            ? (abs(joules) > 1_000 ? .kilojoule : .joule)
            : (abs(joules) > 4_184 ? (isFood ? .foodCalorie : .kilocalorie) : .calorie)
        return text(joules / unit.factor, unit)
    }

    // MARK: - In a unit

    /// A value with its unit; stones with their pounds.
    public func text(_ value: Double, _ unit: PeopleUnit) -> String {
        unit == .stone ? pair(value, unit, showsZero: false) : single(value, unit)
    }

    /// The unit by itself, as for so many.
    public func label(_ value: Double, _ unit: PeopleUnit) -> String { unit.label(width, isOne: value == 1) }

    /// A number by the locale's separators.
    public func number(_ value: Double) -> String {
        value.formatted(.number.precision(.fractionLength(decimals)).locale(locale))
    }

    private func single(_ value: Double, _ unit: PeopleUnit) -> String {
        let word = unit.word(width, isOne: value == 1)
        return number(value) + (width == .short ? "" : " ") + word
    }

    private func pair(_ value: Double, _ unit: PeopleUnit, showsZero: Bool) -> String {
        guard let (smaller, count) = unit.smaller, value.isFinite else { return single(value, unit) }
        let scale = pow(10, Double(decimals.upperBound))
        let all = (abs(value) * count * scale).rounded(.toNearestOrEven) / scale
        let whole = (all / count).rounded(.down)
        let rest = ((all - whole * count) * scale).rounded() / scale
        let large = single(value < 0 && whole > 0 ? -whole : whole, unit)
        if rest == 0, !showsZero { return large }
        let small = single(value < 0 && whole == 0 ? -rest : rest, smaller)
        let separator = width == .short && unit == .stone ? " " : ", "
        return whole == 0 && !showsZero ? small : large + separator + small
    }

    // MARK: - What a locale has

    private var isUS: Bool { locale.measurementSystem == .us }

    /// Food and exercise are told in kilocalories nearly everywhere; Foundation's formatters tell Germans and the French joules.
    private var usesJoules: Bool { ["DE", "FR"].contains(locale.region?.identifier) }
}
