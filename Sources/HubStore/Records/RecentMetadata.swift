import Samples

/// The texts of metadata that the last records had, each with its id once it is known to repeat.
///
/// So few that looking at each costs less than hashing one: a watch has one text, or one for each of a handful of contexts.
struct RecentMetadata {
    private var entries: [(text: String, id: Int64?)] = []
    private var last = 0
    /// Which is replaced by the next one that is new.
    private var next = 0

    private static let capacity = 16

    /// Where it is; `nil` where it has not been met lately, and is from now on.
    mutating func place(of text: String) -> Int? {
        if entries.indices.contains(last), entries[last].text.hasSameBytes(as: text) { return last }
        if let place = entries.firstIndex(where: { $0.text.hasSameBytes(as: text) }) {
            last = place
            return place
        }
        if entries.count < Self.capacity {
            entries.append((text, nil))
        } else {
            entries[next] = (text, nil)
            next = (next + 1) % Self.capacity
        }
        return nil
    }

    subscript(place: Int) -> Int64? {
        get { entries[place].id }
        set { entries[place].id = newValue }
    }
}
