import Platform

/// A complete request without its socket, as a stand-in service receives it.
public struct WebRequest: Sendable {
    public var method: String
    /// The undecoded path as the client wrote it, with a trailing slash if it has one.
    public var path: String
    /// The decoded members of the query, in their order.
    public var query: [(name: String, value: String)]
    /// The header fields, by lower-case name.
    public var fields: [String: String]
    public var body: [UInt8]

    public init(
        _ method: String, _ target: String, fields: [String: String] = [:], body: [UInt8] = []
    ) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.method = method
        path = parts.first.map(String.init) ?? "/"
        query = parts.count > 1 ? Self.form(parts[1]) : []
        (self.fields, self.body) = (fields, body)
    }

    /// The first member of the query with this name.
    public func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// The body as JSON; `nil` if it is not JSON.
    public var json: JSONTree? { JSONTree(body) }

    /// The members of the body, which may be a form or one JSON object, because many services accept both.
    public var form: [String: String] {
        if fields["content-type"]?.lowercased().hasPrefix("application/json") == true {
            let members = json?.members ?? []
            return Dictionary(
                members.compactMap { member in member.value.text.map { (member.name, $0) } },
                uniquingKeysWith: { first, _ in first })
        }
        return Dictionary(
            Self.form(String(decoding: body, as: UTF8.self)[...]).map { ($0.name, $0.value) },
            uniquingKeysWith: { first, _ in first })
    }

    /// `application/x-www-form-urlencoded`, decoded.
    static func form(_ text: Substring) -> [(name: String, value: String)] {
        text.split(separator: "&").map { member in
            let sides = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (decoded(sides[0]), sides.count > 1 ? decoded(sides[1]) : "")
        }
    }

    private static func decoded(_ text: Substring) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(0x20)
            case UInt8(ascii: "%"):
                guard let value = [UInt8](hexadecimal: String(decoding: rest.prefix(2), as: UTF8.self)), !value.isEmpty
                else {
                    bytes.append(byte)
                    continue
                }
                bytes += value
                rest = rest.dropFirst(2)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Encodes a text as a member of a query.
    public static func encoded(_ text: String) -> String {
        var out = ""
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                out.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                out += "%" + [byte].hexadecimal.uppercased()
            }
        }
        return out
    }
}

/// The answer of a stand-in service.
public struct WebAnswer: Sendable {
    public var status: Int
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]

    public init(_ status: Int, fields: [(name: String, value: String)] = [], body: [UInt8] = []) {
        (self.status, self.fields, self.body) = (status, fields, body)
    }

    public static func json(_ tree: JSONTree, _ status: Int = 200) -> WebAnswer {
        WebAnswer(status, fields: [("Content-Type", "application/json")], body: Array(tree.json.utf8))
    }

    /// A page that loads nothing from other addresses.
    ///
    /// - Parameter destination: an address to which its forms eventually redirect; browsers require permission for that redirect, too.
    public static func html(_ page: String, _ status: Int = 200, formsLeadTo destination: String? = nil) -> WebAnswer {
        let scheme = (destination ?? "").prefix { $0 != ":" }
        let isScheme = scheme.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        let more = scheme.isEmpty || !isScheme ? "" : " \(scheme):"
        return WebAnswer(
            status,
            fields: [
                ("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store"),
                (
                    "Content-Security-Policy",
                    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'\(more)"
                ),
            ], body: Array(page.utf8))
    }

    public static func redirect(_ url: String) -> WebAnswer { WebAnswer(302, fields: [("Location", url)]) }
}
