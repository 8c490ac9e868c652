import Platform
public import PluginKit

/// The meaning of the number that a HS5 calls muscle; there is no capture to compare with the display.
public enum MuscleUnit: String, Sendable, Hashable, CaseIterable {
    /// Tenths of a percent of the weight.
    case percent = "pct"
    /// Tenths of a kilogram.
    case kilograms = "kg"

    /// The declaration of a plugin whose scale may send kilograms, because no registry has a mass of muscles alone.
    public static let declaration = TypeDeclaration(
        id: "x.ihealth.muscleMass", kind: .quantity, unit: "kg", aggregation: .discreteArithmetic)

    static let massType = try? TypeID(declaration.id)
}

/// A weighing with all data for its records.
struct Weighing: Sendable {
    /// The time of a weighing.
    enum Time: Sendable {
        /// The time that the scale's clock showed.
        case scale(WallTime, isSuspect: Bool)
        /// Microseconds since 1970 by the hub's clock: the weight came without a time.
        case host(Int64)
        /// Microseconds since 1970 from the program that reported it; no wall clock is known.
        case instant(Int64, isSuspect: Bool)
    }

    /// The key of the weighing; its records append their types.
    var key: String
    var time: Time
    var tenthsOfKilogram: Int
    var composition: HS5Record.Composition?
    var user: UInt32?
    /// The user's position on the scale.
    var slot: Int?
    /// The weight during the impedance measurement, in tenths of a kilogram; the protocol does not transmit ohms.
    var impedanceWeight: Int?
    /// The record as the scale sent it, if it contains more than time and weight.
    var raw: [UInt8]?
}

/// Converts weighings to records.
///
/// The same weighing arrives when it happens and again in every memory transfer, over any link and after any restart. All of them must become
/// one record with one content; otherwise each transfer would create 200 new versions. The content therefore describes the weighing *itself*
/// (its bytes, the zone, the rule for the hour) and not how it was read: no position in the memory, no clock error in seconds. The one
/// judgement in it, `clockSuspect`, depends on the session; ``KnownWeighings`` therefore stores the first one.
struct WeighingMapping: Sendable {
    let source: Source
    let clock: LocalClock
    /// Whether a weighing is a group of several records.
    var isGroup = false
    var muscleUnit = MuscleUnit.percent

    /// The records of a weighing, the weight first.
    ///
    /// A composition value of 0 was not measured. An impossible value (a part above the whole) is left out and stays in `raw`.
    func samples(_ weighing: Weighing) -> [Sample] {
        let (start, common) = place(weighing.time)
        let group = isGroup ? weighing.key : nil
        func sample(_ type: TypeID, _ suffix: String, _ value: Double, _ unit: String, _ metadata: [String]) -> Sample?
        {
            // `nil` only for an invalid key, which hex digits and these suffixes cannot form.
            RecordKey(weighing.key + suffix).map { key in
                Sample(
                    source: source, key: key, type: type, value: .quantity(value, unit: unit), start: start,
                    zone: clock.name, subject: weighing.slot.map(Subject.slot), group: group,
                    metadata: metadata.isEmpty
                        ? nil : JSONObject(trusted: "{" + metadata.joined(separator: ",") + "}"))
            }
        }
        let weight = sample(
            .weight, "", Double(weighing.tenthsOfKilogram) / 10, "kg", common + details(of: weighing))
        let parts = Self.parts(of: weighing.composition, muscleUnit).map { part in
            sample(part.type, "-" + part.name, part.value, part.unit, common)
        }
        return ([weight] + parts).compactMap(\.self)
    }

    private func place(_ time: Weighing.Time) -> (Timestamp, [String]) {
        switch time {
        case .host(let microseconds): return (clock.timestamp(at: microseconds), ["\"datedByHub\":true"])
        case .instant(let microseconds, let isSuspect):
            return (clock.timestamp(at: microseconds), isSuspect ? ["\"clockSuspect\":true"] : [])
        case .scale(let wall, let isSuspect):
            let placed = clock.place(wall)
            var metadata = ["\"local\":\"\(wall)\""]
            if placed.isAmbiguous { metadata.append("\"dstAmbiguous\":true") }
            if placed.isInGap { metadata.append("\"dstGap\":true") }
            if isSuspect { metadata.append("\"clockSuspect\":true") }
            return (placed.time, metadata)
        }
    }

    private func details(of weighing: Weighing) -> [String] {
        var details: [String] = []
        if let user = weighing.user { details.append("\"scaleUser\":\(user)") }
        if let weight = weighing.impedanceWeight { details.append("\"impedanceWeight\":\(Double(weight) / 10)") }
        if let raw = weighing.raw {
            details.append("\"raw\":\"\(raw.hexadecimal)\"")
        }
        return details
    }

    private struct Part {
        var name: String
        var type: TypeID
        var value: Double
        var unit: String
    }

    private static func parts(of composition: HS5Record.Composition?, _ muscleUnit: MuscleUnit) -> [Part] {
        guard let composition else { return [] }
        var parts: [Part] = []
        func share(_ name: String, _ type: TypeID, _ thousandths: Int) {
            guard (1...1000).contains(thousandths) else { return }
            parts.append(Part(name: name, type: type, value: Double(thousandths) / 1000, unit: "%"))
        }
        func amount(_ name: String, _ type: TypeID, _ value: Double, _ unit: String) {
            if value > 0 { parts.append(Part(name: name, type: type, value: value, unit: unit)) }
        }
        share("fat", .bodyFatPercentage, composition.fat)
        share("water", .xIhealthBodyWaterPercentage, composition.water)
        switch muscleUnit {
        case .percent: share("muscle", .xIhealthMusclePercentage, composition.muscle)
        case .kilograms:
            if let type = MuscleUnit.massType { amount("muscle", type, Double(composition.muscle) / 10, "kg") }
        }
        amount("bone", .hcBoneMass, Double(composition.bone) / 10, "kg")
        amount("visceral", .xIhealthVisceralFatLevel, Double(composition.visceralFat), "count")
        amount("dci", .xIhealthDailyCalorieIntake, Double(composition.dailyCalories), "kcal/d")
        return parts
    }

    /// The reading with the time of a wall clock; `nil` if it has no readable date, or one that no record can have.
    func dated(_ reading: ScaleReading) -> ScaleReading? {
        if let wall = reading.time { return clock.place(wall).time.isRepresentable ? reading : nil }
        guard let instant = reading.instant.map(LocalClock.microseconds(since2000:)), Timestamp.range.contains(instant)
        else {
            return nil
        }
        return reading.placed(at: clock.wall(at: instant))
    }

    /// Whether the date of a weighing is not to be trusted.
    ///
    /// - Parameters:
    ///   - deviation: the error, in seconds, of the clock that dated the weighing; `nil` if unknown.
    ///   - now: microseconds since 1970 by the hub's clock.
    func isClockSuspect(_ wall: WallTime, deviation: Int?, now: Int64) -> Bool {
        let isFuture = clock.place(wall).time.microseconds > now + Int64(Self.tolerance) * 1_000_000
        return isFuture || wall.year < 2010 || abs(deviation ?? 0) > Self.tolerance
    }

    /// Five minutes, in seconds.
    ///
    /// Scales run fast or slow by a minute a fortnight.
    static let tolerance = 300
}
