import WebFaults

extension JSONTree {
    /// Text, or a number as it is written: `cid` is sent as either.
    var lenientText: String? {
        switch self {
        case .text(let text), .number(let text): text
        default: nil
        }
    }

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
