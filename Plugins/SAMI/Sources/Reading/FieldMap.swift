import PluginKit

/// The hub's type for a field of a device type's messages (reference §3.4).
struct FieldRow: Sendable {
    let field: String
    let type: String
    /// The type's unit; the manifest's unit must have the same dimension.
    let unit: String
    /// The unit if the manifest does not declare the field, as for two fields of the Withings manifest.
    var undeclared: String?
    /// Whether the field is a percent number, which is a fraction in the hub.
    var isPercent = false
    var aggregation = AggregationStyle.discreteArithmetic
}

/// The rows of the known device types.
enum FieldMap {
    /// The type for fields without a row: one record per message, with its fields in the metadata.
    static let remainder = "x.sami.other"

    static func row(_ field: String, of deviceType: String) -> FieldRow? {
        (byType[deviceType] ?? [:])[field] ?? standard[field]
    }

    /// The plugin's types, for its manifest.
    static let declared: [TypeDeclaration] = {
        let rows = (withings + pedometer + calories + standardRows).filter { $0.type.hasPrefix("x.sami.") }
        return rows.map { TypeDeclaration(id: $0.type, kind: .quantity, unit: $0.unit, aggregation: $0.aggregation) }
            + [TypeDeclaration(id: remainder, kind: .other)]
    }()

    /// All types of records that messages can become.
    static let written: [String] = Set((withings + pedometer + calories + standardRows).map(\.type) + [remainder])
        .sorted()

    private static func own(
        _ field: String, _ name: String, _ unit: String, percent: Bool = false, sum: Bool = false
    ) -> FieldRow {
        FieldRow(
            field: field, type: "x.sami.\(name).\(field)", unit: unit, isPercent: percent,
            aggregation: sum ? .cumulative : .discreteArithmetic)
    }

    private static let withings = [
        FieldRow(field: "weight", type: "weight", unit: "kg"),
        FieldRow(field: "fatRatio", type: "bodyFatPercentage", unit: "%", undeclared: "", isPercent: true),
        FieldRow(field: "fatFreeMass", type: "leanBodyMass", unit: "kg"),
        FieldRow(field: "fatMassWeight", type: "x.sami.withings.fatMass", unit: "kg", undeclared: "kg"),
        FieldRow(field: "boneMass", type: "hc.boneMass", unit: "kg"),
        FieldRow(field: "heartRate", type: "heartRate", unit: "count/min"),
        FieldRow(field: "systolicBloodPressure", type: "bloodPressureSystolic", unit: "mmHg"),
        FieldRow(field: "diastolicBloodPressure", type: "bloodPressureDiastolic", unit: "mmHg"),
        own("height", "withings", "m"), own("muscleMass", "withings", "kg"),
        own("temperature", "withings", "degC"), own("bodyTemperature", "withings", "degC"),
        own("skinTemperature", "withings", "degC"), own("bloodOxygenLevel", "withings", "%", percent: true),
        own("pulseWaveVelocity", "withings", "m/s"), own("steps", "withings", "count", sum: true),
        own("distance", "withings", "m", sum: true), own("calories", "withings", "kcal", sum: true),
        own("elevation", "withings", "m", sum: true), own("softActivityDuration", "withings", "s", sum: true),
        own("moderateActivityDuration", "withings", "s", sum: true),
        own("intenseActivityDuration", "withings", "s", sum: true),
    ]

    private static let pedometer = [
        FieldRow(field: "numberOfSteps", type: "stepCount", unit: "count"),
        FieldRow(field: "floorsAscended", type: "flightsClimbed", unit: "count"),
        FieldRow(field: "distance", type: "distanceWalkingRunning", unit: "m"),
        FieldRow(
            field: "floorsDescended", type: "x.sami.floorsDescended", unit: "count", aggregation: .cumulative),
    ]

    private static let calories = [FieldRow(field: "calories", type: "dietaryEnergyConsumed", unit: "kcal")]

    /// Fields whose name and unit mean the same on every device.
    private static let standardRows = [
        FieldRow(field: "weight", type: "weight", unit: "kg"),
        FieldRow(field: "heartRate", type: "heartRate", unit: "count/min"),
        FieldRow(field: "stepCount", type: "stepCount", unit: "count"),
    ]

    private static let byType = [
        "Withings Device": index(withings), "iPhone Pedometer": index(pedometer),
        "SAMI Example Calorie Tracker": index(calories),
    ]
    private static let standard = index(standardRows)

    private static func index(_ rows: [FieldRow]) -> [String: FieldRow] {
        Dictionary(uniqueKeysWithValues: rows.map { ($0.field, $0) })
    }
}
