public import Samples

/// What the days of a type may be made of.
///
/// Carrying is for what changes slowly and harms nobody when it is a week old. A carried glucose, heart rate or blood pressure would
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
            throw DayRefusal(type.id, "it is no quantity, and a day has one number")
        }
        if let plausible = Plausible.slow[type.id.rawValue] { return .carried(plausible) }
        switch style {
        case .cumulative: return .summed(Plausible(least: 0))
        case .discreteArithmetic: return .averaged(Plausible())
        case .discreteTemporallyWeighted: return .weighted(Plausible.pulse[type.id.rawValue] ?? Plausible())
        case .discreteEquivalentContinuousLevel:
            throw DayRefusal(type.id, "decibels have no plain mean")
        }
    }

    public var plausible: Plausible {
        switch self {
        case .carried(let plausible), .averaged(let plausible), .weighted(let plausible), .summed(let plausible):
            plausible
        }
    }

    public var isSum: Bool { if case .summed = self { true } else { false } }
    public var isCarried: Bool { if case .carried = self { true } else { false } }
}

/// Why a type has no day values.
public struct DayRefusal: Error, Hashable, Sendable, CustomStringConvertible {
    public let type: TypeID
    public let reason: String

    init(_ type: TypeID, _ reason: String) { (self.type, self.reason) = (type, reason) }

    public var description: String { "\(type) has no day values: \(reason)" }
}

/// What can be a value of a type at all, in its one unit; everything else is kept out of every mean, and reported.
public struct Plausible: Hashable, Sendable {
    /// Zero is no weight: what a scale says when nobody stands on it.
    public var isZeroAllowed: Bool
    /// Inclusive; `nil` for none.
    public var least, most: Double?
    /// Two readings that differ by no more, within a minute and of different sources, are one that came two ways.
    public var mirrorTolerance: Double

    public init(isZeroAllowed: Bool = true, least: Double? = nil, most: Double? = nil, mirrorTolerance: Double = 0) {
        (self.isZeroAllowed, self.least, self.most) = (isZeroAllowed, least, most)
        self.mirrorTolerance = mirrorTolerance
    }

    /// Why a value is none; `nil` when it is one.
    ///
    /// Holds no value, so that it may stand in a log.
    public func fault(of value: Double) -> String? {
        if !value.isFinite { return "it is not a number" }
        if value == 0, !isZeroAllowed { return "zero is no measurement" }
        if let least, value < least { return least == 0 ? "it is negative" : "it is below \(least)" }
        if let most, value > most { return "it is above \(most)" }
        return nil
    }

    private static func body(_ most: Double, mirror: Double) -> Plausible {
        Plausible(isZeroAllowed: false, least: 0, most: most, mirrorTolerance: mirror)
    }

    /// No heart of the living stands still for a reading.
    static let pulse: [String: Plausible] = Dictionary(
        uniqueKeysWithValues: ["heartRate", "restingHeartRate", "walkingHeartRateAverage"].map {
            ($0, Plausible(isZeroAllowed: false, least: 0))
        })

    /// The types that may be carried: measures of the body that change slowly.
    static let slow: [String: Plausible] = [
        "weight": body(700, mirror: 0.05),
        "leanBodyMass": body(700, mirror: 0.05),
        "bodyFatPercentage": body(1, mirror: 0.0005),
        "bodyMassIndex": body(300, mirror: 0.05),
        "height": body(3, mirror: 0.005),
        "waistCircumference": body(5, mirror: 0.005),
        "hc.boneMass": body(100, mirror: 0.05),
        "hc.bodyWaterMass": body(700, mirror: 0.05),
        "hc.basalMetabolicRate": body(20_000, mirror: 1),
        "x.ihealth.bodyWaterPercentage": body(1, mirror: 0.0005),
        "x.ihealth.musclePercentage": body(1, mirror: 0.0005),
        "x.ihealth.visceralFatLevel": body(100, mirror: 0.5),
    ]
}
