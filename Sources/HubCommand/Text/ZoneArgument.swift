import ArgumentParser
import HubSettings

/// A time zone as people type it.
enum ZoneArgument {
    /// The name in the database: `Europe/Berlin` for `berlin`, too.
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
