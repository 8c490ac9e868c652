package import JSON

/// What the lines of HSL/1 need of a JSON value.
extension JSONTree {
    /// The fewest digits that are this number; null for one that is not finite.
    package init(_ number: Double) { self = number.isFinite ? .number("\(number)") : .null }

    /// A whole number, also one written as `72.0`.
    package var whole: Int? { integer ?? double.flatMap { Int(exactly: $0) } }

    /// A number, if a `Double` can hold it.
    package var decimal: Double? { double.flatMap { $0.isFinite ? $0 : nil } }

    /// The same however a program wrote it: members sorted by name, of two with one name the last, null as if it were not there, and a
    /// number in its fewest digits.
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
