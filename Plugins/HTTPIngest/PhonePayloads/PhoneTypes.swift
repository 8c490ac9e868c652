public import Samples

/// The types that phones send and the standard registry does not contain.
public enum PhoneTypes {
    /// The types that the plugin declares.
    public static let declared: [HealthType] = all.compactMap { entry in
        guard let id = try? TypeID(entry.id) else { return nil }
        return try? HealthType(
            declaring: id, kind: entry.unit == nil ? .other : .quantity, unit: entry.unit,
            aggregation: entry.unit == nil ? nil : .discreteArithmetic)
    }

    /// The standard registry with these types.
    public static let registry: TypeRegistry = declared.reduce(.standard) { registry, type in
        (try? registry.registering(type)) ?? registry
    }

    /// The id of the type that a name probably means: for a misspelled id, a name of Health Auto Export, or a part of an id.
    static func suggestion(for name: String) -> String? {
        guard (3...TypeID.maximumLength).contains(name.utf8.count) else { return nil }
        if let near = registry.suggestion(for: name) { return near.rawValue }
        if let metric = HealthAutoExportMetric.named(name) { return metric.type.id.rawValue }
        let word = name.lowercased()
        let part = word.hasSuffix("s") && word.utf8.count > 3 ? String(word.dropLast()) : word
        let ids = TypeRegistry.standard.all.map(\.id.rawValue).filter { $0.lowercased().contains(part) }
        return ids.min { left, right in
            let (first, second) = (left.lowercased().hasPrefix(part), right.lowercased().hasPrefix(part))
            return first != second ? first : (left.utf8.count, left) < (right.utf8.count, right)
        }
    }

    private static let all: [(id: String, unit: String?)] =
        [
            "x.hae.sleepNight", "x.hae.symptom", "x.hae.cycle", "x.hae.ecgVoltages", "x.hae.unread", "x.hc.unread",
            "x.hc.menstruationPeriod",
        ].map { ($0, nil) } + [("x.hc.skinTemperatureDelta", "K"), ("x.hc.speed", "m/s")]
        + OpenScaleReader.ownTypes + BLEReading.ownTypes
}
