public import Foundation
public import Samples

/// Formats numbers with units, and dates, for people of a locale.
///
/// Combined units carry over: 11 st 13.9996 lb becomes 12 st, never 11 st 14 lb. The value is rounded in the smaller unit before it is split.
public struct HealthFormatter: Sendable {
    public let locale: Locale
    public let width: TextWidth
    /// Digits after the decimal separator; for combined units, of the smaller one.
    public let decimals: ClosedRange<Int>
    /// The text between combined units.
    private let joint: String

    /// - Parameter joint: the text between combined units; by default the comma of Foundation's formatters.
    public init(
        _ locale: Locale, _ width: TextWidth = .medium, decimals: ClosedRange<Int> = 0...3, joint: String? = nil
    ) {
        (self.locale, self.width, self.decimals) = (locale, width, decimals)
        self.joint = joint ?? ", "
    }

    /// A value with its unit; stones are split into stones and pounds, hours into hours and minutes.
    public func text(_ value: Double, _ unit: PeopleUnit) -> String {
        unit == .stone || unit == .hour ? pair(value, unit) : single(value, unit)
    }

    /// The unit alone, as a label for a value.
    public func label(_ value: Double, _ unit: PeopleUnit) -> String { unit.label(width, isOne: value == 1) }

    /// A number with the locale's separators, rounded half away from zero as people do by hand.
    public func number(_ value: Double) -> String {
        FloatingPointFormatStyle<Double>(locale: locale).precision(.fractionLength(decimals))
            .rounded(rule: .toNearestOrAwayFromZero).format(value)
    }

    func single(_ value: Double, _ unit: PeopleUnit) -> String {
        let word = unit.word(width, isOne: value == 1)
        return number(value) + (width == .short || word.isEmpty ? "" : " ") + word
    }

    /// Feet always with inches, even zero; stones and hours alone if there is no remainder, pounds and minutes alone if there is no whole one.
    func pair(_ value: Double, _ unit: PeopleUnit) -> String {
        guard let (smaller, count) = unit.smaller, value.magnitude < 1e9 else { return single(value, unit) }
        let scale = pow(10, Double(decimals.upperBound))
        let all = (abs(value) * count * scale).rounded() / scale
        let whole = (all / count).rounded(.down)
        let rest = ((all - whole * count) * scale).rounded() / scale
        let showsAll = unit == .foot
        let large = single(value < 0 && whole > 0 ? -whole : whole, unit)
        if rest == 0, !showsAll { return large }
        let small = single(value < 0 && whole == 0 ? -rest : rest, smaller)
        let separator = width == .short && !showsAll ? " " : joint
        return whole == 0 && !showsAll ? small : large + separator + small
    }

    // MARK: - Dates

    /// A day with its month in words, such as `Mar 15, 2026`, `15. März 2026`, `2026年3月15日`.
    public func date(_ date: LocalDate) -> String {
        text(date, Date.FormatStyle(date: .abbreviated, time: .omitted, locale: locale, timeZone: .gmt))
    }

    /// A day without its year, such as `15 Mar`, `Mar 15`, `3月15日`.
    package func dayOfYear(_ date: LocalDate) -> String {
        text(date, Date.FormatStyle(locale: locale, timeZone: .gmt).day().month(.abbreviated))
    }

    /// A month without its year, such as `Mar`.
    package func month(_ date: LocalDate) -> String {
        text(date, Date.FormatStyle(locale: locale, timeZone: .gmt).month(.abbreviated))
    }

    private func text(_ date: LocalDate, _ style: Date.FormatStyle) -> String {
        // Foundation's calendar is Julian before 1582, but ours is Gregorian.
        guard date.year > 1582 else { return date.text }
        var style = style
        style.calendar = Calendar(identifier: .gregorian)
        return style.format(Date(timeIntervalSince1970: Double(date.daysSinceEpoch) * 86_400))
    }
}
