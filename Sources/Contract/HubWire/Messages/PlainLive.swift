import JSON
public import Samples

/// A LIVE body of the plain form that a device sends many times a second, parsed in one pass and without allocation.
///
/// A plain body is one JSON object without white space and without escapes in names. It has each member of §5.2 at most once and in valid
/// form, no `subject`, and no member that the hub adds. Any other body is read by ``LiveValue``, which reports its faults. For a plain
/// body both make the same message.
public struct PlainLive {
    /// The text of `type`, as it is in the body.
    public let type: UnsafeRawBufferPointer
    private let members: UnsafeRawBufferPointer
    /// The text of `unit`, if it has one.
    public let unit: UnsafeRawBufferPointer?
    /// The range of the number of `value`, if it has one.
    let value: Range<Int>?

    /// Whether it has a `value`.
    public var hasValue: Bool { value != nil }

    /// - Returns: `nil` if the body is not plain, which does not mean that it is invalid.
    public init?(_ body: UnsafeRawBufferPointer) {
        guard body.count > 2, let scan = try? PlainScan(body), let type = scan.type else { return nil }
        self.init(
            body, type: (type.start + 1)..<(type.end - 1), unit: scan.unit.map { ($0.start + 1)..<($0.end - 1) },
            value: scan.value)
    }

    /// A body that is known to be plain, with the ranges of its `type`, `unit` and `value`.
    init(_ body: UnsafeRawBufferPointer, type: Range<Int>, unit: Range<Int>?, value: Range<Int>?) {
        self.type = UnsafeRawBufferPointer(rebasing: body[type])
        self.unit = unit.map { UnsafeRawBufferPointer(rebasing: body[$0]) }
        members = UnsafeRawBufferPointer(rebasing: body[..<(body.count - 1)])
        self.value = value
    }

    /// The number of bytes that `write` writes.
    public func count(adding addition: borrowing Addition) -> Int { members.count + addition.bytes.count }

    /// Writes the body in the form of the feed into `output`, which has room for exactly ``count(adding:)`` bytes.
    public func write(adding addition: borrowing Addition, to output: UnsafeMutableRawBufferPointer) {
        output.copyMemory(from: members)
        addition.bytes.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(rebasing: output[members.count...]).copyMemory(from: $0)
        }
    }

    /// The hub's addition to a body: its members and the closing brace.
    public struct Addition: Sendable {
        fileprivate private(set) var bytes: [UInt8] = []
        /// The length of the part before the time.
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

        /// Sets the time of the following bodies.
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

/// The pass over a body that may be plain; throws if it is not.
private struct PlainScan {
    private(set) var type: JSONValue?
    private(set) var unit: JSONValue?
    /// The range of the number of `value`.
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
        /// Compare only names of the same length.
        func isName(_ word: StaticString) -> Bool {
            (0..<word.utf8CodeUnitCount).allSatisfy { bytes[name.start + 1 + $0] == word.utf8Start[$0] }
        }
        // Check the length first: there are only a few names.
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
