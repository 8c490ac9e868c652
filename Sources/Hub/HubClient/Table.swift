import HubWire

/// Columns of text, aligned.
package struct Table: Sendable {
    /// The alignment of the cells of a column.
    package enum Alignment: Sendable { case left, right }

    private let alignments: [Alignment]
    /// Widths only grow, so that rows printed page by page stay aligned as far as possible.
    private var widths: [Int]
    package private(set) var rows: [[String]] = []

    /// - Parameter header: titles in capitals, each with the alignment of its column.
    package init(_ header: [(title: String, alignment: Alignment)]) {
        alignments = header.map(\.alignment)
        widths = header.map(\.title.count)
        rows = [header.map(\.title)]
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
            let cells = zip(row, zip(widths, alignments)).map { cell, column in
                let padding = String(repeating: " ", count: max(0, column.0 - Table.width(cell)))
                return column.1 == .left ? cell + padding : padding + cell
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
