import Foundation
import GRDB
import WebFaults

/// A condition on the fields of a message: `field:value`, `field:>=value`, or a Lucene form.
///
/// One SDK sends the Lucene form for several fields: `(+_exists_:a +_exists_:b)`.
///
/// Names are compared without regard to case.
struct FieldFilter {
    static let presence = "EXISTS (SELECT 1 FROM json_each(data) WHERE key = ? COLLATE NOCASE)"

    let condition: String
    let arguments: [any DatabaseValueConvertible]

    /// - Throws: ``APIError`` for an unknown form.
    static func read(_ text: String) throws -> [FieldFilter] {
        let parts = text.split { $0 == " " || $0 == "(" || $0 == ")" || $0 == "+" }
        guard !parts.isEmpty else { throw APIError.invalid("filter", "Invalid rule") }
        return try parts.map { part in
            let halves = part.split(separator: ":", maxSplits: 1).map(String.init)
            guard halves.count == 2 else { throw APIError.invalid("filter", "Invalid rule") }
            if halves[0] == "_exists_" { return FieldFilter(condition: presence, arguments: [halves[1]]) }
            let isLowerBound = halves[1].hasPrefix(">=")
            let value = isLowerBound ? String(halves[1].dropFirst(2)) : halves[1]
            guard let number = Double(value) else {
                guard !isLowerBound else { throw APIError.invalid("filter", "Numeric field only") }
                return FieldFilter(condition: comparison("value = ?"), arguments: [halves[0], value])
            }
            return FieldFilter(
                condition: comparison(isLowerBound ? "value >= ?" : "value = ?"), arguments: [halves[0], number])
        }
    }

    private static func comparison(_ test: String) -> String {
        "EXISTS (SELECT 1 FROM json_each(data) WHERE key = ? COLLATE NOCASE AND \(test))"
    }
}

/// The end of a page: its last message, and the query it belongs to.
struct PageCursor {
    let ts: Int64
    let mid: String
    private let stamp: String

    init(ts: Int64, mid: String, mark: String, isDescending: Bool) {
        (self.ts, self.mid) = (ts, mid)
        stamp = PageCursor.stamp(mark, isDescending)
    }

    /// Parses ``text``.
    init?(_ text: String) {
        var base64 = text.replacing("-", with: "+").replacing("_", with: "/")
        base64 += String(repeating: "=", count: (4 - base64.count % 4) % 4)
        guard let bytes = Data(base64Encoded: base64), let plain = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        let parts = plain.split(separator: " ")
        guard parts.count == 3, let ts = Int64(parts[0]) else { return nil }
        (self.ts, mid, stamp) = (ts, String(parts[1]), String(parts[2]))
    }

    /// An opaque text: base64 for URLs.
    var text: String {
        Data("\(ts) \(mid) \(stamp)".utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
            .replacing("=", with: "")
    }

    func isFor(_ mark: String, isDescending: Bool) -> Bool { stamp == PageCursor.stamp(mark, isDescending) }

    /// FNV-1a: it detects mistakes, and protects no secret.
    private static func stamp(_ mark: String, _ isDescending: Bool) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in (mark + (isDescending ? "<" : ">")).utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
