/// What an export prints of a device: `<<HKDevice: 0x281a2b3c0>, name:Apple Watch, manufacturer:Apple Inc., model:Watch, …>`.
public enum DeviceText {
    /// The fields that HealthKit has, under the names that the hub's `device` has ([Samples.md]), and others, such as `creation date`, under their own.
    ///
    /// The pointer is left out: it is another one in each export. `nil` where the text has another form.
    public static func fields(_ text: String) -> [(name: String, value: String)]? {
        guard text.hasPrefix("<<HKDevice:"), text.hasSuffix(">"), let end = text.firstIndex(of: ">") else { return nil }
        // Values have commas: a field begins where a name that is known comes.
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

/// The name of a source, as it is compared: a non-breaking space is a space.
public enum SourceName {
    public static func normalized(_ text: String) -> String {
        var output = ""
        var isSpace = true
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x20, 0xA0, 0x2007, 0x202F, 9, 10, 13:
                if !isSpace { output.unicodeScalars.append(" ") }
                isSpace = true
            // Marks that only move others about: a name of a source must not steer a terminal.
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
