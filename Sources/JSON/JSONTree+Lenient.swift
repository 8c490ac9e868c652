/// What services and old clients write in more than one way.
extension JSONTree {
    /// A whole number, also one that is written as text or with a fraction of zero.
    package var lenientInteger: Int64? {
        switch self {
        case .number(let digits): Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0) }
        case .text(let text): Int64(text)
        default: nil
        }
    }

    /// A finite number, also one that is written as text.
    package var lenientDouble: Double? {
        switch self {
        case .number(let digits), .text(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    package static func whole(_ value: Int64) -> JSONTree { .number(String(value)) }

    /// An object of these members in their order, without those that are nil: absent and null mean the same to most readers.
    package static func members(_ members: KeyValuePairs<String, JSONTree?>) -> JSONTree {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }
}
