/// The possible and the plausible values of a quantity, both in the type's canonical unit.
///
/// The hub rejects impossible values, so those bounds lie beyond every person on record. It stores possible but implausible values and
/// marks them.
public struct HealthLimits: Hashable, Sendable {
    /// Inclusive; infinite at an end without a bound.
    public let possible: ClosedRange<Double>
    /// Lies within ``possible``.
    public let plausible: ClosedRange<Double>

    /// Why a number is impossible: a sentence for people, without the number, because reasons are logged.
    public func objection(to value: Double, of type: TypeID, unit: String) -> String? {
        guard !possible.contains(value) else { return nil }
        let (word, bound) =
            value < possible.lowerBound ? ("below", possible.lowerBound) : ("above", possible.upperBound)
        let text = "\(unit == "%" ? bound * 100 : bound)"
        return
            "value: \(type) is \(word) \(text.hasSuffix(".0") ? String(text.dropLast(2)) : text) \(unit), which is impossible"
            + (unit == "%" ? "; in a record 18 percent is the fraction 0.18" : "; check its unit")
    }

}

extension SampleMembers {
    /// The earliest credible time of the hub's clock: 2026, when this was written.
    ///
    /// A hub with an earlier clock cannot detect times in the future.
    public static let earliestClock: Int64 = 1_767_225_600_000_000
    /// Times further than this ahead of the hub's clock are implausible, in microseconds.
    ///
    /// Differences of clocks and zones are smaller.
    public static let ahead: Int64 = 86_400_000_000
    /// Earlier times are implausible: 1900, because no user of a hub was measured before then.
    public static let earliest: Int64 = -2_208_988_800_000_000

    /// The members of a sample that are implausible.
    ///
    /// - Parameters:
    ///   - sample: the sample, as its source gave it.
    ///   - canonical: its number in the type's canonical unit, if it has one.
    ///   - limits: the limits of its type; `nil` if every number is plausible.
    ///   - now: the hub's clock when the sample arrived, in microseconds since 1970.
    public init(implausibleOf sample: Sample, canonical: Double?, _ limits: HealthLimits?, at now: Int64) {
        self = []
        if let canonical, let limits, !limits.plausible.contains(canonical) { insert(.value) }
        let latest = now >= Self.earliestClock ? now + Self.ahead : .max
        let times = Self.earliest...latest
        if !times.contains(sample.start.microseconds) { insert(.start) }
        if sample.end.microseconds != sample.start.microseconds, !times.contains(sample.end.microseconds) {
            insert(.end)
        }
    }
}
