import WebFaults
/// The fields of a device type's messages, and the normalisation of messages (reference §3).
struct ExchangeManifest: Sendable {
    enum FieldType: String, Sendable, CaseIterable {
        case boolean = "Boolean"
        case double = "Double"
        case float = "Float"
        case integer = "Integer"
        case long = "Long"
        case string = "String"
    }

    indirect enum Field: Sendable {
        case leaf(FieldType, isCollection: Bool)
        case structure([String: Field])
    }

    let version: Int64
    let fields: [String: Field]

    /// - Parameters:
    ///   - properties: the object that clients receive.
    ///   - undeclared: names and types of data that the properties do not declare: the Withings manifest emits two.
    init(version: Int64, properties: JSONTree, undeclared: JSONTree) {
        self.version = version
        var fields = ExchangeManifest.fields(properties["fields"])
        for member in undeclared.members ?? [] {
            if let type = member.value.text.flatMap(FieldType.init) {
                fields[member.name] = .leaf(type, isCollection: false)
            }
        }
        self.fields = fields
    }

    private static func fields(_ tree: JSONTree?) -> [String: Field] {
        var fields: [String: Field] = [:]
        for member in tree?.members ?? [] {
            // A leaf has a type that is text; any other object contains leaves.
            if let name = member.value["type"]?.text {
                guard let type = FieldType(rawValue: name) else { continue }
                fields[member.name] = .leaf(type, isCollection: member.value["isCollection"]?.truth ?? false)
            } else {
                fields[member.name] = .structure(ExchangeManifest.fields(member.value))
            }
        }
        return fields
    }

    /// The fault of an object of fields, in SAMI's words; `nil` if there is none.
    static func complaint(about properties: JSONTree) -> String? {
        guard let fields = properties["fields"]?.members, !fields.isEmpty else { return "manifest content empty" }
        func isField(_ tree: JSONTree) -> Bool {
            guard let members = tree.members, !members.isEmpty else { return false }
            if let type = tree["type"]?.text { return FieldType(rawValue: type) != nil }
            return members.allSatisfy { isField($0.value) }
        }
        return fields.allSatisfy { isField($0.value) } ? nil : "manifest content invalid"
    }

    /// The fields that the manifest declares, each in its type; other fields are dropped, as by SAMI.
    func normalised(_ data: JSONTree) -> JSONTree { .object(ExchangeManifest.normalised(data, fields)) }

    private static func normalised(_ data: JSONTree, _ fields: [String: Field]) -> [JSONTree.Member] {
        (data.members ?? []).compactMap { member in
            switch fields[member.name] {
            case .leaf(let type, isCollection: false):
                return converted(member.value, to: type).map { .init(member.name, $0) }
            case .leaf(let type, isCollection: true):
                guard let values = member.value.list else { return nil }
                return .init(member.name, .list(values.compactMap { converted($0, to: type) }))
            case .structure(let children):
                let inner = normalised(member.value, children)
                return inner.isEmpty ? nil : .init(member.name, .object(inner))
            case nil: return nil
            }
        }
    }

    private static func converted(_ value: JSONTree, to type: FieldType) -> JSONTree? {
        switch type {
        case .boolean: return value.truth.map { .truth($0) }
        case .string: return value.text.map { .text($0) }
        case .double, .float:
            if case .number = value { return value }
            return value.lenientDouble.map { .real($0) }
        case .integer, .long:
            if let whole = value.lenientInteger { return .whole(whole) }
            // Rounded down, as in SAMI's own example.
            return value.lenientDouble.flatMap { Int64(exactly: $0.rounded(.down)) }.map { .whole($0) }
        }
    }
}
