public import Samples

/// What the days of a type may be made of.
///
/// Carrying is for what changes slowly and does no harm when it is a week old. A carried glucose, heart rate or blood pressure would
/// be a number that looks like a measurement and is none: there no setting allows it.
public enum DayTreatment: Hashable, Sendable {
    /// The day's value, carried over days without one.
    case carried(Plausible)
    /// The day's value; days without one have none.
    case averaged(Plausible)
    /// The same, but in its mean each value counts for as long as it held.
    case weighted(Plausible)
    /// The day's sum.
    case summed(Plausible)

    /// How the days of a type are made.
    ///
    /// - Throws: ``DayRefusal`` for what no plain mean or sum can say.
    public static func of(_ type: HealthType) throws(DayRefusal) -> DayTreatment {
        guard type.kind == .quantity, let style = type.aggregation else {
            throw DayRefusal(type.id, "it is not a quantity, and a day has one number")
        }
        var plausible = Plausible(type.limits?.possible)
        if let tolerance = Plausible.mirrorTolerances[type.id.rawValue] {
            (plausible.isZeroAllowed, plausible.mirrorTolerance) = (false, tolerance)
            return .carried(plausible)
        }
        switch style {
        case .cumulative:
            // Of a declared type, too: what is added up grows.
            plausible.least = plausible.least ?? 0
            return .summed(plausible)
        case .discreteArithmetic: return .averaged(plausible)
        case .discreteTemporallyWeighted:
            plausible.isZeroAllowed = !Plausible.pulse.contains(type.id.rawValue)
            return .weighted(plausible)
        case .discreteEquivalentContinuousLevel:
            throw DayRefusal(type.id, "decibels have no plain mean")
        }
    }

    /// Which values count; every other is left out of the day and reported.
    public var plausible: Plausible {
        switch self {
        case .carried(let plausible), .averaged(let plausible), .weighted(let plausible), .summed(let plausible):
            plausible
        }
    }

    /// Whether a day is the sum of its readings, which several sources are merged for.
    public var isSum: Bool { if case .summed = self { true } else { false } }
    /// Whether a value may stand for the days after it that have none.
    public var isCarried: Bool { if case .carried = self { true } else { false } }
}

/// Why a type has no day values.
public struct DayRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    /// The type that was asked for.
    public let type: TypeID
    /// Why it has none: a clause for people, such as "decibels have no plain mean".
    public let reason: String

    init(_ type: TypeID, _ reason: String) { (self.type, self.reason) = (type, reason) }

    /// One line for people: the type and the reason.
    public var description: String { "\(type) has no day values: \(reason)" }
}

/// What can be a value of a type at all, in its one unit; everything else is kept out of every mean, and reported.
///
/// The bounds are the registry's of what is possible: what the hub marked implausible is left out before this is asked.
public struct Plausible: Hashable, Sendable {
    /// Zero is not a weight: a scale says so when no one is on it.
    public var isZeroAllowed = true
    /// Inclusive; `nil` for none.
    public var least, most: Double?
    /// Two readings that differ by no more, within a minute and of different sources, are one that came two ways.
    public var mirrorTolerance = 0.0

    init(_ possible: ClosedRange<Double>?) {
        least = possible.flatMap { $0.lowerBound.isFinite ? $0.lowerBound : nil }
        most = possible.flatMap { $0.upperBound.isFinite ? $0.upperBound : nil }
    }

    /// Why a value is none; `nil` when it is one.
    ///
    /// Holds no value, so that it may stand in a log.
    public func fault(of value: Double) -> String? {
        if !value.isFinite { return "it is not a number" }
        if value == 0, !isZeroAllowed { return "zero is not a measurement" }
        if let least, value < least { return least == 0 ? "it is negative" : "it is below \(least)" }
        if let most, value > most { return "it is above \(most)" }
        return nil
    }

    /// No heart of the living stands still for a reading.
    static let pulse: Set<String> = ["heartRate", "restingHeartRate", "walkingHeartRateAverage"]

    /// The types that may be carried, measures of the body that change slowly, and how far two ways of one reading may differ.
    static let mirrorTolerances: [String: Double] = [
        "weight": 0.05, "leanBodyMass": 0.05, "bodyFatPercentage": 0.0005, "bodyMassIndex": 0.05, "height": 0.005,
        "waistCircumference": 0.005, "hc.boneMass": 0.05, "hc.bodyWaterMass": 0.05, "hc.basalMetabolicRate": 1,
        "x.ihealth.bodyWaterPercentage": 0.0005, "x.ihealth.musclePercentage": 0.0005,
        "x.ihealth.visceralFatLevel": 0.5,
    ]
}
