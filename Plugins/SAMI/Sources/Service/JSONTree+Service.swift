import JSON

/// What the service writes in more than one way.
extension JSONTree {
    init?(reading text: String) { self.init(Array(text.utf8)) }

    static func number(_ value: Double) -> JSONTree { .number(NumberWriter.text(value)) }
    /// Members sorted by name.
    static func object(_ members: [String: JSONTree]) -> JSONTree {
        .object(members.sorted { $0.key < $1.key }.map { Member($0.key, $0.value) })
    }

    /// A member that is not null, which means the same as an absent one.
    func member(_ name: String) -> JSONTree? { self[name].flatMap { $0 == .null ? nil : $0 } }

    /// By name; the last one of a name, as most readers have it.
    var object: [String: JSONTree]? {
        members.map { Dictionary($0.map { ($0.name, $0.value) }, uniquingKeysWith: { _, last in last }) }
    }

    /// Text, or a whole number as its digits: codes and ids come as either.
    var word: String? { text ?? (integer == nil ? nil : json) }

    /// The same value with the members of all its objects sorted, so that it is always the same text.
    var sorted: JSONTree {
        switch self {
        case .list(let items): .list(items.map(\.sorted))
        case .object: .object((object ?? [:]).mapValues(\.sorted))
        default: self
        }
    }
}
