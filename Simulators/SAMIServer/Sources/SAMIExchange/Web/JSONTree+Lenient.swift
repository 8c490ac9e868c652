import WebFaults

extension JSONTree {
    /// A whole number, also one written with a fraction of zero or as text, as old clients do.
    var lenientInteger: Int64? {
        switch self {
        case .number(let digits): Int64(digits) ?? Double(digits).flatMap { Int64(exactly: $0) }
        case .text(let text): Int64(text)
        default: nil
        }
    }

    var lenientDouble: Double? {
        switch self {
        case .number(let digits), .text(let digits): Double(digits).flatMap { $0.isFinite ? $0 : nil }
        default: nil
        }
    }

    /// Text, or a number as it is written: `cid` is sent as either.
    var lenientText: String? {
        switch self {
        case .text(let text), .number(let text): text
        default: nil
        }
    }

    /// An object without the members that have no value: the official Python SDK stumbles over null, never over what is
    /// missing.
    static func members(_ members: KeyValuePairs<String, JSONTree?>) -> JSONTree {
        .object(members.compactMap { name, value in value.map { Member(name, $0) } })
    }

    static func whole(_ value: Int64) -> JSONTree { .number(String(value)) }
    static func whole(_ value: Int64?) -> JSONTree? { value.map { .number(String($0)) } }
    static func real(_ value: Double) -> JSONTree { .number("\(value)") }
    static func text(_ value: String?) -> JSONTree? { value.map { .text($0) } }
    /// What is JSON already, such as an object of the state file.
    static func written(_ text: String) -> JSONTree { JSONTree(Array(text.utf8)) ?? .null }

    /// Adds members at the end.
    func with(_ more: KeyValuePairs<String, JSONTree?>) -> JSONTree {
        .object((members ?? []) + (JSONTree.members(more).members ?? []))
    }
}
