import PluginKit

/// Types for the fields that ``FieldMap`` has no row for: `x.sami.<type>.<field>`, as the manifest of the device type has them.
///
/// They are known only after the log-in, and are declared then.
enum FieldTypes {
    /// What the plugin asks for beside the types that it knows beforehand.
    static let pattern = "x.sami.*"
    /// Declarations of an instance at most (Protocol §4.2), without those of the plugin's own manifest.
    static let bound = 256 - FieldMap.declared.count

    /// The types that a manifest calls for, in the order of their ids.
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

    /// Nil where the name is too long for a type.
    static func id(_ path: String, of deviceType: String) -> String? {
        let parts = path.split(separator: ".").map { part in
            String(part.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") ? $0 : "_" })
        }
        let id = (["x", "sami", word(deviceType)] + parts).joined(separator: ".")
        return parts.isEmpty || (try? TypeID(id)) == nil ? nil : id
    }

    /// A display name as one segment: `SAMI Gear Fit` is `samiGearFit`.
    private static func word(_ name: String) -> String {
        if name == "Withings Device" { return "withings" }
        let words = name.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        guard let first = words.first else { return "device" }
        let begin = first == first.uppercased() ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
        return begin + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

extension FieldMap {
    /// Whether a field becomes a record without a type of its own, or none at all.
    static func isKnown(_ path: String, of deviceType: String, unit: String) -> Bool {
        if deviceType == "Withings Device", MessageReader.companions.contains(path) { return true }
        guard let row = row(path, of: deviceType) else { return false }
        // The same name for something else: the id is taken.
        if declared.contains(where: { $0.id == FieldTypes.id(path, of: deviceType) }) { return true }
        guard let given = JScienceUnit(unit), let own = try? HealthUnit(row.unit) else { return false }
        return row.isPercent || (try? HealthUnit(given.unit))?.isCompatible(with: own) == true
    }
}
