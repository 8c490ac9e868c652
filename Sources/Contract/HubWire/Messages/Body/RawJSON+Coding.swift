import Foundation

extension RawJSON {
    /// Encodes values that are neither records nor messages with `JSONEncoder`: statuses, settings, arguments and results of commands.
    ///
    /// - Parameter value: a value whose encoding cannot fail: no floating-point infinities, and text keys.
    package init(encoding value: some Encodable) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else {
            preconditionFailure("\(type(of: value)) does not encode as JSON")
        }
        self.init(trusted: Array(data))
    }

    package func decoded<Value: Decodable>() throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(bytes))
    }
}
