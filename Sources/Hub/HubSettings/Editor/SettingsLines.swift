/// The lines of a settings file, numbered from 1; each includes its line end.
struct SettingsLines {
    private var lines: [ArraySlice<UInt8>]

    init(_ bytes: [UInt8]) { lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false) }

    var bytes: [UInt8] { Array(lines.joined(separator: [0x0A])) }
    var count: Int { lines.count }

    /// A line without its indentation.
    subscript(number: Int) -> ArraySlice<UInt8> {
        guard lines.indices.contains(number - 1) else { return [] }
        return lines[number - 1].drop { $0 == 0x20 || $0 == 0x09 }
    }

    func isHeader(_ number: Int) -> Bool { self[number].starts(with: "[".utf8) }

    mutating func insert(_ line: String, after number: Int) {
        let ending = number > 0 && lines[number - 1].last == 0x0D ? "\r" : ""
        lines.insert(ArraySlice((line + ending).utf8), at: number)
    }

    /// The first of the comments right above a line, or the empty line above them; the line itself if they belong to the text before.
    func firstComment(above number: Int) -> Int {
        var first = number
        while first > 1, self[first - 1].first == UInt8(ascii: "#") { first -= 1 }
        if first == 1 { return first }
        return isEmpty(first - 1) ? first - 1 : number
    }

    /// The line after a table's settings and the comments right below them; `next` if only empty lines follow.
    ///
    /// Comments behind an empty line are a person's own, such as a section that is switched off.
    func endOfTable(before next: Int) -> Int {
        var last = next - 1
        while last > 0, isEmpty(last) || self[last].first == UInt8(ascii: "#") { last -= 1 }
        while last + 1 < next, !isEmpty(last + 1) { last += 1 }
        return (last + 1..<next).allSatisfy(isEmpty) ? next : last + 1
    }

    /// Whether a line is empty or lies after the last.
    func isEmpty(_ number: Int) -> Bool { self[number].allSatisfy { $0 == 0x0D } }

    /// Replaces a line and keeps its line end.
    mutating func replace(_ number: Int, by line: String) {
        let ending = lines[number - 1].last == 0x0D ? "\r" : ""
        lines[number - 1] = ArraySlice((line + ending).utf8)
    }

    /// Splits off a range of lines.
    ///
    /// - Parameter end: the line after the last one to take.
    func taken(from first: Int, to end: Int) -> (lines: [UInt8], rest: [UInt8]) {
        let range = (first - 1)..<max(first - 1, min(end - 1, lines.count))
        let isToEnd = range.upperBound == lines.count
        var rest = lines
        rest.removeSubrange(range)
        // The line before keeps its line end.
        if isToEnd, first > 1 { rest.append([]) }
        let end: [UInt8] = isToEnd ? [] : [0x0A]
        return (Array(lines[range].joined(separator: [0x0A])) + end, Array(rest.joined(separator: [0x0A])))
    }

    /// The bytes with a block after them, behind an empty line, with the line ends of the file.
    func appending(_ block: String) -> [UInt8] {
        let bytes = bytes
        let ending = bytes.firstRange(of: Array("\r\n".utf8)) != nil ? "\r\n" : "\n"
        let block = block.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: ending)
        guard let last = bytes.last else { return Array(block.utf8) }
        return bytes + Array(((last == 0x0A ? "" : ending) + ending + block).utf8)
    }
}
