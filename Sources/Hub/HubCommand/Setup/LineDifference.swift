import HubSettings
import HubWire

/// The changes of a text, line by line, without unchanged lines.
enum LineDifference {
    /// Each line with `+` or `-`, and with the header of its table.
    static func changes(from old: [ShownLines.Line], to new: [ShownLines.Line]) -> [SetupReport.Change] {
        var (removed, inserted): (Set<Int>, Set<Int>) = ([], [])
        for change in new.map(\.text).difference(from: old.map(\.text)) {
            switch change {
            case .remove(let offset, _, _): removed.insert(offset)
            case .insert(let offset, _, _): inserted.insert(offset)
            }
        }
        var (changes, left, right): ([SetupReport.Change], Int, Int) = ([], 0, 0)
        while left < old.count || right < new.count {
            if removed.contains(left) {
                changes.append(.init(table: old[left].header, line: "- \(old[left].shown)"))
                left += 1
            } else if inserted.contains(right) {
                changes.append(.init(table: new[right].header, line: "+ \(new[right].shown)"))
                right += 1
            } else {
                (left, right) = (left + 1, right + 1)
            }
        }
        return changes
    }
}
