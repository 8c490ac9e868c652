import JSON
import Samples

/// The names of a Health Connect type in HC Webhook and HCGateway, and the members with its number.
struct HealthConnectType: Sendable {
    /// The array in HC Webhook; `-` if HC Webhook does not send the type.
    let key: String
    /// The record in HCGateway.
    let record: String
    let type: String
    /// The member with the number in HC Webhook.
    let member: String
    let unit: String
    /// The member with the number in HCGateway, and the number's member in it if it is an object.
    let path: [String]
    let isInterval: Bool
    /// Whether the number is a percentage from 0 to 100.
    let isPercent: Bool

    private init?(_ line: Substring) {
        let words = line.split(separator: " ").map(String.init)
        guard words.count == 7 else { return nil }
        (key, record, type, member, unit) = (words[0], words[1], words[2], words[3], words[4])
        path = words[5] == "-" ? [] : words[5].split(separator: ".").map(String.init)
        (isInterval, isPercent) = (words[6] == "interval", words[6] == "percent")
    }

    static let all = table.split(separator: "\n").compactMap(HealthConnectType.init)
    static let byKey = Dictionary(uniqueKeysWithValues: all.filter { $0.key != "-" }.map { ($0.key, $0) })
    static let byRecord = Dictionary(uniqueKeysWithValues: all.map { ($0.record, $0) })

    /// The type in the standard registry, which does not contain the types that the plugin declares.
    var registered: HealthType? { TypeRegistry.standard.resolve(type) }

    /// The number, with percentages converted to 0 to 1; `nil` if the value is not a number.
    func number(_ value: JSONValue, in bytes: UnsafeRawBufferPointer) -> Double? {
        guard value.kind == .number else { return nil }
        return isPercent ? PhoneNumbers.hundredth(JSONText.plain(value, bytes)) : NumberReader.double(value, in: bytes)
    }

    /// Columns: array, record, type, member, unit, member of the record, form.
    ///
    /// A change of the skin temperature is a difference, not a temperature: 1 degC of it is 1 K.
    private static let table = """
        steps Steps stepCount count count count interval
        distance Distance distanceWalkingRunning meters m distance.inMeters interval
        active_calories ActiveCaloriesBurned activeEnergyBurned calories kcal energy.inKilocalories interval
        total_calories TotalCaloriesBurned hc.totalCaloriesBurned calories kcal energy.inKilocalories interval
        hydration Hydration dietaryWater liters L volume.inLiters interval
        - ElevationGained hc.elevationGained meters m elevation.inMeters interval
        - FloorsClimbed flightsClimbed floors count floors interval
        - WheelchairPushes pushCount count count count interval
        heart_rate HeartRate heartRate bpm count/min beatsPerMinute -
        heart_rate_variability HeartRateVariabilityRmssd heartRateVariabilityRMSSD rmssd_millis ms heartRateVariabilityMillis -
        oxygen_saturation OxygenSaturation oxygenSaturation percentage % percentage percent
        respiratory_rate RespiratoryRate respiratoryRate rate count/min rate -
        resting_heart_rate RestingHeartRate restingHeartRate bpm count/min beatsPerMinute -
        weight Weight weight kilograms kg weight.inKilograms -
        lean_body_mass LeanBodyMass leanBodyMass kilograms kg mass.inKilograms -
        bone_mass BoneMass hc.boneMass kilograms kg mass.inKilograms -
        - BodyWaterMass hc.bodyWaterMass kilograms kg mass.inKilograms -
        height Height height meters m height.inMeters -
        body_fat BodyFat bodyFatPercentage percentage % percentage percent
        blood_glucose BloodGlucose bloodGlucose mmol_per_liter mmol<180.15588000005408>/L level.inMillimolesPerLiter -
        body_temperature BodyTemperature bodyTemperature celsius degC temperature.inCelsius -
        basal_body_temperature BasalBodyTemperature basalBodyTemperature celsius degC temperature.inCelsius -
        skin_temperature SkinTemperature x.hc.skinTemperatureDelta delta_celsius K - -
        basal_metabolic_rate BasalMetabolicRate hc.basalMetabolicRate watts W basalMetabolicRate.inWatts -
        vo2_max Vo2Max vo2Max ml_per_kg_per_min mL/kg·min vo2MillilitersPerMinuteKilogram -
        """
}

/// Maps Health Connect's enumerations to HealthKit's numbers.
enum HealthConnectCodes {
    /// Stages of sleep; `nil` for out of bed, which is not sleep.
    static let sleep: [Int: Int?] = [0: 1, 1: 2, 2: 1, 3: nil, 4: 3, 5: 4, 6: 5, 7: 2]
    static let flow = [0: 1, 1: 2, 2: 3, 3: 4]
    static let mucus = [1: 1, 2: 2, 3: 3, 4: 4, 5: 5]
    static let ovulation = [0: 3, 1: 2, 2: 4, 3: 1]
    static let protection = [1: true, 2: false]
}
