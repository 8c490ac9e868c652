import JSON
import Samples

/// The places of the members of one record.
///
/// It is reused: a decoder keeps one and fills it for each record.
///
/// Members are found first and interpreted later, because `kind`, which decides their meaning, may come last.
struct RecordScan {
    /// A member that this version does not know.
    struct Unknown {
        let name: JSONValue
        let value: JSONValue
    }

    /// A fault that makes the whole record unreadable although it is JSON.
    enum Fault {
        case noObject(JSONValue.Kind)
        case repeated(String)
        case tooDeep
        case loneSurrogate
    }

    /// Maximum depth of containers in a record, including its own object; a deeper record is refused.
    static let maximumDepth = 64

    /// Whether keys come from the hub, which has already checked them.
    var trustsKeys = false
    private(set) var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private(set) var members: RecordMembers = []
    private(set) var unknown: [Unknown] = []
    private(set) var fault: Fault?
    /// The size of the record in bytes as it was sent.
    private(set) var size = 0
    private var values: [JSONValue?] = Array(repeating: nil, count: RecordMember.allCases.count)
    private var unknownNames: Set<String> = []

    func value(_ member: RecordMember) -> JSONValue? {
        members.contains(member) ? values[Int(member.rawValue)] : nil
    }

    /// Scans the value at the scanner's position and keeps its members.
    ///
    /// - Parameter memory: values that equal the previous record's are not parsed again.
    /// - Throws: an error if the bytes are not JSON; any other problem becomes a ``fault``.
    mutating func fill(from scanner: inout JSONScanner, _ memory: borrowing DecoderMemory) throws(JSONSyntaxError) {
        bytes = scanner.bytes
        members = []
        fault = nil
        if !unknown.isEmpty {
            unknown.removeAll(keepingCapacity: true)
            unknownNames.removeAll(keepingCapacity: true)
        }
        let start = scanner.position
        guard scanner.next == UInt8(ascii: "{") else {
            fault = .noObject(try scanner.value().kind)
            size = scanner.position - start
            return
        }
        try scanner.expect(UInt8(ascii: "{"))
        scanner.skipSpace()
        if !scanner.take(UInt8(ascii: "}")) {
            repeat {
                scanner.skipSpace()
                try member(&scanner, memory)
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.expect(UInt8(ascii: "}"))
        }
        size = scanner.position - start
    }

    private mutating func member(
        _ scanner: inout JSONScanner, _ memory: borrowing DecoderMemory
    ) throws(JSONSyntaxError) {
        let name = try scanner.name()
        let member = name.hasLoneSurrogate ? nil : known(name)
        let again = member.flatMap { memory.again($0, &scanner) }
        let value = if let again { again } else { try scanner.value() }
        if value.depth >= RecordScan.maximumDepth, fault == nil { fault = .tooDeep }
        if name.hasLoneSurrogate || value.hasLoneSurrogate {
            fault = fault ?? .loneSurrogate
            return
        }
        guard let member else { return note(Unknown(name: name, value: value)) }
        if members.contains(member) { fault = fault ?? .repeated(member.name) }
        members.insert(RecordMembers(member))
        values[Int(member.rawValue)] = value
    }

    private func known(_ name: JSONValue) -> RecordMember? {
        guard name.hasEscapes else {
            return RecordMember(UnsafeRawBufferPointer(rebasing: bytes[(name.start + 1)..<(name.end - 1)]))
        }
        guard var text = JSONText.string(name, in: bytes) else { return nil }
        return text.withUTF8 { RecordMember(UnsafeRawBufferPointer($0)) }
    }

    private mutating func note(_ member: Unknown) {
        guard let name = JSONText.string(member.name, in: bytes) else { return }
        if !unknownNames.insert(name).inserted { fault = fault ?? .repeated(name) }
        unknown.append(member)
    }
}

/// Values of the members of a scanned record. Errors name the member, the fault and the allowed values, never the value itself.
extension RecordScan {
    /// Maximum length in bytes of names of a device, an account, a person, a series and the like.
    static let maximumName = 256

    /// A rejection because of the value of `member`.
    func rejection(
        _ code: RecordRejection.Code, _ member: RecordMember, expected: String
    ) -> RecordRejection {
        guard let value = value(member) else {
            return RecordRejection(code, "\(member.name): missing; expected \(expected)")
        }
        return RecordRejection(code, "\(member.name): expected \(expected), found \(value.kind.description)")
    }

    /// The text of a string; `nil` if the member is absent.
    func text(_ member: RecordMember, _ code: RecordRejection.Code) throws(RecordRejection) -> String? {
        guard let value = value(member) else { return nil }
        guard value.kind == .string, let text = JSONText.string(value, in: bytes) else {
            throw rejection(code, member, expected: "a string")
        }
        return text
    }

