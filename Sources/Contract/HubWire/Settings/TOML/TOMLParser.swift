/// Parses a TOML text from top to bottom and continues after mistakes.
struct TOMLParser {
    private(set) var faults: [SyntaxFault] = []
    /// See ``TOMLDocument/damaged``.
    private(set) var damaged: Set<[PathStep]> = []
    private let root = TOMLTable(.header)
    private let lines: LineTable
    private let maximumFaults: Int
    private var cursor: TOMLCursor
    /// The table of the latest header, to which entries are added.
    private var table: TOMLTable
    private var path: [PathStep] = []

    init(_ bytes: [UInt8], maximumFaults: Int) {
        (cursor, lines, self.maximumFaults, table) = (TOMLCursor(bytes), LineTable(bytes), maximumFaults, root)
    }

    /// In the order of the file.
    var fields: [Field] { root.fields }

    mutating func parse() {
        while faults.count < maximumFaults {
            let start = cursor.offset
            do throws(TOMLError) {
                try cursor.skipLines()
                guard cursor.next != nil else { return }
                try statement()
            } catch {
                faults.append(
                    SyntaxFault(position: lines.position(of: error.offset), message: "not TOML: \(error.message)"))
                damaged.insert(path)
                cursor.skipLine()
                if let resume = error.resume, resume > start { cursor.offset = resume }
            }
        }
    }

    private mutating func statement() throws(TOMLError) {
        if cursor.starts(with: "[") {
            try header()
        } else {
            try entry(in: table, depth: path.count)
        }
        cursor.skipBlank()
        if cursor.next == UInt8(ascii: "#") { try cursor.skipComment() }
        guard cursor.next == nil || cursor.isLineEnd else {
            let isComma = cursor.next == UInt8(ascii: ",")
            throw cursor.fault(
                isComma
                    ? "nothing follows a comma here: a number has a decimal point, as 64.5, and a list stands in brackets"
                    : "only a comment can follow here on the same line")
        }
    }

    /// Gives a fault of a table or of a single value its position.
    private func placed<Value>(
        at offset: Int, _ body: () throws(TOMLError) -> Value
    ) throws(TOMLError) -> Value {
        do { return try body() } catch { throw cursor.fault(error.message, at: offset) }
    }
}

// MARK: - Headers and entries

extension TOMLParser {
    private mutating func header() throws(TOMLError) {
        let start = cursor.offset
        let isArray = cursor.starts(with: "[[")
        cursor.offset += isArray ? 2 : 1
        // Entries after an unreadable header go into a table that is dropped.
        (table, path) = (TOMLTable(.header), [])
        let keys = try cursor.dottedKey(below: 0)
        guard isArray ? cursor.starts(with: "]]") : cursor.starts(with: "]") else {
            throw cursor.fault("expected \(isArray ? "]]" : "]") after the table's name")
        }
        cursor.offset += isArray ? 2 : 1
        let written = keys.map(\.name).joined(separator: ".")
        // Set before the table is entered: a repeated header damages the table that it names.
        path = keys.map { .key($0.name) }
        var (place, walked) = (root, [PathStep]())
        for key in keys.dropLast() {
            let passed = try placed(at: start) { () throws(TOMLError) in
                try place.passing(key.name, at: lines.position(of: key.offset))
            }
            place = passed.table
            walked.append(.key(key.name))
            if let index = passed.index { walked.append(.index(index)) }
        }
        let (name, position) = (keys[keys.count - 1].name, lines.position(of: start))
        walked.append(.key(name))
        if isArray {
            let (element, index) = try placed(at: start) { () throws(TOMLError) in
                try place.appending(name, written: written, at: position)
            }
            (table, path) = (element, walked + [.index(index)])
        } else {
            let opened = try placed(at: start) { () throws(TOMLError) in
                try place.opening(name, written: written, at: position)
            }
            (table, path) = (opened, walked)
        }
    }

    /// Parses a dotted key, `=` and a value.
    private mutating func entry(in table: TOMLTable, depth: Int) throws(TOMLError) {
        let keys = try cursor.dottedKey(below: depth)
        guard cursor.next == UInt8(ascii: "=") else { throw cursor.fault("expected = after the key") }
        cursor.offset += 1
        cursor.skipBlank()
        let last = keys[keys.count - 1]
        // Parse the value first: if it has a fault, the tables of a dotted key are not made.
        let start = cursor.offset
        let node = try value(depth: depth + keys.count - 1)
        let range = start..<cursor.offset
        var place = table
        for key in keys.dropLast() {
            place = try placed(at: key.offset) { () throws(TOMLError) in
                try place.dotted(key.name, at: lines.position(of: key.offset))
            }
        }
        try placed(at: last.offset) { () throws(TOMLError) in try place.check(last.name) }
        place.set(
            last.name,
            to: Entry(node: node, position: lines.position(of: last.offset), source: source(range), range: range))
    }

    /// The source text, shortened to one line of a message.
    private func source(_ range: Range<Int>) -> String {
        let line = String(decoding: cursor.bytes[range].prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        let isCut = line.count > 60 || line.utf8.count < range.count
        return isCut ? line.prefix(60) + "…" : line
    }
}

