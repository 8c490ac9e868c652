import Glibc

/// The tags of an XML file, one after the other, as bytes: nothing is copied, and texts are made only on demand.
///
/// For the flat files that Apple Health exports. What a parser of all XML would end at is passed over here and counted: a tag that
/// makes no sense (reading goes on at the next `<`), control characters, a `<` in a value, the same attribute twice (both are kept).
/// Declarations are passed over unread, so nothing in them can name a file or grow: an entity other than the five of XML itself and
/// characters by number stays as it is written. Bounds: a tag of 2 MiB, 250 attributes; all else is one buffer.
///
/// A token and its ranges hold until the next call.
public struct XMLTokenizer: ~Copyable {
    public enum Token { case open, close, empty, end }

    /// An attribute: places in the buffer.
    public struct Attribute {
        public var name: UInt32
        public var nameCount: UInt32
        public var value: UInt32
        public var valueCount: UInt32
    }

    private let source: any ByteSource
    private var base: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// Where the next tag is looked for, and where the bytes end that were read.
    private var position = 0
    private var limit = 0
    /// Where the first byte of the buffer is in the file.
    private var origin: Int64 = 0
    private var isAtEnd = false
    private var attributes: UnsafeMutablePointer<Attribute>
    /// Where what lies before this tag begins, behind the tag before.
    private var textStart = 0
    private var tagStart = 0
    private var nameStart = 0
    private var nameCount = 0

    private var searches = [Search](repeating: Search(), count: 4)

    public private(set) var attributeCount = 0
    /// Tags that made no sense, and where the first ``ExportAccount/maximumPlaces`` of them were.
    public private(set) var malformedTags = 0
    public private(set) var malformedOffsets: [Int64] = []
    /// The file ends within a tag.
    public private(set) var endsInTag = false

    public static let maximumAttributes = 250
    public static let maximumTag = 2 << 20
    private static let usualCapacity = 256 << 10

    public init(_ source: any ByteSource) {
        self.source = source
        capacity = XMLTokenizer.usualCapacity
        base = .allocate(capacity: capacity)
        attributes = .allocate(capacity: XMLTokenizer.maximumAttributes)
    }

    deinit {
        base.deallocate()
        attributes.deallocate()
    }

    /// Where this tag begins in the file, and where it ends.
    public var offset: Int64 { origin + Int64(tagStart) }
    public var endOffset: Int64 { origin + Int64(position) }
    public var inputPosition: Int64 { source.inputPosition }
    public var inputSize: Int64 { source.inputSize }
    public var hasWrongSum: Bool { source.hasWrongSum }

    // MARK: - What a token says

    public var name: UnsafeRawBufferPointer { slice(nameStart, nameCount) }

    public func isNamed(_ text: StaticString) -> Bool { XMLTokenizer.equal(base + nameStart, nameCount, text) }

    /// What stands between the tag before and this one; empty where that was longer than the buffer.
    public var text: UnsafeRawBufferPointer { slice(textStart, tagStart - textStart) }

    public func attributeName(_ index: Int) -> UnsafeRawBufferPointer {
        slice(Int(attributes[index].name), Int(attributes[index].nameCount))
    }

    public func attributeIsNamed(_ index: Int, _ text: StaticString) -> Bool {
        XMLTokenizer.equal(base + Int(attributes[index].name), Int(attributes[index].nameCount), text)
    }

    /// As it is written, entities and all.
    public func value(_ index: Int) -> UnsafeRawBufferPointer {
        slice(Int(attributes[index].value), Int(attributes[index].valueCount))
    }

    /// The first attribute of that name, as it is written.
    public func value(of name: StaticString) -> UnsafeRawBufferPointer? {
        for index in 0..<attributeCount where attributeIsNamed(index, name) { return value(index) }
        return nil
    }

    /// The attributes as texts.
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

    /// Passes over everything before the first of these bytes, which must come within `bound` bytes; what was passed over is shown to `look` as far as it is at hand.
    ///
    /// - Returns: false where it does not come.
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

    /// The next tag.
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
        if malformedOffsets.count < ExportAccount.maximumPlaces { malformedOffsets.append(offset) }
    }

    /// Reads on; `false` at the end.
    private mutating func more(from kept: Int) throws(ExportError) -> Bool {
        // Text between two tags of this file is white space; what is longer is not kept.
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
            // Without white space between them the quote before was not the end of its value.
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

    /// Tells a tag whose names have spaces from the rest of two tags after a loss of bytes, which has some names twice.
    private var hasRepeatedName: Bool {
        (1..<max(1, attributeCount)).contains { later in
            (0..<later).contains { attributeName($0).elementsEqual(attributeName(later)) }
        }
    }

    /// A comment, a section of text or a declaration.
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

    // MARK: - Ends

    /// What may be far away from where it is looked for.
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

    /// From `start` on the first is at `end`, or there is none before that.
    private struct Search {
        var start: Int64 = 0
        var end: Int64 = -1
        var isFound = false
    }

    /// The first mark from a place of the buffer on; `nil` where what is there has none.
    ///
    /// What was searched before is not searched again: a file of nothing but beginnings takes no longer than any other.
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
