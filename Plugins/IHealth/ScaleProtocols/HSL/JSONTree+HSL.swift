package import JSON

/// Conversions of JSON values that the lines of HSL/1 need.
extension JSONTree {
    /// The number in its fewest digits; null for a number that is not finite.
    package init(_ number: Double) { self = number.isFinite ? .number("\(number)") : .null }

    /// A whole number, including one written as `72.0`.
    package var whole: Int? { integer ?? double.flatMap { Int(exactly: $0) } }

    /// A number, if a `Double` can hold it.
    package var decimal: Double? { double.flatMap { $0.isFinite ? $0 : nil } }

    /// A form that does not depend on the writer.
    ///
    /// Members are sorted by name, the last of two equal names wins, null members are removed, and numbers have their fewest digits.
    package var canonical: JSONTree {
        switch self {
        case .list(let items): return .list(items.map(\.canonical))
        case .object(let members):
            let values = Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
            return .object(
                values.filter { $0.value != .null }.sorted { $0.key < $1.key }
                    .map { Member($0.key, $0.value.canonical) })
        case .number: return integer.map { .number(String($0)) } ?? decimal.map { JSONTree($0) } ?? self
        case .null, .truth, .text: return self
        }
    }
}
