public import Samples

/// The types that phones have and the registry has not.
public enum PhoneTypes {
    /// To be declared by the plugin.
    public static let declared: [HealthType] = all.compactMap { entry in
        guard let id = try? TypeID(entry.id) else { return nil }
        return try? HealthType(
            declaring: id, kind: entry.unit == nil ? .other : .quantity, unit: entry.unit,
            aggregation: entry.unit == nil ? nil : .discreteArithmetic)
    }

    /// Those of the hub with these.
    public static let registry: TypeRegistry = declared.reduce(.standard) { registry, type in
        (try? registry.registering(type)) ?? registry
    }

    private static let all: [(id: String, unit: String?)] =
        [
            "x.hae.sleepNight", "x.hae.symptom", "x.hae.cycle", "x.hae.ecgVoltages", "x.hae.unread", "x.hc.unread",
            "x.hc.menstruationPeriod",
        ].map { ($0, nil) } + [("x.hc.skinTemperatureDelta", "K"), ("x.hc.speed", "m/s")]
        + OpenScaleReader.ownTypes + BLEReading.ownTypes
}
