/// Parses the description of a device in an export: `<<HKDevice: 0x281a2b3c0>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, …>`.
public enum AppleDeviceText {
    /// The fields of the device: HealthKit's under the names of the hub's `device` ([Samples.md]), others, such as `creation date`, unchanged.
    ///
    /// Leaves out the pointer, which differs in each export. `nil` if the text has another form.
    public static func fields(_ text: String) -> [(name: String, value: String)]? {
        guard text.hasPrefix("<<HKDevice:"), text.hasSuffix(">"), let end = text.firstIndex(of: ">") else { return nil }
        // Values may contain commas, so a field begins only at a known name.
        var fields: [(name: String, value: String)] = []
        for part in text[text.index(after: end)...].dropLast().split(separator: ", ", omittingEmptySubsequences: true) {
            let part = part.hasPrefix(", ") ? part.dropFirst(2) : part
            if let colon = part.firstIndex(of: ":"), let name = names[String(part[..<colon])] {
                fields.append((name, String(part[part.index(after: colon)...])))
            } else if let last = fields.indices.last {
                fields[last].value += ", " + part
            } else if part.contains(where: { $0 != "," && $0 != " " }) {
                return nil
            }
        }
        return fields
    }

    private static let names = [
        "name": "name", "manufacturer": "manufacturer", "model": "model", "hardware": "hardwareVersion",
        "firmware": "firmwareVersion", "software": "softwareVersion", "localIdentifier": "localIdentifier",
        "UDIDeviceIdentifier": "udiDeviceIdentifier", "UDI device identifier": "udiDeviceIdentifier",
        "FDA UDI": "udiDeviceIdentifier", "creation date": "creationDate",
    ]
}

/// The name of a source for comparisons: a non-breaking space becomes a space.
public enum SourceName {
    public static func normalized(_ text: String) -> String {
        var output = ""
        var isSpace = true
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x20, 0xA0, 0x2007, 0x202F, 9, 10, 13:
                if !isSpace { output.unicodeScalars.append(" ") }
                isSpace = true
            // Drop marks that reorder other characters, because the name of a source must not control a terminal.
            case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069, 0...0x1F, 0x7F...0x9F: continue
            default:
                output.unicodeScalars.append(scalar)
                isSpace = false
            }
        }
        while output.unicodeScalars.last == " " { output.unicodeScalars.removeLast() }
        return output
    }
}
