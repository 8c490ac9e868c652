import Samples

/// By what records are sorted: the keys, one after the other, and at last the number, up or down as the first key.
///
/// Every key is compared upwards: what is asked downwards counts as its negative, so that a place is less than all that come after it.
struct RecordSort {
    private let keys: [SortKey]

    init(_ keys: [SortKey]) { self.keys = keys }

    /// Whether records with late first keys come first.
    var isDown: Bool { keys.first?.isDown ?? false }
    /// Whether the first key is the end, which no index has in order.
    var isByEnd: Bool { keys.first?.end == .end }

    /// How rows are read: by start, the one thing that indices have in order.
    var walk: Lane.Walk { isDown ? .newestFirst : .time }

    func place(start: Int64, end: Int64, number: Int64) -> SortPlace {
        func value(_ key: SortKey) -> Int64 { (key.end == .start ? start : end) * (key.isDown ? -1 : 1) }
        return SortPlace(
            first: keys.first.map(value) ?? 0, second: keys.dropFirst().first.map(value) ?? 0,
            number: isDown ? -number : number)
    }
}

/// Where a record lies in the order of a ``RecordSort``.
struct SortPlace: Hashable, Comparable {
    var first: Int64
    var second: Int64
    var number: Int64

    static func < (left: SortPlace, right: SortPlace) -> Bool {
        (left.first, left.second, left.number) < (right.first, right.second, right.number)
    }

    /// The place before every record whose first key is this or a greater one.
    static func before(_ first: Int64) -> SortPlace {
        SortPlace(first: first, second: -PageToken.bound, number: -PageToken.bound)
    }
}

/// The first few of many places, in order.
struct FirstPlaces {
    private let limit: Int
    private(set) var places: [SortPlace] = []
    /// Whether there were more than it holds.
    private(set) var hasMore = false

    init(_ limit: Int) { self.limit = limit }

    mutating func insert(_ place: SortPlace) {
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

    /// How many lie before `bound`.
    func count(before bound: Int64) -> Int { places.prefix { $0.first < bound }.count }
}
