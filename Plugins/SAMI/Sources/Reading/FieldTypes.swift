import PluginKit

/// Types for the fields without a row in ``FieldMap``: `x.sami.<type>.<field>`, from the manifest of the device type.
///
/// They are known only after the log-in, and are declared then.
enum FieldTypes {
    /// The pattern for which the plugin asks in addition to its fixed types.
    static let pattern = "x.sami.*"
    /// Maximum declarations of an instance (Protocol §4.2), minus those of the plugin's manifest.
    static let bound = 256 - FieldMap.declared.count

    /// The types for the fields of a manifest, ordered by id.
    static func declarations(_ deviceType: String, _ manifest: ServiceManifest) -> [TypeDeclaration] {
        var types: [String: TypeDeclaration] = [:]
        for (path, field) in manifest.fields {
            guard let id = id(path, of: deviceType), !FieldMap.isKnown(path, of: deviceType, unit: field.unit) else {
                continue
            }
            let unit = field.isNumber ? JScienceUnit(field.unit) : nil
            types[id] = TypeDeclaration(
                id: id, kind: unit == nil ? .other : .quantity, unit: unit?.unit,
                aggregation: unit == nil ? nil : .discreteArithmetic)
        }
        return types.values.sorted { $0.id < $1.id }
    }

    /// Nil if the name is too long for a type.
    static func id(_ path: String, of deviceType: String) -> String? {
        let parts = path.split(separator: ".").map { part in
            String(part.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" })
        }
        let id = (["x", "sami", word(deviceType)] + parts).joined(separator: ".")
        return parts.isEmpty || (try? TypeID(id)) == nil ? nil : id
    }

    /// A display name as one segment: `SAMI Gear Fit` becomes `samiGearFit`.
    private static func word(_ name: String) -> String {
        if name == "Withings Device" { return "withings" }
        let words = name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        guard let first = words.first else { return "device" }
        let begin = first == first.uppercased() ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
        return begin + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

extension FieldMap {
    /// Whether a field needs no dynamic type: it has a row, or becomes no record.
    static func isKnown(_ path: String, of deviceType: String, unit: String) -> Bool {
        if deviceType == "Withings Device", MessageReader.companions.contains(path) { return true }
        guard let row = row(path, of: deviceType) else { return false }
        // The same name with another meaning: the id is taken.
        if declared.contains(where: { $0.id == FieldTypes.id(path, of: deviceType) }) { return true }
        guard let given = JScienceUnit(unit), let own = try? HealthUnit(row.unit) else { return false }
        return row.isPercent || (try? HealthUnit(given.unit))?.isCompatible(with: own) == true
    }
}
