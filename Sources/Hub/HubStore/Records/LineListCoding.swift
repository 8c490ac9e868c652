import Samples

/// Short lists in one text column, one item per line, so that a person with `sqlite3` can read them.
///
/// In an item `\` is written `\\` and a line feed `\n`.
enum LineListCoding {
    /// A basis: a record number in digits, or `=` and a key.
    static func text(_ basis: [Provenance.Basis]) -> String? {
        guard !basis.isEmpty else { return nil }
        return join(
            basis.map { item in
                switch item {
                case .number(let number): String(number)
                case .key(let key): "=" + key.text
                }
            })
    }

    static func basis(_ text: String?) -> [Provenance.Basis]? {
        guard let text else { return [] }
        var basis: [Provenance.Basis] = []
        for item in split(text) {
            if let text = rest(of: item, after: "=") {
                basis.append(.key(RecordKey(trusted: text)))
            } else {
                guard let number = Int64(item) else { return nil }
                basis.append(.number(number))
            }
        }
        return basis
    }

    /// An origin: `system:` and `hub:` steps in order.
    ///
    /// `account:` belongs to the system before it.
    static func text(_ origin: [OriginStep]) -> String? {
        guard !origin.isEmpty else { return nil }
        var items: [String] = []
        for step in origin {
            switch step {
            case .system(let name, let account):
                items.append("system:" + name)
                if let account { items.append("account:" + account) }
            case .hub(let id): items.append("hub:" + id)
            }
        }
        return join(items)
    }

    static func origin(_ text: String) -> [OriginStep]? {
        var steps: [OriginStep] = []
        for item in split(text) {
            if let name = rest(of: item, after: "system:") {
                steps.append(.system(name: name, account: nil))
            } else if let id = rest(of: item, after: "hub:") {
                steps.append(.hub(id: id))
            } else if let account = rest(of: item, after: "account:"), case .system(let name, nil)? = steps.last {
                steps[steps.count - 1] = .system(name: name, account: account)
            } else {
                return nil
            }
        }
        return steps
    }

    /// A subject as its form and its text.
    static func text(_ subject: Subject?) -> String? {
        switch subject {
        case .account(let account): "account:" + account
        case .slot(let slot): "slot:" + String(slot)
        case .name(let name): "name:" + name
        case nil: nil
        }
    }

    /// `nil` if the text has none of the three forms.
    static func subject(_ text: String) -> Subject? {
        if let account = rest(of: text, after: "account:") { return .account(account) }
        if let name = rest(of: text, after: "name:") { return .name(name) }
        if let slot = rest(of: text, after: "slot:") { return Int(slot).map(Subject.slot) }
        return nil
    }

    /// Any texts; `nil` for none, because an empty text would be one empty item.
    static func text(list items: [String]) -> String? { items.isEmpty ? nil : join(items) }

    /// The items of `text(list:)`; none for an empty text.
    static func list(_ text: String) -> [String] { text.isEmpty ? [] : split(text) }

    /// Compares bytes: `hasPrefix` treats the colon and a following combining mark as one other character.
    private static func rest(of text: String, after prefix: String) -> String? {
        guard text.utf8.starts(with: prefix.utf8) else { return nil }
        return String(decoding: text.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
    }

    private static func join(_ items: [String]) -> String {
        var bytes: [UInt8] = []
        for (index, item) in items.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "\n")) }
            for byte in item.utf8 {
                switch byte {
                case UInt8(ascii: "\\"): bytes += [byte, byte]
                case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
                default: bytes.append(byte)
                }
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func split(_ text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { line in
            var bytes: [UInt8] = []
            var escaped = false
            for byte in line {
                if escaped {
                    bytes.append(byte == UInt8(ascii: "n") ? UInt8(ascii: "\n") : byte)
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}
