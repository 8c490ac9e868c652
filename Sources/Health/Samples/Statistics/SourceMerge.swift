/// Sums the samples of several sources so that nothing counts twice.
///
/// A phone and a watch on one walk count the same steps. Time is divided wherever a sample begins or ends. In each slice, only the samples
/// of the best source present count, each in proportion to the slice's share of its length. A sample without a length counts fully unless
/// a sample of a better source covers it. A source of sums, which already include other sources, is the best (``SourceRank``).
/// A sample that mirrors one of a better source does not count (``Mirrors``).
///
/// The share of a slice is the sample's count at the end of the slice minus its count at the beginning, both rounded once. Adjacent slices
/// therefore add up to the combined slice, wherever the borders are, and all slices of a sample add up to the value its source reported.
public struct SourceMerge: Sendable {
    /// The total of an interval.
    public struct Total: Sendable {
        /// The sum of the counted values.
        public var sum = ExactSum()
        /// The counted time, in microseconds.
        public var duration: Int64 = 0
    }

    /// Sorted by start, without mirrors.
    private let portions: [Portion]

    /// A merge of portions, without those that mirror a better one.
    ///
    /// - Parameter portions: portions of one person and type, in any order, with finite values. If a portion begins before the first border, all
    ///   that begin at the same time are needed, because one of them may count instead.
    public init(_ portions: [Portion]) {
        let portions = portions.sorted(by: SourceMerge.precedes)
        let mirrors = Mirrors.find(portions)
        self.portions =
            mirrors.isEmpty ? portions : portions.indices.filter { mirrors[$0] == nil }.map { portions[$0] }
    }

    /// A merge of portions that all count.
    ///
    /// - Parameter portions: the same, but without mirrors (``Mirrors/find(_:)``).
    public init(counting portions: [Portion]) { self.portions = portions.sorted(by: SourceMerge.precedes) }

    static func precedes(_ left: Portion, _ right: Portion) -> Bool {
        if left.start != right.start { return left.start < right.start }
        if left.end != right.end { return left.end < right.end }
        if left.rank != right.rank { return left.rank < right.rank }
        if left.value != right.value { return left.value < right.value }
        return left.number < right.number
    }

    /// The totals between each border and the next.
    ///
    /// - Parameters:
    ///   - borders: in microseconds since 1970, ascending, at least two.
    ///   - isAdded: selects the portions to add up; the others only cover samples of lower-ranked sources. With it there is no duration.
    /// - Returns: one total for each interval; `nil` if the interval has none.
    public func totals(_ borders: [Int64], adding isAdded: ((Portion) -> Bool)? = nil) -> [Total?] {
        var sweep = Sweep(portions, borders, isAdded)
        sweep.run()
        return sweep.totals
    }

    /// The numbers of the samples that count between two instants, sorted by start.
    public func counted(from: Int64, to: Int64, adding isAdded: ((Portion) -> Bool)? = nil) -> [Int64] {
        var sweep = Sweep(portions, [from, to], isAdded)
        sweep.counted = []
        sweep.run()
        return (sweep.counted ?? []).sorted().map { portions[$0].number }
    }
}

/// A single pass through time.
private struct Sweep {
    private let portions: [Portion]
    private let borders: [Int64]
    /// Indices of samples with a length, sorted by end.
    private let ends: [Int]
    private let isAdded: ((Portion) -> Bool)?
    var totals: [SourceMerge.Total?]
    /// Indices of the samples that count, if requested.
    var counted: Set<Int>?

    private var interval = -1
    /// The samples in progress, by rank.
    private var running: [Int: Set<Int>] = [:]
    /// The rank of the source that counts; all of its samples in progress count.
    private var winner: Int?
    /// The time since which it counts in this interval.
    private var since = Int64.min

    init(_ portions: [Portion], _ borders: [Int64], _ isAdded: ((Portion) -> Bool)?) {
        (self.portions, self.borders, self.isAdded) = (portions, borders, isAdded)
        ends = portions.indices.filter { portions[$0].length > 0 }.sorted { portions[$0].end < portions[$1].end }
        totals = Array(repeating: nil, count: max(0, borders.count - 1))
    }

    mutating func run() {
        var (start, end, border) = (0, 0, 0)
        while border < borders.count {
            // At one instant, ends come first, then the border, then starts: all intervals are half-open.
            var now = borders[border]
            if start < portions.count { now = min(now, portions[start].start) }
            if end < ends.count { now = min(now, portions[ends[end]].end) }
            while end < ends.count, portions[ends[end]].end == now {
                finish(ends[end])
                end += 1
            }
            if borders[border] == now {
                count(until: now)
                interval += 1
                border += 1
            }
            let first = start
            while start < portions.count, portions[start].start == now {
                if portions[start].length > 0 { begin(start) }
                start += 1
            }
            choose(at: now)
            // A sample without a length is covered by samples that begin at the same time.
            for place in first..<start where portions[place].length == 0 { count(instant: place) }
        }
    }

    private mutating func begin(_ place: Int) { running[portions[place].rank, default: []].insert(place) }

    private mutating func finish(_ place: Int) {
        let portion = portions[place]
        if winner == portion.rank { add(place, until: portion.end) }
        running[portion.rank]?.remove(place)
        if running[portion.rank]?.isEmpty == true { running[portion.rank] = nil }
    }

    /// Chooses the source that counts from now on.
    private mutating func choose(at now: Int64) {
        let next = running.keys.min()
        guard next != winner else { return }
        count(until: now)
        winner = next
    }

    /// Adds the count so far of the winner's samples in progress.
    private mutating func count(until now: Int64) {
        if let winner { for place in running[winner] ?? [] { add(place, until: now) } }
        if winner != nil, isAdded == nil, totals.indices.contains(interval), since < now {
            totals[interval, default: SourceMerge.Total()].duration += now - since
        }
        since = now
    }

    private mutating func add(_ place: Int, until now: Int64) {
        guard totals.indices.contains(interval), isAdded?(portions[place]) ?? true else { return }
        let before = max(portions[place].start, since)
        guard before < now else { return }
        counted?.insert(place)
        totals[interval, default: SourceMerge.Total()].sum.add(portions[place].counted(until: now))
        let counted = portions[place].counted(until: before)
        if counted != 0 { totals[interval, default: SourceMerge.Total()].sum.add(-counted) }
    }

    private mutating func count(instant place: Int) {
        if let winner, winner < portions[place].rank { return }
        guard totals.indices.contains(interval), isAdded?(portions[place]) ?? true else { return }
        counted?.insert(place)
        totals[interval, default: SourceMerge.Total()].sum.add(portions[place].value)
    }
}

extension Array {
    /// Accesses an optional element with a default value.
    fileprivate subscript<Wrapped>(place: Int, default value: @autoclosure () -> Wrapped) -> Wrapped
    where Element == Wrapped? {
        get { self[place] ?? value() }
        set { self[place] = newValue }
    }
}

extension Portion {
    /// The part of its value that was counted from its start to an instant.
    fileprivate func counted(until time: Int64) -> Double {
        let passed = time - start
        return passed >= length ? value : passed <= 0 ? 0 : value * (Double(passed) / Double(length))
    }
}
