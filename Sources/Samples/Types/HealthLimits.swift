/// Which numbers a quantity can have at all, and which it can be expected to have; both in the type's one unit.
///
/// What is impossible is refused and so lost: those bounds lie beyond every person that is known of. What is possible and
/// yet not plausible is stored and marked.
public struct HealthLimits: Hashable, Sendable {
    /// Inclusive; infinite where there is no bound.
    public let possible: ClosedRange<Double>
    /// Within ``possible``.
    public let plausible: ClosedRange<Double>

    /// Why a number is impossible: a sentence for people, without the number, since reasons come into logs.
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
    /// A hub whose clock shows less has not been told the time, and cannot say what lies ahead: 2026, when this was written.
    public static let earliestClock: Int64 = 1_767_225_600_000_000
    /// What is dated so much after the hub's clock, in microseconds, was not measured then; clocks and zones differ by less.
    public static let ahead: Int64 = 86_400_000_000
    /// 1900: no person who was measured before has a hub.
    public static let earliest: Int64 = -2_208_988_800_000_000

    /// Which members of a sample are implausible.
    /// - Parameters:
    ///   - sample: the sample, as its source gave it.
    ///   - canonical: its number in the type's one unit, where it has one.
    ///   - limits: those of its type; `nil` where every number is plausible.
    ///   - now: the hub's clock when it came, in microseconds since 1970.
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
