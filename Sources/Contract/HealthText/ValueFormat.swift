import Foundation
public import Samples

/// The format of one type's values for one person: unit, name and number of decimals.
///
/// This is the only way from a value to text for people. Rounded text is never read back; programs get every digit.
public struct ValueFormat: Sendable {
    /// The unit in which the person reads the values.
    let unit: PeopleUnit
    /// The unit of the values, and the unit that they are converted to; `nil` if they are shown unconverted.
    private let conversion: (own: HealthUnit, shown: HealthUnit)?
    let isPair: Bool
    let decimals: ClosedRange<Int>
    let locale: Locale
    private let width: TextWidth

    /// The minimum and maximum number of decimals by unit, as in the table of Docs/Samples.md.
    ///
    /// Other units have up to two.
    package static let decimals = Dictionary(
        uniqueKeysWithValues: UnitText.all.compactMap { unit in unit.decimals.map { (unit.spelling, $0) } })

    /// Decimals of the smaller of two combined units.
    private static let pairDecimals = ["st": 0...1, "ft": 0...0, "hr": 0...0]

    /// Types whose decimals differ from those of their unit.
    private static let exceptions: [TypeID: ClosedRange<Int>] = [.bodyMassIndex: 1...1]

    private static let english = Locale(identifier: "en_001")

    /// - Parameters:
    ///   - own: the unit of the values.
    ///   - type: `nil` for a type that only plugins know.
    public init(_ own: String, of type: HealthType?, for reader: DisplayPreferences, _ width: TextWidth = .medium) {
        let shown = reader.unit(own, of: type)
        let converted = shown == own ? nil : try? (HealthUnit(own), type?.meant(by: shown) ?? HealthUnit(shown))
        conversion = converted.flatMap { $0.0.isCompatible(with: $0.1) ? (own: $0.0, shown: $0.1) : nil }
        // Values that cannot be converted are shown in their original unit.
        unit = PeopleUnit(shown == own || conversion != nil ? shown : own)
        isPair = unit == .stone || unit == .hour || unit == .foot && type?.typicalDisplayUnits.contains("ft+in") == true
        let usual = isPair ? Self.pairDecimals[unit.spelling] : Self.decimals[unit.spelling]
        decimals = type.flatMap { Self.exceptions[$0.id] } ?? usual ?? 0...2
        (locale, self.width) = (reader.locale ?? Self.english, width)
    }

    /// `177.0 lb`, `12 st 9 lb`, `18.2 %`, `5,000`.
    ///
    /// - Parameter finer: number of additional decimals, to distinguish two values.
    public func text(_ value: Double, finer: Int = 0) -> String {
        let value = shown(value)
        // The position of the first digit, with 1 for the ones.
        let point = value == 0 ? 0 : log10(value.magnitude).rounded(.down) + 1
        guard value.isFinite, (-12...16).contains(point) else {
            return unit.symbol.isEmpty ? "\(value)" : "\(value) \(unit.symbol)"
        }
        var most = decimals.upperBound + finer
        // A value that would round to almost nothing keeps two digits.
        if !isPair { most = max(most, 2 - Int(point)) }
        let formatter = HealthFormatter(locale, width, decimals: decimals.lowerBound...most, joint: " ")
        return isPair ? formatter.pair(value, unit) : formatter.single(value, unit)
    }

    /// The value in the displayed unit; fractions become percentages without rounding errors.
    func shown(_ value: Double) -> Double {
        if unit.spelling == "%" { return Decimal(string: "\(value)").flatMap { Double("\($0 * 100)") } ?? value * 100 }
        guard let conversion, let converted = try? conversion.own.convert(value, to: conversion.shown) else {
            return value
        }
        return converted
    }
}
