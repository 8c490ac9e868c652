/// A table of a TOML document during parsing, with the rules on repeated definitions.
///
/// A table is defined once: by its header, by the dotted keys of one section, or by braces. A table that a longer header only passes
/// through may get its own header later.
final class TOMLTable {
    enum Origin {
        /// Created because a longer header or `[[…]]` passes through it.
        case passed
        case header
        /// Created by a part of a dotted key.
        case dotted
    }

    enum Content {
        case value(Entry)
        case table(TOMLTable)
        /// Made by `[[…]]`; each has the position of its header.
        case tables([(table: TOMLTable, position: SourcePosition)])
    }

    var origin: Origin
    /// In the order of the file.
    private(set) var contents: [(name: String, position: SourcePosition, content: Content)] = []
    /// By the bytes of a name: texts that only look the same are different keys.
    private var places: [[UInt8]: Int] = [:]

    init(_ origin: Origin) { self.origin = origin }

    /// The fields of the finished table.
    var fields: [Field] {
        contents.map { name, position, content in
            switch content {
            case .value(let entry): Field(name: name, entry: entry)
            case .table(let table):
                Field(name: name, entry: Entry(node: .table(table.fields), position: position, source: ""))
            case .tables(let tables):
                Field(
                    name: name,
                    entry: Entry(
                        node: .array(
                            tables.map { Entry(node: .table($0.table.fields), position: $0.position, source: "") }),
                        position: position, source: ""))
            }
        }
    }

    private subscript(_ name: String) -> Content? { places[Array(name.utf8)].map { contents[$0].content } }

    private func add(_ name: String, _ position: SourcePosition, _ content: Content) {
        places[Array(name.utf8)] = contents.count
        contents.append((name, position, content))
    }
}

// MARK: - Headers

extension TOMLTable {
    /// The table that a header's name, not the last, passes through; the latest if there are several.
    ///
    /// - Returns: the table and, if there are several, its index for a path.
    func passing(_ name: String, at position: SourcePosition) throws(TOMLError) -> (table: TOMLTable, index: Int?) {
        switch self[name] {
        case nil:
            let table = TOMLTable(.passed)
            add(name, position, .table(table))
            return (table, nil)
        case .table(let table): return (table, nil)
        case .tables(let tables): return (tables[tables.count - 1].table, tables.count - 1)
        case .value: throw TOMLError(message: "'\(name)' has a value already, and cannot be a table")
        }
    }

    /// The table of `[…]` that ends in this name.
    func opening(_ name: String, written: String, at position: SourcePosition) throws(TOMLError) -> TOMLTable {
        switch self[name] {
        case nil:
            let table = TOMLTable(.header)
            add(name, position, .table(table))
            return table
        case .table(let table) where table.origin == .passed:
            table.origin = .header
            return table
        case .table:
            throw TOMLError(message: "the table '\(written)' exists already; write all its settings in one place")
        case .tables: throw TOMLError(message: "'\(written)' is a list of tables; begin another one with [[")
        case .value: throw TOMLError(message: "'\(written)' has a value already, and cannot be a table")
        }
    }

    /// The new table of `[[…]]` that ends in this name.
    func appending(_ name: String, written: String, at position: SourcePosition) throws(TOMLError) -> (
        TOMLTable, index: Int
    ) {
        let table = TOMLTable(.header)
        switch self[name] {
        case nil:
            add(name, position, .tables([(table, position)]))
            return (table, 0)
        case .tables(let tables):
            guard let place = places[Array(name.utf8)] else { return (table, 0) }
            contents[place].content = .tables(tables + [(table, position)])
            return (table, tables.count)
        case .table: throw TOMLError(message: "'\(written)' is a table already, and cannot be a list of them")
        case .value: throw TOMLError(message: "'\(written)' has a value already, and cannot be a list of tables")
        }
    }
}

// MARK: - Entries

extension TOMLTable {
    /// The table for a dotted key's name, not the last.
    func dotted(_ name: String, at position: SourcePosition) throws(TOMLError) -> TOMLTable {
        switch self[name] {
        case nil:
            let table = TOMLTable(.dotted)
            add(name, position, .table(table))
            return table
        case .table(let table) where table.origin == .dotted: return table
        case .table, .tables:
            throw TOMLError(message: "the table '\(name)' has its own header; write its settings there")
        case .value: throw TOMLError(message: "'\(name)' has a value already, and cannot be a table")
        }
    }

    /// Checks whether the name can be given a value.
    func check(_ name: String) throws(TOMLError) {
        if self[name] != nil { throw TOMLError(message: "'\(name)' is set twice") }
    }

    /// Sets the value of a name that passed ``check(_:)``.
    func set(_ name: String, to entry: Entry) { add(name, entry.position, .value(entry)) }
}
