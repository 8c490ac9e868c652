/// The edit distance between names, for suggestions in messages to people.
package enum EditDistance {
    /// The number of insertions, deletions, replacements and swaps of neighbours that turn `left` into `right`; `nil` above `limit`.
    static func distance(_ left: [UInt8], _ right: [UInt8], limit: Int) -> Int? {
        guard abs(left.count - right.count) <= limit else { return nil }
        guard !left.isEmpty, !right.isEmpty else { return max(left.count, right.count) }
        var beforeLast: [Int] = []
        var last = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let isSame = left[row - 1] == right[column - 1]
                var best = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + (isSame ? 0 : 1))
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1] {
                    best = min(best, beforeLast[column - 2] + 1)
                }
                current.append(best)
            }
            guard (current.min() ?? 0) <= limit else { return nil }
            (beforeLast, last) = (last, current)
        }
        return last[right.count] <= limit ? last[right.count] : nil
    }

    /// The candidate nearest to `name` regardless of case, or `nil` if none is near.
    ///
    /// If several are equally near, the one with the most similar length wins, then the first in alphabetical order. The result therefore does
    /// not depend on the order of the candidates.
    package static func nearest(
        to name: String, among candidates: some Sequence<String>
    ) -> (name: String, distance: Int)? {
        let wanted = Array(name.lowercased().utf8)
        var limit = min(3, max(1, wanted.count / 3))
        var best: (distance: Int, length: Int, name: String)?
        for candidate in candidates {
            let letters = Array(candidate.lowercased().utf8)
            guard let distance = distance(wanted, letters, limit: limit) else { continue }
            let rank = (distance, abs(letters.count - wanted.count), candidate)
            if best.map({ rank < $0 }) ?? true { best = rank }
            limit = distance
        }
        return best.map { ($0.name, $0.distance) }
    }
}
