import FoundationEssentials
import HubWire

/// What is neither a record nor a message is written by `JSONEncoder`: statuses, settings, results of commands.
struct JSONText {
    private let encoder: JSONEncoder

    init() {
        encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    /// - Parameter value: something whose encoding cannot fail: no floating-point infinities, text keys.
    func object(_ value: some Encodable) -> RawJSON {
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("\(type(of: value)) does not encode as JSON")
        }
        return RawJSON(trusted: Array(data))
    }
}
