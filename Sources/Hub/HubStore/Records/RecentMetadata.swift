import Samples

/// The metadata texts of the latest records, each with its id once it is known to repeat.
///
/// Comparing these few texts costs less than hashing one: a watch sends one text, or one for each of a few contexts.
struct RecentMetadata {
    private var entries: [(text: String, id: Int64?)] = []
    private var last = 0
    /// The index of the entry that the next new text replaces.
    private var next = 0

    private static let capacity = 16

    /// The index of a text; `nil` if it is new, and then it is added.
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
