import TOMLKit

/// A value of a settings file.
enum Node {
    case string(String)
    case integer(Int64)
    case number(Double)
    case boolean(Bool)
    /// `YYYY-MM-DD`.
    case date(String)
    /// `HH:MM:SS`, with a fraction if there is one.
    case time(String)
    /// As written.
    case dateTime
    case array([Entry])
    case table([Field])

    init(_ value: SettingValue) {
        switch value {
        case .string(let text): self = .string(text)
        case .integer(let number): self = .integer(number)
        case .number(let number): self = .number(number)
        case .boolean(let truth): self = .boolean(truth)
        case .list(let values):
            self = .array(
                values.map { Entry(node: Node($0), position: SourcePosition(line: 1, column: 1), source: "") })
        case .secret(let secret): self = .string(secret.reveal())
        }
    }
}

/// A value, the position of its key (of the value itself in an array) and the value as written, on one line.
struct Entry {
    var node: Node
    var position: SourcePosition
    var source: String
}

/// A key and its value.
struct Field {
    var name: String
    var entry: Entry
}

/// Text that is no TOML.
struct SyntaxFault {
    var position: SourcePosition
    var message: String
}

/// A settings file as values with positions.
///
/// So that one mistake does not hide the others, a faulty statement (after a faulty header its whole table) is taken out
/// and the rest read again, a limited number of times.
struct TOMLDocument {
    /// In the order of the file.
    var fields: [Field] = []
    var faults: [SyntaxFault] = []
    /// Tables that lost a statement to a fault: what seems to be missing there may only be misspelt.
    var damaged: Set<[PathStep]> = []

    private static let largest = 1 << 20
    private static let mostFaults = 20

    init(_ text: String) {
        guard text.utf8.count <= Self.largest else {
            faults = [SyntaxFault(position: .init(line: 1, column: 1), message: "a settings file has at most 1 MiB")]
            return
        }
        let mark = "\u{FEFF}".utf8
        let body = text.utf8.starts(with: mark) ? text.utf8.dropFirst(mark.count) : text.utf8[...]
        var lines = body.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
        removeNULs(from: &lines)
        removeBrokenStatements(from: &lines)
        while faults.count < Self.mostFaults {
            let bytes = joined(lines)
            let index = SourceIndex(bytes)
            // TOMLKit must not see a text whose structure is broken, whatever taking statements out has left.
            guard index.faults.isEmpty else { return }
            do {
                let table = try TOMLTable(string: String(decoding: bytes, as: UTF8.self))
                fields = SourceReader(index: index, bytes: bytes).fields(of: table, at: [])
                return
            } catch let error as TOMLParseError {
                let line = min(max(1, error.source.begin.line), lines.count)
                let column = line == error.source.begin.line ? max(1, error.source.begin.column) : 1
                faults.append(
                    SyntaxFault(
                        position: .init(line: line, column: column), message: "not TOML: " + scrub(error.description)))
                guard remove(line, from: &lines, index) else { return }
            } catch {
                faults.append(SyntaxFault(position: .init(line: 1, column: 1), message: "not TOML: \(error)"))
                return
            }
        }
    }

    private mutating func removeBrokenStatements(from lines: inout [[UInt8]]) {
        let index = SourceIndex(joined(lines))
        for fault in index.faults {
            if faults.count < Self.mostFaults { faults.append(fault) }
            _ = remove(fault.position.line, from: &lines, index)
        }
    }

    private func joined(_ lines: some Sequence<[UInt8]>) -> [UInt8] {
        Array(lines.joined(separator: CollectionOfOne(UInt8(ascii: "\n"))))
    }

    /// TOMLKit takes and gives C strings: a NUL would cut the document, or a text, in silence.
    private mutating func removeNULs(from lines: inout [[UInt8]]) {
        for (line, bytes) in lines.enumerated() {
            guard let offset = bytes.firstIndex(of: 0) else { continue }
            faults.append(
                SyntaxFault(position: .init(line: line + 1, column: offset + 1), message: "not TOML: a NUL byte"))
            lines[line] = []
        }
        let index = SourceIndex(joined(lines))
        for position in index.escapedNULs {
            faults.append(SyntaxFault(position: position, message: "a text cannot contain the character U+0000"))
            _ = remove(position.line, from: &lines, index)
        }
    }

    /// Empties the statement at `line`; false if there is nothing left to empty, so parsing again would not help.
    private mutating func remove(_ line: Int, from lines: inout [[UInt8]], _ index: SourceIndex) -> Bool {
        var span = line...line
        if let number = index.statements.lastIndex(where: { $0.lines.lowerBound <= line }) {
            let statement = index.statements[number]
            damaged.insert(statement.table)
            if statement.lines.contains(line) {
                span = statement.lines
                if statement.isHeader {
                    let rest = index.statements[(number + 1)...]
                    span = line...((rest.first(where: \.isHeader)?.lines.lowerBound ?? lines.count + 1) - 1)
                }
            }
        }
        var removed = false
        for line in span where !lines[line - 1].isEmpty {
            lines[line - 1] = []
            removed = true
        }
        return removed
    }

    /// Leaves out longer quotations, which may be part of a secret; names of keys and tables stay.
    private func scrub(_ description: String) -> String {
        guard !description.contains("redefine") else { return description }
        return description.replacing(/'([^']{3,})'/) { match in
            match.1 == "true" || match.1 == "false" ? String(match.0) : "a text"
        }
    }
}

/// Turns TOMLKit's values into ours, with positions.
private struct SourceReader {
    let index: SourceIndex
    let bytes: [UInt8]

    func fields(of table: TOMLTable, at path: [PathStep]) -> [Field] {
        // TOMLKit gives keys in byte order; people read files from the top.
        table.keys.compactMap { name in
            table[name].map { Field(name: name, entry: entry($0, at: path + [.key(name)])) }
        }
        .sorted {
            ($0.entry.position.line, $0.entry.position.column) < ($1.entry.position.line, $1.entry.position.column)
        }
    }

    private func entry(_ value: any TOMLValueConvertible, at path: [PathStep]) -> Entry {
        let place = index.places[path]
        return Entry(
            node: node(value, at: path), position: place?.key ?? SourcePosition(line: 1, column: 1),
            source: place?.value.map { source(bytes[$0]) } ?? "")
    }

    private func node(_ value: any TOMLValueConvertible, at path: [PathStep]) -> Node {
        if let text = value.string { return .string(text) }
        if let truth = value.bool { return .boolean(truth) }
        if let number = value.int { return .integer(Int64(number)) }
        if let number = value.double { return .number(number) }
        if let array = value.array {
            return .array((0..<array.count).map { entry(array[$0], at: path + [.index($0)]) })
        }
        if let table = value.table { return .table(fields(of: table, at: path)) }
        if let date = value.date { return .date(date.debugDescription) }
        if let time = value.time { return .time(time.debugDescription) }
        return .dateTime
    }

    private func source(_ written: ArraySlice<UInt8>) -> String {
        let line = String(decoding: written.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        let isCut = line.count > 60 || line.utf8.count < written.count
        return isCut ? line.prefix(60) + "…" : line
    }
}
