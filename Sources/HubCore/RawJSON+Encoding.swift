import FoundationEssentials
import HubWire

extension RawJSON {
    /// What is neither a record nor a message is written by `JSONEncoder`: statuses, settings, results of commands.
    ///
    /// - Parameter value: something whose encoding cannot fail: no floating-point infinities, text keys.
    init(encoding value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("\(type(of: value)) does not encode as JSON")
        }
        self.init(trusted: Array(data))
    }
}