    /// A short text without control characters; `nil` if the member is absent.
    func name(
        _ member: RecordMember, _ code: RecordRejection.Code, maximum: Int = RecordScan.maximumName
    ) throws(RecordRejection) -> String? {
        guard let text = try text(member, code) else { return nil }
        guard RecordScan.isName(text, maximum: maximum) else {
            throw RecordRejection(
                code,
                "\(member.name): expected 1 to \(maximum) bytes without control characters, found \(text.utf8.count)")
        }
        return text
    }

    static func isName(_ text: String, maximum: Int = maximumName) -> Bool {
        !text.isEmpty && text.utf8.count <= maximum
            && (text.isPrintableASCII || text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
    }

    /// A member that is required.
    func required<Value>(
        _ value: Value?, _ member: RecordMember, _ code: RecordRejection.Code, expected: @autoclosure () -> String
    ) throws(RecordRejection) -> Value {
        guard let value else { throw rejection(code, member, expected: expected()) }
        return value
    }

    /// An integer; `nil` if the member is absent.
    func integer(_ member: RecordMember, _ code: RecordRejection.Code) throws(RecordRejection) -> Int64? {
        guard let value = value(member) else { return nil }
        guard value.kind == .number else { throw rejection(code, member, expected: "an integer") }
        guard let integer = NumberReader.integer(value, in: bytes) else {
            throw RecordRejection(code, "\(member.name): expected an integer of 64 bits, without fraction and exponent")
        }
        return integer
    }

    /// A double; `nil` if the member is absent.
    func number(_ member: RecordMember) throws(RecordRejection) -> Double? {
        guard let value = value(member) else { return nil }
        guard value.kind == .number else { throw rejection(.value, member, expected: "a number") }
        return try RecordScan.double(value, in: bytes, member.name)
    }

    static func double(
        _ value: JSONValue, in bytes: UnsafeRawBufferPointer, _ place: @autoclosure () -> String
    ) throws(RecordRejection) -> Double {
        guard let number = NumberReader.double(value, in: bytes) else {
            throw RecordRejection(.value, "\(place()): the number is beyond the range of doubles")
        }
        return number
    }

    /// An RFC 3339 time; `nil` if the member is absent.
    func time(_ member: RecordMember) throws(RecordRejection) -> Timestamp? {
        guard let value = value(member) else { return nil }
        guard value.kind == .string else {
            throw rejection(.time, member, expected: "RFC 3339 with an offset, such as 2024-03-15T07:30:05+01:00")
        }
        do throws(Timestamp.ParseError) {
            guard value.hasEscapes else {
                return try Timestamp(
                    parsing: UnsafeRawBufferPointer(rebasing: bytes[(value.start + 1)..<(value.end - 1)]))
            }
            return try Timestamp(parsing: JSONText.string(value, in: bytes) ?? "")
        } catch {
            throw RecordRejection(.time, "\(member.name): \(error)")
        }
    }

    /// A calendar date; `nil` if the member is absent.
    func date(_ member: RecordMember) throws(RecordRejection) -> LocalDate? {
        guard let text = try text(member, .time) else { return nil }
        guard let date = LocalDate(text) else {
            throw RecordRejection(.time, "\(member.name): expected a day of the calendar as yyyy-MM-dd")
        }
        return date
    }

    /// Metadata as compact text; `nil` if the member is absent.
    func metadata() throws(RecordRejection) -> JSONObject? {
        guard let value = value(.metadata) else { return nil }
        guard value.kind == .object else { throw rejection(.metadata, .metadata, expected: "an object") }
        return try RecordScan.bounded(
            JSONText.compact(value, in: bytes), depth: value.depth, "metadata")
    }

    static func bounded(
        _ text: String, depth: Int, _ name: String, maximum: Int = JSONObject.maximumBytes
    ) throws(RecordRejection) -> JSONObject {
        guard depth <= JSONObject.maximumDepth else {
            throw RecordRejection(
                .metadata, "\(name): nests \(depth) deep; at most \(JSONObject.maximumDepth) are allowed")
        }
        guard text.utf8.count <= maximum else {
            throw RecordRejection(.metadata, "\(name): \(text.utf8.count) bytes; at most \(maximum) are allowed")
        }
        return JSONObject(trusted: text)
    }

    /// The record's key in its checked form; `nil` if the member is absent.
    func key() throws(RecordRejection) -> RecordKey? {
        guard let text = try text(.key, .key) else { return nil }
        guard let key = key(of: text) else {
            throw RecordRejection(
                .key,
                "key: expected 1 to \(RecordKey.maximumBytes) bytes without control and bidirectional characters, found \(text.utf8.count)"
            )
        }
        return key
    }

    /// A key in its checked form; the hub checked the keys that it prints when it received them, by the rules of that time.
    func key(of text: String) -> RecordKey? {
        guard trustsKeys, !text.isEmpty, text.utf8.count <= RecordKey.maximumBytes else { return RecordKey(text) }
        return RecordKey(trusted: text)
    }

    /// The group if it can be read, even if the record is refused for another fault.
    var legibleGroup: String? {
        guard let value = value(.group), value.kind == .string else { return nil }
        return JSONText.string(value, in: bytes)
    }
}
