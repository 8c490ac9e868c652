import Glibc

/// Reads the tags of an XML file in sequence, as bytes without copying; texts are created only on request.
///
/// It is made for the flat files that Apple Health exports. It skips and counts errors that would stop a full XML parser: a malformed
/// tag (reading continues at the next `<`), control characters, a `<` in a value, and a repeated attribute (both are kept).
/// Declarations are skipped, so they cannot name files or expand. An entity other than XML's five and numeric references stays as written.
/// Limits: a tag of 2 MiB and 250 attributes; everything else fits in one buffer.
///
/// A token and its ranges are valid until the next call.
public struct XMLTokenizer: ~Copyable {
    public enum Token { case open, close, empty, end }

    /// An attribute, as positions in the buffer.
    public struct Attribute {
        public var name: UInt32
        public var nameCount: UInt32
        public var value: UInt32
        public var valueCount: UInt32
    }

    private let source: any ExportByteSource
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// The position at which the search for the next tag starts, and the end of the bytes read so far.
    private var position = 0
    private var limit = 0
    /// The offset of the buffer's first byte in the file.
    private var origin: Int64 = 0
    private var isAtEnd = false
    private var attributes: UnsafeMutablePointer<Attribute>
    /// The start of the text between the previous tag and this one.
    private var textStart = 0
    private var tagStart = 0
    private var nameStart = 0
    private var nameCount = 0

    private var searches = [Search](repeating: Search(), count: 4)

    public private(set) var attributeCount = 0
    /// The number of malformed tags, and the offsets of the first ``AppleExportSummary/maximumPlaces`` of them.
    public private(set) var malformedTags = 0
    public private(set) var malformedOffsets: [Int64] = []
    /// Whether the file ends within a tag.
    public private(set) var endsInTag = false

    public static let maximumAttributes = 250
    public static let maximumTag = 2 << 20
    private static let usualCapacity = 256 << 10

    public init(_ source: any ExportByteSource) {
        self.source = source
        capacity = XMLTokenizer.usualCapacity
        base = .allocate(capacity: capacity)
        attributes = .allocate(capacity: XMLTokenizer.maximumAttributes)
    }

    deinit {
        base.deallocate()
        attributes.deallocate()
    }

    /// The offsets in the file at which this tag starts and ends.
    public var offset: Int64 { origin + Int64(tagStart) }
    public var endOffset: Int64 { origin + Int64(position) }
    public var inputPosition: Int64 { source.inputPosition }
    public var inputSize: Int64 { source.inputSize }
    public var hasWrongSum: Bool { source.hasWrongSum }

    // MARK: - Properties of a token

    public var name: UnsafeRawBufferPointer { slice(nameStart, nameCount) }

    public func isNamed(_ text: StaticString) -> Bool { XMLTokenizer.equal(base + nameStart, nameCount, text) }

    /// The text between the previous tag and this one; empty if it was longer than the buffer.
    public var text: UnsafeRawBufferPointer { slice(textStart, tagStart - textStart) }

    public func attributeName(_ index: Int) -> UnsafeRawBufferPointer {
        slice(Int(attributes[index].name), Int(attributes[index].nameCount))
    }

    public func attributeIsNamed(_ index: Int, _ text: StaticString) -> Bool {
        XMLTokenizer.equal(base + Int(attributes[index].name), Int(attributes[index].nameCount), text)
    }

    /// The value as written, with entities.
    public func value(_ index: Int) -> UnsafeRawBufferPointer {
        slice(Int(attributes[index].value), Int(attributes[index].valueCount))
    }

