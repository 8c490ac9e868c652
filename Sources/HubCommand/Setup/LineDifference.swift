/// What of a text changes, by lines, each below the header of its table; what stays is not shown.
struct LineDifference {
    struct Change: Hashable {
        let isNew: Bool
        let line: String
    }

    /// The changes below a header; nil above all of them.
    struct Part {
        let header: String?
        var changes: [Change] = []

        /// Lines for people: `+ unit = "kg"`.
        ///
        /// - Parameter secrets: settings of which the value is not shown.
        func lines(hiding secrets: Set<String>) -> [String] {
            changes.map { "\($0.isNew ? "+" : "-") \(LineDifference.hidden($0.line, secrets))" }
        }
    }

    let parts: [Part]

    init(from old: String, to new: String) {
        let (old, new) = (Self.lines(old), Self.lines(new))
        let difference = new.difference(from: old)
        var removed: [Int: String] = [:]
        var inserted: Set<Int> = []
        for case .remove(let offset, let line, _) in difference { removed[offset] = line }
        for case .insert(let offset, _, _) in difference { inserted.insert(offset) }
        var parts: [Part] = []
        func add(_ change: Change, below header: String?) {
            if parts.isEmpty || parts[parts.count - 1].header != header { parts.append(Part(header: header)) }
            parts[parts.count - 1].changes.append(change)
        }
        var (left, right, header) = (0, 0, String?.none)
        while left < old.count || right < new.count {
            if let line = removed[left] {
                add(Change(isNew: false, line: line), below: header)
                left += 1
            } else if inserted.contains(right) {
                let line = new[right]
                if line.hasPrefix("[") { header = line }
                add(Change(isNew: true, line: line), below: header)
                right += 1
            } else {
                if right < new.count, new[right].hasPrefix("[") { header = new[right] }
                (left, right) = (left + 1, right + 1)
            }
        }
        self.parts = parts
    }

    private static func lines(_ text: String) -> [String] {
        // CR and LF together are one character of Swift.
        var lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }.map(String.init)
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    fileprivate static func hidden(_ line: String, _ secrets: Set<String>) -> String {
        guard let match = line.firstMatch(of: /([A-Za-z0-9_]+)[ \t]*=[ \t]*(.*)/), secrets.contains(String(match.1)),
            !match.2.hasPrefix("\"${")
        else { return line }
        return line[..<match.2.startIndex] + "<secret>"
    }
}
