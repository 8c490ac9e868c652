import WebFaults

extension JSONTree {
    /// The text, or a number as written, because clients send `cid` as either.
    var lenientText: String? {
        switch self {
        case .text(let text), .number(let text): text
        default: nil
        }
    }

    static func whole(_ value: Int64?) -> JSONTree? { value.map { .number(String($0)) } }
    static func real(_ value: Double) -> JSONTree { .number("\(value)") }
    static func text(_ value: String?) -> JSONTree? { value.map { .text($0) } }
    /// Parses text that is known to be JSON, such as an object of the state file.
    static func written(_ text: String) -> JSONTree { JSONTree(Array(text.utf8)) ?? .null }

    /// Appends members.
    func with(_ more: KeyValuePairs<String, JSONTree?>) -> JSONTree {
        .object((members ?? []) + (JSONTree.members(more).members ?? []))
    }
}