    /// The value of the first attribute with this name, as written.
    public func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        for index in 0..<attributeCount where attributeIsNamed(index, name) { return value(index) }
        return nil
    }

    /// The attributes as decoded texts.
    public var texts: [(name: String, value: String)] {
        (0..<attributeCount).map { (XMLText.decoded(attributeName($0)).text, XMLText.decoded(value($0)).text) }
    }

    @inline(__always)
    private func slice(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + start, count: count)
    }

    @inline(__always)
    private static func equal(_ bytes: UnsafePointer<UInt8>, _ count: Int, _ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount && memcmp(bytes, text.utf8Start, count) == 0
    }

    // MARK: - Reading

    /// Skips everything before the first occurrence of `mark`, which must come within `bound` bytes.
    ///
    /// Calls `look` with the skipped bytes.
    ///
    /// - Returns: false if the mark does not occur.
    public mutating func skip(
        to mark: StaticString, within bound: Int, _ look: (UnsafeRawBufferPointer) -> Void = { _ in }
    ) throws(ExportError) -> Bool {
        while true {
            if let found = ByteSearch.find(mark, in: base + position, limit - position) {
                look(slice(position, found))
                position += found
                return true
            }
            guard endOffset < bound, !isAtEnd else { return false }
            let kept = min(limit - position, mark.utf8CodeUnitCount - 1)
            look(slice(position, limit - position))
            position = limit - kept
            try refill(keeping: position)
        }
    }

    /// Reads the next tag.
    public mutating func next() throws(ExportError) -> Token {
        textStart = position
        while true {
            guard let found = memchr(base + position, 0x3C, limit - position) else {
                position = limit
                guard try more(from: textStart) else {
                    (tagStart, position) = (limit, limit)
                    return .end
                }
                continue
            }
            tagStart = found.assumingMemoryBound(to: UInt8.self) - base
            switch readTag() {
            case .token(let token): return token
            case .passed: textStart = position
            case .malformed:
                noteMalformed()
                position = tagStart + 1
            case .more:
                position = tagStart
                guard limit - tagStart < XMLTokenizer.maximumTag else {
                    noteMalformed()
                    position = tagStart + 1
                    continue
                }
                guard try more(from: textStart) else {
                    endsInTag = true
                    (tagStart, position) = (limit, limit)
                    return .end
                }
            }
        }
    }

    private mutating func noteMalformed() {
        malformedTags += 1
        if malformedOffsets.count < AppleExportSummary.maximumPlaces { malformedOffsets.append(offset) }
    }

    /// Reads more bytes; `false` at the end.
    private mutating func more(from kept: Int) throws(ExportError) -> Bool {
        // Text between two tags of an export is white space, so longer text is not kept.
        let from = position - kept > 65_536 ? position : kept
        textStart = from
        guard !isAtEnd else { return false }
        let before = limit - from
        try refill(keeping: from)
        return limit > before
    }

    private mutating func refill(keeping start: Int) throws(ExportError) {
        let kept = limit - start
        if kept > capacity / 2 {
            let larger = capacity * 2
            let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
            buffer.update(from: base + start, count: kept)
            base.deallocate()
            (base, capacity) = (buffer, larger)
        } else if start > 0 {
            memmove(base, base + start, kept)
        }
        origin += Int64(start)
        position -= start
        textStart = max(0, textStart - start)
        limit = kept
        let count = try source.read(
            into: UnsafeMutableRawBufferPointer(start: base + limit, count: capacity - limit))
        if count == 0 { isAtEnd = true }
        limit += count
    }

    private enum Outcome { case token(Token), passed, malformed, more }

    @inline(__always)
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte &- 9 <= 4 }

    /// Reads the tag at `tagStart`.
    private mutating func readTag() -> Outcome {
        let (base, limit) = (base, limit)
        var place = tagStart + 1
        guard place < limit else { return .more }
        switch base[place] {
        case 0x2F:  // </
            guard let end = find(.tag, from: place) else { return .more }
            nameStart = place + 1
            nameCount = end - nameStart
            while nameCount > 0, XMLTokenizer.isSpace(base[nameStart + nameCount - 1]) { nameCount -= 1 }
            guard nameCount > 0, memchr(base + nameStart, 0x3C, nameCount) == nil else { return .malformed }
            attributeCount = 0
            position = end + 1
            return .token(.close)
        case 0x21: return pass(place)  // <!
        case 0x3F:
            guard let found = find(.instruction, from: place) else { return .more }
            position = found + 2
            return .passed
        default: break
        }
        nameStart = place
        while place < limit, !XMLTokenizer.isSpace(base[place]), base[place] != 0x3E, base[place] != 0x2F {
            guard base[place] != 0x3C, base[place] != 0x22, base[place] != 0x3D else { return .malformed }
            place += 1
        }
        nameCount = place - nameStart
        guard place < limit else { return .more }
        guard nameCount > 0 else { return .malformed }
        return readAttributes(from: place)
    }

    private mutating func readAttributes(from start: Int) -> Outcome {
        let (base, limit, attributes) = (base, limit, attributes)
        var (place, count) = (start, 0)
        var isSpaced = false
        while true {
            let before = place
            while place < limit, XMLTokenizer.isSpace(base[place]) { place += 1 }
            guard place < limit else { return .more }
            let first = base[place]
            if first == 0x3E {
                (attributeCount, position) = (count, place + 1)
                return isSpaced && hasRepeatedName ? .malformed : .token(.open)
            }
            if first == 0x2F {
                guard place + 1 < limit else { return .more }
                guard base[place + 1] == 0x3E else { return .malformed }
                (attributeCount, position) = (count, place + 2)
                return isSpaced && hasRepeatedName ? .malformed : .token(.empty)
            }
            // If there is no white space between attributes, the previous quote did not end its value.
            guard place > before else { return .malformed }
            let name = place
            var (nameEnd, hasGap) = (place, false)
            // iOS 8 writes names with spaces in them, such as `Modified Date`.
            while place < limit, base[place] != 0x3D {
                guard base[place] != 0x3C, base[place] != 0x3E, base[place] != 0x22 else { return .malformed }
                if XMLTokenizer.isSpace(base[place]) {
                    hasGap = true
                } else {
                    if hasGap { isSpaced = true }
                    nameEnd = place + 1
                }
                place += 1
            }
            guard place < limit else { return .more }
            let nameCount = nameEnd - name
            guard nameCount > 0 else { return .malformed }
            place += 1
            while place < limit, XMLTokenizer.isSpace(base[place]) { place += 1 }
            guard place < limit else { return .more }
            let quote = base[place]
            guard quote == 0x22 || quote == 0x27 else { return .malformed }
            place += 1
            guard let found = memchr(base + place, Int32(quote), limit - place) else { return .more }
            let end = found.assumingMemoryBound(to: UInt8.self) - base
            guard count < XMLTokenizer.maximumAttributes else { return .malformed }
            attributes[count] = Attribute(
                name: UInt32(name), nameCount: UInt32(nameCount), value: UInt32(place), valueCount: UInt32(end - place))
            count += 1
            place = end + 1
        }
    }

    /// Whether some names repeat.
    ///
    /// This distinguishes a tag with spaces in its names from the remains of two tags after a loss of bytes.
    private var hasRepeatedName: Bool {
        (1..<max(1, attributeCount)).contains { later in
            (0..<later).contains { attributeName($0).elementsEqual(attributeName(later)) }
        }
    }

    /// Skips a comment, a CDATA section or a declaration.
    private mutating func pass(_ place: Int) -> Outcome {
        let rest = limit - place
        let mark: Mark
        if rest >= 3, base[place + 1] == 0x2D, base[place + 2] == 0x2D {
            mark = .comment
        } else if rest >= 2, base[place + 1] == 0x5B {
            mark = .section
        } else if rest < 3 {
            return .more
        } else {
            mark = .tag
        }
        guard let found = find(mark, from: place + min(3, rest)) else { return .more }
        position = found + mark.text.utf8CodeUnitCount
        return .passed
    }

    // MARK: - Search for end marks

    /// Marks that may be far away from the start of the search.
    private enum Mark: Int {
        case tag, instruction, comment, section

        var text: StaticString {
            switch self {
            case .tag: ">"
            case .instruction: "?>"
            case .comment: "-->"
            case .section: "]]>"
            }
        }
    }

    /// The result of a search from `start`: the first mark is at `end`, or there is none before `end`.
    private struct Search {
        var start: Int64 = 0
        var end: Int64 = -1
        var isFound = false
    }

    /// The first mark at or after a position in the buffer; `nil` if the buffer has none.
    ///
    /// Does not search the same bytes twice, so a file that contains only starts of tags takes no longer than others.
    private mutating func find(_ mark: Mark, from place: Int) -> Int? {
        var search = searches[mark.rawValue]
        let wanted = origin + Int64(place)
        var from = place
        if search.start <= wanted, wanted <= search.end {
            if search.isFound { return Int(search.end - origin) }
            from = Int(search.end - origin)
        } else {
            search.start = wanted
        }
        let found = ByteSearch.find(mark.text, in: base + from, max(0, limit - from)).map { from + $0 }
        search.isFound = found != nil
        search.end = origin + Int64(found ?? max(from, limit - mark.text.utf8CodeUnitCount + 1))
        searches[mark.rawValue] = search
        return found
    }
}
