/// How the day values of a type are computed.
///
/// Carrying is only for values that change slowly and are harmless if a week old. A carried glucose, heart rate or blood pressure would look
/// like a measurement without being one, so no setting allows it.
public enum DayTreatment: Hashable, Sendable {
    /// The day's value, carried over days without one.
    case carried(PlausibleRange)
    /// The day's value; days without readings have none.
    case averaged(PlausibleRange)
    /// As ``averaged(_:)``, but the mean weights each value by the time it held.
    case weighted(PlausibleRange)
    /// The day's sum.
    case summed(PlausibleRange)

    /// The treatment of a type.
    ///
    /// - Throws: ``DayValueError`` if a plain mean or sum makes no sense for the type.
    public static func of(_ type: HealthType) throws(DayValueError) -> DayTreatment {
        guard type.kind == .quantity, let style = type.aggregation else {
            throw DayValueError(type.id, "it is not a quantity, and a day has one number")
        }
        var plausible = PlausibleRange(type.limits?.possible)
        if let tolerance = PlausibleRange.mirrorTolerances[type.id.rawValue] {
            (plausible.isZeroAllowed, plausible.mirrorTolerance) = (false, tolerance)
            return .carried(plausible)
        }
        switch style {
        case .cumulative:
            // A sum only grows, so negative values are not plausible, even for a declared type.
            plausible.least = plausible.least ?? 0
            return .summed(plausible)
        case .discreteArithmetic: return .averaged(plausible)
        case .discreteTemporallyWeighted:
            plausible.isZeroAllowed = !PlausibleRange.pulse.contains(type.id.rawValue)
            return .weighted(plausible)
        case .discreteEquivalentContinuousLevel:
            throw DayValueError(type.id, "decibels have no plain mean")
        }
    }

    /// The values that count; all others are left out of the day and reported.
    public var plausible: PlausibleRange {
        switch self {
        case .carried(let plausible), .averaged(let plausible), .weighted(let plausible), .summed(let plausible):
            plausible
        }
    }

    /// Whether a day is the sum of its readings, merged from several sources.
    public var isSum: Bool { if case .summed = self { true } else { false } }
    /// Whether a value may be carried over the following days without one.
    public var isCarried: Bool { if case .carried = self { true } else { false } }
}

/// Why a type has no day values.
public struct DayValueError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The requested type.
    public let type: TypeID
    /// The reason: a clause for people, such as "decibels have no plain mean".
    public let reason: String

    init(_ type: TypeID, _ reason: String) { (self.type, self.reason) = (type, reason) }

    /// One line for people: the type and the reason.
    public var description: String { "\(type) has no day values: \(reason)" }
}

/// The valid values of a type, in its canonical unit; all others are left out of every mean and reported.
///
/// The bounds are the registry's possible values. Callers first leave out the values that the hub marked as implausible.
public struct PlausibleRange: Hashable, Sendable {
    /// False for types such as weight: a scale reports zero when no one stands on it.
    public var isZeroAllowed = true
    /// Inclusive; `nil` if there is no bound.
    public var least, most: Double?
    /// Two readings of different sources within a minute that differ by at most this are one reading received twice.
    public var mirrorTolerance = 0.0

    init(_ possible: ClosedRange<Double>?) {
        least = possible.flatMap { $0.lowerBound.isFinite ? $0.lowerBound : nil }
        most = possible.flatMap { $0.upperBound.isFinite ? $0.upperBound : nil }
    }

    /// Why a value is not plausible; `nil` if it is.
    ///
    /// The text does not contain the value, so that it may be logged.
    public func fault(of value: Double) -> String? {
        if !value.isFinite { return "it is not a number" }
        if value == 0, !isZeroAllowed { return "zero is not a measurement" }
        if let least, value < least { return least == 0 ? "it is negative" : "it is below \(least)" }
        if let most, value > most { return "it is above \(most)" }
        return nil
    }

    /// The heart of a living person does not stand still for a reading, so zero is invalid.
    static let pulse: Set<String> = ["heartRate", "restingHeartRate", "walkingHeartRateAverage"]

    /// The types that may be carried: body measures that change slowly.
    ///
    /// The number is the mirror tolerance of each type.
    static let mirrorTolerances: [String: Double] = [
        "weight": 0.05, "leanBodyMass": 0.05, "bodyFatPercentage": 0.0005, "bodyMassIndex": 0.05, "height": 0.005,
        "waistCircumference": 0.005, "hc.boneMass": 0.05, "hc.bodyWaterMass": 0.05, "hc.basalMetabolicRate": 1,
        "x.ihealth.bodyWaterPercentage": 0.0005, "x.ihealth.musclePercentage": 0.0005,
        "x.ihealth.visceralFatLevel": 0.5,
    ]
}
