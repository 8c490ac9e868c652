import ArgumentParser

extension CaseIterable where Self: RawRepresentable<String> {
    /// All values as they are typed, with commas between them.
    static var allNames: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// Parses a value for ArgumentParser; the error lists the allowed ones.
    static func named(_ text: String) throws -> Self {
        guard let value = Self(rawValue: text) else { throw ValidationError("'\(text)' is none of: \(allNames)") }
        return value
    }
}
