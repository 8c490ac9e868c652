/// Reads values that services and old clients write in several ways.
extension JSONTree {
    /// A whole number, including one written as text or with a fraction of zero.
    package var lenientInteger: Int64? {
        switch self {
        case .number(let digits): Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0) }
        case .text(let text): Int64(text)
        default: nil
        }
    }

    /// A finite number, including one written as text.
    package var lenientDouble: Double? {
        switch self {
        case .number(let digits), .text(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    package static func whole(_ value: Int64) -> JSONTree { .number(String(value)) }

    /// An object of these members in order, without those that are nil, because most readers treat absent and null alike.
    package static func members(_ members: KeyValuePairs<String, JSONTree?>) -> JSONTree {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }
}