// MARK: - Values

extension TOMLParser {
    /// - Parameter depth: the number of values around it.
    private mutating func value(depth: Int) throws(TOMLError) -> Node {
        let start = cursor.offset
        guard depth < TOMLCursor.deepest else { throw cursor.tooDeep }
        switch cursor.next {
        case UInt8(ascii: "["): return try array(depth: depth)
        case UInt8(ascii: "{"): return try inlineTable(depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try cursor.string())
        default:
            while let byte = cursor.next, !",]}#\n".utf8.contains(byte), !cursor.isLineEnd { cursor.offset += 1 }
            while cursor.offset > start, [0x20, 0x09].contains(cursor.bytes[cursor.offset - 1]) { cursor.offset -= 1 }
            return try placed(at: start) { () throws(TOMLError) in
                try TOMLScalar.node(cursor.bytes[start..<cursor.offset])
            }
        }
    }

    private mutating func array(depth: Int) throws(TOMLError) -> Node {
        let start = cursor.offset
        cursor.offset += 1
        do throws(TOMLError) {
            return .array(try elements(depth: depth))
        } catch  where error.resume == nil {
            throw unclosed(error, from: start)
        }
    }

    /// Parses elements up to and including the closing bracket.
    private mutating func elements(depth: Int) throws(TOMLError) -> [Entry] {
        var elements: [Entry] = []
        while true {
            try cursor.skipLines()
            if cursor.next == UInt8(ascii: "]") { break }
            let start = cursor.offset
            let node = try value(depth: depth + 1)
            elements.append(
                Entry(
                    node: node, position: lines.position(of: start), source: source(start..<cursor.offset),
                    range: start..<cursor.offset))
            try cursor.skipLines()
            if cursor.next == UInt8(ascii: "]") { break }
            guard cursor.next == UInt8(ascii: ",") else { throw cursor.fault("expected , or ] after an element") }
            cursor.offset += 1
        }
        cursor.offset += 1
        return elements
    }

    /// An unclosed array swallows the following lines; parsing resumes at the first line that begins like a statement.
    private func unclosed(_ fault: TOMLError, from start: Int) -> TOMLError {
        let bytes = cursor.bytes
        let message = "[ is not closed by ]"
        var line = start
        while let end = bytes[line...].firstIndex(of: 0x0A), end < fault.offset {
            line = end + 1
            let text = String(decoding: bytes[line...].prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
            let entry = /\s*([A-Za-z0-9_\-]+|"[^"]*"|'[^']*')(\s*\.\s*([A-Za-z0-9_\-]+|"[^"]*"|'[^']*'))*\s*=/
            let header = /\s*\[\[?[A-Za-z"'][A-Za-z0-9_\-."' ]*\]\]?\s*($|#)/
            guard text.prefixMatch(of: entry) != nil || text.prefixMatch(of: header) != nil else { continue }
            return TOMLError(message: message, offset: start, resume: line)
        }
        return fault.offset >= bytes.count ? cursor.fault(message, at: start) : fault
    }

    private mutating func inlineTable(depth: Int) throws(TOMLError) -> Node {
        let start = cursor.offset
        let notClosed = cursor.fault("{ is not closed by } on its line")
        let table = TOMLTable(.header)
        cursor.offset += 1
        cursor.skipBlank()
        while cursor.next != UInt8(ascii: "}") {
            if cursor.next == nil || cursor.isLineEnd { throw notClosed }
            try entry(in: table, depth: depth + 1)
            cursor.skipBlank()
            if cursor.next == UInt8(ascii: "}") { break }
            if cursor.next == nil || cursor.isLineEnd { throw notClosed }
            guard cursor.next == UInt8(ascii: ",") else { throw cursor.fault("expected , or } after an entry") }
            cursor.offset += 1
            cursor.skipBlank()
            if cursor.next == UInt8(ascii: "}") { throw cursor.fault("a , cannot stand before }", at: start) }
        }
        cursor.offset += 1
        return .table(table.fields)
    }
}
