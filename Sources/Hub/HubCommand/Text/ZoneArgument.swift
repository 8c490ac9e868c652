import ArgumentParser
import HubWire

/// A time zone as people type it.
enum ZoneArgument {
    /// The zone's name in the database, such as `Europe/Berlin` for `berlin`.
    static func zone(_ text: String) throws -> String {
        let names = ZoneName.meant(by: text)
        guard names.count == 1 else {
            throw ValidationError(
                "'\(text)' is \(names.isEmpty ? "not a time zone, such as Europe/Berlin or Berlin" : "one of \(names.joined(separator: ", ")): write which")."
            )
        }
        return names[0]
    }
}
