import HubWire

/// Columns of text, aligned.
package struct Table: Sendable {
    /// A column by its title in capitals, to the left unless it is `right`.
    package struct Column: ExpressibleByStringLiteral, Sendable {
        fileprivate let title: String
        fileprivate var isRight = false

        package init(stringLiteral title: String) { self.title = title }
        package static func left(_ title: String) -> Column { Column(stringLiteral: title) }

        package static func right(_ title: String) -> Column {
            var column = Column(stringLiteral: title)
            column.isRight = true
            return column
        }
    }

    private let columns: [Column]
    /// Widths only grow, so that rows printed page by page stay aligned as far as possible.
    private var widths: [Int]
    package private(set) var rows: [[String]] = []

    package init(_ columns: [Column]) {
        self.columns = columns
        widths = columns.map(\.title.count)
        rows = [columns.map(\.title)]
    }

    /// A whole table as lines, with a row for each element.
    package static func lines<Element>(
        _ columns: [Column], of elements: some Sequence<Element>, _ row: (Element) throws -> [String]
    ) rethrows -> [String] {
        var table = Table(columns)
        for element in elements { table.add(try row(element)) }
        return table.takeLines()
    }

    /// Adds a row; missing cells are empty.
    package mutating func add(_ cells: [String]) {
        // Escaped before measuring, because escapes need more columns.
        let cells =
            cells.prefix(widths.count).map(PlainText.escaped)
            + Array(repeating: "", count: max(0, widths.count - cells.count))
        rows.append(Array(cells))
        for (column, cell) in cells.enumerated() { widths[column] = max(widths[column], Table.width(cell)) }
    }

    /// The rows added since the last call as lines, without spaces at their ends.
    package mutating func takeLines() -> [String] {
        defer { rows.removeAll(keepingCapacity: true) }
        return rows.map { row in
            let cells = zip(row, zip(widths, columns)).map { cell, column in
                let padding = String(repeating: " ", count: max(0, column.0 - Table.width(cell)))
                return column.1.isRight ? padding + cell : cell + padding
            }
            let line = cells.joined(separator: "  ")
            return String(line[..<(line.lastIndex { $0 != " " }.map { line.index(after: $0) } ?? line.startIndex)])
        }
    }

    /// The number of terminal columns of a text without its colours: Chinese, Japanese and Korean characters, and emoji, take two.
    package static func width(_ text: String) -> Int {
        var (count, isEscape) = (0, false)
        for character in text {
            if character == "\u{1B}" {
                isEscape = true
            } else if isEscape {
                isEscape = character != "m"
            } else {
                count += isWide(character) ? 2 : 1
            }
        }
        return count
    }

    /// Whether the character is wide or full-width by Unicode's Annex 11; approximated by the blocks of such scripts.
    private static func isWide(_ character: Character) -> Bool {
        guard let first = character.unicodeScalars.first?.value, first >= 0x1100 else { return false }
        switch first {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD:
            return true
        default: return false
        }
    }
}
