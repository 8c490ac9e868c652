import JSON
public import Samples

/// A LIVE body of the plain kind that a device sends many times a second, found in one pass and without memory of its own.
///
/// Plain is: one JSON object without white space, without escapes in names, each member of §5.2 at most once and as it should be, no
/// `subject`, and nothing that the hub adds. Whatever else there is takes the long way through ``LiveValue``, which knows what is
/// wrong and how to say it; of a plain body both make the same message.
public struct PlainLive {
    /// The text of `type`, as it stands in the body.
    public let type: UnsafeRawBufferPointer
    private let members: UnsafeRawBufferPointer
    /// The text of `unit`, if it has one.
    public let unit: UnsafeRawBufferPointer?
    /// Where the number of `value` stands, if it has one.
    let value: Range<Int>?

    /// Whether it has a `value`.
    public var hasValue: Bool { value != nil }

    /// - Returns: `nil` when the body is not plain, which does not mean that it is wrong.
    public init?(_ body: UnsafeRawBufferPointer) {
        guard body.count > 2, let scan = try? PlainScan(body), let type = scan.type else { return nil }
        self.init(
            body, type: (type.start + 1)..<(type.end - 1), unit: scan.unit.map { ($0.start + 1)..<($0.end - 1) },
            value: scan.value)
    }

    /// A body that is known to be plain, and where its `type`, `unit` and `value` are.
    init(_ body: UnsafeRawBufferPointer, type: Range<Int>, unit: Range<Int>?, value: Range<Int>?) {
        self.type = UnsafeRawBufferPointer(rebasing: body[type])
        self.unit = unit.map { UnsafeRawBufferPointer(rebasing: body[$0]) }
        members = UnsafeRawBufferPointer(rebasing: body[..<(body.count - 1)])
        self.value = value
    }

    /// How many bytes `write` makes.
    public func count(adding addition: borrowing Addition) -> Int { members.count + addition.bytes.count }

    /// Writes the body as the feed carries it into `output`, which has room for just ``count(adding:)`` bytes.
    public func write(adding addition: borrowing Addition, to output: UnsafeMutableRawBufferPointer) {
        output.copyMemory(from: members)
        addition.bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: output[members.count...]).copyMemory(from: $0)
        }
    }

    /// What the hub adds to a body: its members and the closing brace.
    public struct Addition: Sendable {
        fileprivate private(set) var bytes: [UInt8] = []
        /// What stays when the time changes.
        private let lasting: Int

        public init(person: String?, plugin: String, time: Timestamp) {
            bytes.append(literal: #","person":"#)
            if let person { bytes.append(quoted: person) } else { bytes.append(literal: "null") }
            bytes.append(literal: #","source":"#)
            bytes.append(quoted: plugin)
            bytes.append(literal: #","time":""#)
            lasting = bytes.count
            set(time)
        }

        /// The time from now on.
        public mutating func set(_ time: Timestamp) {
            bytes.removeSubrange(lasting...)
            withUnsafeTemporaryAllocation(byteCount: Timestamp.maximumTextLength, alignment: 1) { text in
                let count = time.write(to: text)
                bytes.append(contentsOf: text[..<count])
            }
            bytes.append(literal: "\"}")
        }
    }
}

/// The pass over a body that may be plain; throws where it is not.
private struct PlainScan {
    private(set) var type: JSONValue?
    private(set) var unit: JSONValue?
    /// Where the number of `value` stands.
    private(set) var value: Range<Int>?
    private var seen = Set()

    private struct NotPlain: Error {}
    private struct Set: OptionSet {
        let rawValue: UInt8
        static let value = Set(rawValue: 1), unit = Set(rawValue: 2), progress = Set(rawValue: 4),
            device = Set(rawValue: 8)
    }

    init(_ body: UnsafeRawBufferPointer) throws {
        var scanner = try JSONScanner(body)
        guard scanner.take(UInt8(ascii: "{")) else { throw NotPlain() }
        repeat { try member(&scanner) } while scanner.take(UInt8(ascii: ","))
        guard scanner.take(UInt8(ascii: "}")) else { throw NotPlain() }
        try scanner.finish()
        guard !scanner.sawSpace else { throw NotPlain() }
    }

    private mutating func member(_ scanner: inout JSONScanner) throws {
        let (name, value) = (try scanner.name(), try scanner.value())
        guard !name.hasEscapes, !value.hasLoneSurrogate, value.isCompact else { throw NotPlain() }
        let bytes = scanner.bytes
        /// Names of the same length only.
        func isName(_ word: StaticString) -> Bool {
            (0..<word.utf8CodeUnitCount).allSatisfy { bytes[name.start + 1 + $0] == word.utf8Start[$0] }
        }
        // By length first: a name is one of few.
        switch name.end - name.start - 2 {
        case 4 where isName("type"):
            guard type == nil, value.kind == .string, !value.hasEscapes else { throw NotPlain() }
            type = value
        case 4 where isName("unit"):
            try once(.unit, value.kind == .string && !value.hasEscapes)
            unit = value
        case 6 where isName("device"): try once(.device, value.kind == .string)
        case 5 where isName("value"):
            try once(.value, value.kind == .number && NumberReader.double(value, in: bytes) != nil)
            self.value = value.start..<value.end
        case 8 where isName("progress"):
            let progress = value.kind == .number ? NumberReader.double(value, in: bytes) : nil
            try once(.progress, progress.map { (0...1).contains($0) } ?? false)
        case 4 where isName("time"), 6 where isName("person") || isName("source"), 7 where isName("subject"):
            throw NotPlain()
        default: break
        }
    }

    private mutating func once(_ member: Set, _ isFit: Bool) throws {
        guard isFit, seen.insert(member).inserted else { throw NotPlain() }
    }
}
