import JSON

/// Reads JSON that the service writes in more than one way.
extension JSONTree {
    init?(reading text: String) { self.init(Array(text.utf8)) }

    static func number(_ value: Double) -> JSONTree { .number(NumberWriter.text(value)) }
    /// Members sorted by name.
    static func object(_ members: [String: JSONTree]) -> JSONTree {
        .object(members.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) })
    }

    /// A member that is not null, which means the same as an absent one.
    func member(_ name: String) -> JSONTree? { self[name].flatMap { $0 == .null ? nil : $0 } }

    /// Members by name; the last of equal names wins, as in most readers.
    var object: [String: JSONTree]? {
        members.map { Dictionary($0.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }) }
    }

    /// Text, or the digits of a whole number: codes and ids may be either.
    var word: String? { text ?? (integer == nil ? nil : json) }

    /// The same value with the members of all objects sorted, so that its text is always the same.
    var sorted: JSONTree {
        switch self {
        case .list(let items): .list(items.map(\.sorted))
        case .object: .object((object ?? [:]).mapValues(\.sorted))
        default: self
        }
    }
}
