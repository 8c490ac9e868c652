public import HubWire

extension SettingValue {
    /// A value as it is written; nil for tables and for values that contain tables.
    init?(_ node: Node) {
        switch node {
        case .string(let text), .date(let text), .dateTime(let text): self = .string(text)
        // A time of day is whole minutes (``SettingType/timeOfDay``).
        case .time(let text):
            self = .string(text.hasSuffix(":00") && text.utf8.count == 8 ? String(text.dropLast(3)) : text)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .boolean(let truth): self = .boolean(truth)
        case .array(let entries):
            let values = entries.compactMap { SettingValue($0.node) }
            guard values.count == entries.count else { return nil }
            self = .list(values)
        case .table: return nil
        }
    }

    /// Whether the text, or one in the list, contains a reference in the sense of `hub.conf`.
    public var hasReference: Bool {
        switch self {
        case .string(let text): text.utf8.firstRange(of: Array("${".utf8)) != nil
        case .secret(let secret): SettingValue.string(secret.reveal()).hasReference
        case .list(let values): values.contains(where: \.hasReference)
        case .integer, .number, .boolean: false
        }
    }

    /// The value as TOML; a secret as `"<secret>"`.
    public var toml: String {
        switch self {
        case .string(let text): tomlQuoted(text)
        case .integer(let number): String(number)
        case .number(let number): String(number)
        case .boolean(let truth): String(truth)
        case .list(let values): "[" + values.map(\.toml).joined(separator: ", ") + "]"
        case .secret: tomlQuoted(Secret.placeholder)
        }
    }
}

extension SettingDeclaration {
    /// Why a program may not change a value (R8.184); nil if it may.
    ///
    /// - Parameter written: the present value, with references unresolved.
    package func refusalToProgram(from written: SettingValue?, to value: SettingValue?) -> String? {
        if value?.hasReference == true { return "\"${\" refers to a value elsewhere, which only the owner may name" }
        if written?.hasReference == true { return "hub.conf takes it from elsewhere (\"${…}\")" }
        let values = [value, written, defaultValue].compactMap(\.self)
        guard values.contains(where: { !places(in: $0).isEmpty }) else { return nil }
        return "names a place of this machine that its program may reach"
    }
}
