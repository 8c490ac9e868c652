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

    /// - Returns: `nil` when the body is not plain, which does not mean that it is wrong.
    public init?(_ body: UnsafeRawBufferPointer) {
        guard body.count > 2, let scan = try? PlainScan(body), let type = scan.type else { return nil }
        self.type = UnsafeRawBufferPointer(rebasing: body[(type.start + 1)..<(type.end - 1)])
        members = UnsafeRawBufferPointer(rebasing: body[..<(body.count - 1)])
    }

    /// How many bytes `write` needs.
    public func count(adding added: [UInt8]) -> Int { members.count + added.count + Timestamp.maximumTextLength + 2 }

    /// Writes the body as the feed carries it.
    ///
    /// - Parameters:
    ///   - added: the hub's members, from the comma before them to the quote before the time.
    ///   - output: room for ``count(adding:)`` bytes.
    /// - Returns: how many bytes it wrote.
    public func write(adding added: [UInt8], time: Timestamp, to output: UnsafeMutableRawBufferPointer) -> Int {
        output.copyMemory(from: members)
        var count = members.count
        added.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: output[count...]).copyMemory(from: $0) }
        count += added.count
        count += time.write(to: UnsafeMutableRawBufferPointer(rebasing: output[count...]))
        (output[count], output[count + 1]) = (UInt8(ascii: "\""), UInt8(ascii: "}"))
        return count + 2
    }

    /// The hub's members of a LIVE body, as `write` takes them.
    public static func added(person: String?, plugin: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(literal: #","person":"#)
        if let person { bytes.append(quoted: person) } else { bytes.append(literal: "null") }
        bytes.append(literal: #","source":"#)
        bytes.append(quoted: plugin)
        bytes.append(literal: #","time":""#)
        return bytes
    }
}

/// The pass over a body that may be plain; throws where it is not.
private struct PlainScan {
    private(set) var type: JSONValue?
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
        case 4 where isName("unit"): try once(.unit, value.kind == .string)
        case 6 where isName("device"): try once(.device, value.kind == .string)
        case 5 where isName("value"):
            try once(.value, value.kind == .number && NumberReader.double(value, in: bytes) != nil)
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
