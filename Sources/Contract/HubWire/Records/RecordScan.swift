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
