import Samples

/// The sort order of records: the keys, one after the other, and then the number, in the direction of the first key.
///
/// All keys are compared ascending. Descending keys are negated, so that a place is always less than those after it.
struct RecordSort {
    private let keys: [SortKey]

    init(_ keys: [SortKey]) { self.keys = keys }

    /// Whether records with late first keys come first.
    var isDown: Bool { keys.first?.isDown ?? false }
    /// Whether the first key is the end, which no index has in order.
    var isByEnd: Bool { keys.first?.end == .end }

    /// How rows are read: by start, which is the only order of the indices.
    var walk: Lane.Walk { isDown ? .newestFirst : .time }

    func place(start: Int64, end: Int64, number: Int64) -> SortPosition {
        func value(_ key: SortKey) -> Int64 { (key.end == .start ? start : end) * (key.isDown ? -1 : 1) }
        return SortPosition(
            first: keys.first.map(value) ?? 0, second: keys.dropFirst().first.map(value) ?? 0,
            number: isDown ? -number : number)
    }
}

/// The place of a record in the order of a ``RecordSort``.
struct SortPosition: Hashable, Comparable {
    var first: Int64
    var second: Int64
    var number: Int64

    static func < (left: SortPosition, right: SortPosition) -> Bool {
        (left.first, left.second, left.number) < (right.first, right.second, right.number)
    }

    /// The place before every record whose first key is this or a greater one.
    static func before(_ first: Int64) -> SortPosition {
        SortPosition(first: first, second: -PageToken.bound, number: -PageToken.bound)
    }
}

/// The first few of many places, in order.
struct FirstPositions {
    private let limit: Int
    private(set) var places: [SortPosition] = []
    /// Whether there were more places than it can hold.
    private(set) var hasMore = false

    init(_ limit: Int) { self.limit = limit }

    mutating func insert(_ place: SortPosition) {
        if places.count == limit {
            hasMore = true
            guard let last = places.last, place < last else { return }
            places.removeLast()
        }
        var (low, high) = (0, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle] < place { low = middle + 1 } else { high = middle }
        }
        places.insert(place, at: low)
    }

    /// The number of places before `bound`.
    func count(before bound: Int64) -> Int { places.prefix { $0.first < bound }.count }
}
