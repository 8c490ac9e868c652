import JSON
import Samples

/// Reads the members of one scanned JSON object; errors name the member and the allowed values.
///
/// The bytes belong to the caller and must outlive the reader. Members that no one reads are ignored (R3.5) unless
/// ``refuseOthers(than:)`` is called. If two members have the same name, the last counts (R3.9).
struct ObjectReader {
    struct Member {
        let name: String
        let value: JSONValue
    }

    /// Integers that every JSON reader holds exactly: 0…2⁵³−1.
    static let safeIntegers: ClosedRange<Int64> = 0...9_007_199_254_740_991

    let bytes: UnsafeRawBufferPointer
    /// The path of this object: `HELLO`, `HELLO.declares[0]`.
    let path: String
    let members: [Member]

    /// Scans a whole body.
    ///
    /// - Throws: `json` with the byte offset if the bytes are not one JSON object.
    init(_ bytes: UnsafeRawBufferPointer, path: String) throws(WireError) {
        let scanned: (value: JSONValue, members: [Member])
        do throws(JSONSyntaxError) {
            scanned = try Self.scan(bytes)
        } catch {
            throw WireError(.json, "\(path): \(error)")
        }
        guard scanned.value.kind == .object else {
            throw WireError(
                .json,
                "\(path): expected a JSON object at byte \(scanned.value.start), found \(scanned.value.kind.description)"
            )
        }
        (self.bytes, self.path, members) = (bytes, path, scanned.members)
    }

    /// Reads an object within a body that has been scanned.
    init(_ value: JSONValue, in bytes: UnsafeRawBufferPointer, path: String) throws(WireError) {
        do throws(JSONSyntaxError) {
            members = try Self.members(of: value, in: bytes)
        } catch {
            throw WireError(.json, "\(path): \(error)")
        }
        (self.bytes, self.path) = (bytes, path)
    }

    private static func scan(
        _ bytes: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) -> (value: JSONValue, members: [Member]) {
        var scanner = try JSONScanner(bytes)
        scanner.skipSpace()
        let value = try scanner.value()
        try scanner.finish()
        return (value, value.kind == .object ? try members(of: value, in: bytes) : [])
    }

    private static func members(
        of value: JSONValue, in bytes: UnsafeRawBufferPointer
    ) throws(JSONSyntaxError) -> [Member] {
        var scanner = JSONScanner(bytes, within: value)
        var members: [Member] = []
        try scanner.expect(UInt8(ascii: "{"))
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return members }
        repeat {
            scanner.skipSpace()
            let name = try scanner.name()
            // Treat a name that is not valid Unicode as unknown.
            members.append(Member(name: JSONText.string(name, in: bytes) ?? "", value: try scanner.value()))
            scanner.skipSpace()
        } while scanner.take(UInt8(ascii: ","))
        return members
    }

    /// The names of its members.
    var names: [String] { members.map(\.name) }

    /// The value of `name`, if the object has it.
    func value(_ name: String) -> JSONValue? { members.last { $0.name == name }?.value }

    /// The text of a value as it is in the body.
    func raw(_ value: JSONValue) -> RawJSON { RawJSON(trusted: Array(bytes[value.start..<value.end])) }

    /// The `batch`, `id` or `delivery` of the message, if it can be read.
    var reference: Int64? {
        for name in path == "WANT" ? ["id"] : ["batch", "id", "delivery"] {
            if let value = value(name), let number = integer(value), Self.safeIntegers.contains(number) {
                return number
            }
        }
        return nil
    }

    /// The subscription that a WANT or DONE is about, if it can be read and has the form of a name.
    var subscription: String? {
        guard path == "WANT" || path == "DONE" else { return nil }
        return value("want").flatMap(string).flatMap { PeerName.isValid($0) ? $0 : nil }
    }
}

extension ObjectReader {
    /// The part of a value that a reason may show: only its kind for health values and tokens, a short text for the protocol's words (R12.1).
    enum Disclosure { case kind, text }

    func fault(
        _ name: String, _ allowed: String, _ value: JSONValue?, show: Disclosure = .kind, code: WireError.Code = .field
    ) -> WireError {
        guard let value else { return WireError(code, "\(path).\(name): missing; expected \(allowed)", closed: false) }
        return WireError(code, "\(path).\(name): expected \(allowed), found \(found(value, show))", closed: false)
    }

    private func found(_ value: JSONValue, _ show: Disclosure) -> String {
        let isShort = value.end - value.start <= 40
        switch value.kind {
        case .string where show == .text && isShort, .number where show == .text && isShort, .true, .false, .null:
            return raw(value).text
        case .array where value.end - value.start == 2: return "[]"
        default: return value.kind.description
        }
    }

    /// Rejects unknown members of filters, because an ignored one would widen the answer (R8.36).
    ///
    /// - Throws: `field` that names the first member outside `known`, and the one that was probably meant.
    func refuseOthers(than known: [String]) throws(WireError) {
        guard let name = members.first(where: { !known.contains($0.name) })?.name else { return }
        // `typ` is too short for the edit distance to match it to a word.
        let meant = nearestName(to: name, among: known) ?? known.first { name.count > 1 && $0.hasPrefix(name) }
        let shown = RawJSON.string(name.count > 64 ? "\(name.prefix(64))…" : name).text
        throw WireError(
            .field,
            "\(path): there is no member \(shown); "
                + (meant.map { "did you mean \"\($0)\"?" } ?? "it has \(known.joined(separator: ", "))"),
            closed: false)
    }

    /// Reads a member with `read`, which returns `nil` for a value that is not allowed.
    ///
    /// - Parameter allowed: evaluated only for an error, because most messages have none.
    func required<T>(
        _ name: String, _ allowed: @autoclosure () -> String, show: Disclosure = .kind,
        _ read: (JSONValue) throws(WireError) -> T?
    ) throws(WireError) -> T {
        guard let value = value(name), let result = try read(value) else {
            throw fault(name, allowed(), value(name), show: show)
        }
        return result
    }

    /// Reads a member that may be absent; `null` does not count as absent.
    func optional<T>(
        _ name: String, _ allowed: @autoclosure () -> String, show: Disclosure = .kind,
        _ read: (JSONValue) throws(WireError) -> T?
    ) throws(WireError) -> T? {
        guard value(name) != nil else { return nil }
        return try required(name, allowed(), show: show, read)
    }
}
