/// Adds up what several sources have counted, so that nothing counts twice.
///
/// A phone and a watch on one walk count the same steps. Time is cut where anything begins or ends. In each slice a bucket counts, the
/// finest where there are several; else the samples of the best source that has any there. Each gives the share of its value that the
/// slice is of its length. What has no length counts whole, where no bucket and no sample of a better source covers it.
public struct SourceMerge: Sendable {
    /// What counts in an interval.
    public struct Total: Sendable {
        public var sum = ExactSum()
        /// The records of which something counts, by rank.
        public var counts: [Int: Int] = [:]
    }

    /// By start; mirrors and what a file covers are left out.
    private let portions: [Portion]

    /// Two samples of one source and time whose values differ by no more than this part of them are one that came two ways.
    static let mirrorTolerance = 0.0005

    /// - Parameters:
    ///   - portions: of one person and type, in any order; finite values.
    ///   - horizon: until when the samples of an export file are complete, in microseconds since 1970; up to it no bucket counts.
    public init(_ portions: [Portion], horizon: Int64? = nil) {
        var known: [Portion] = []
        for portion in portions.sorted(by: SourceMerge.precedes) {
            if portion.form == .bucket, let horizon, portion.end <= horizon { continue }
            guard let last = known.last, SourceMerge.areMirrors(last, portion) else {
                known.append(portion)
                continue
            }
            if portion.isFromFile, !last.isFromFile { known[known.count - 1] = portion }
        }
        self.portions = known
    }

    /// By start; what may be mirrors of one another lies side by side, by value.
    private static func precedes(_ left: Portion, _ right: Portion) -> Bool {
        if left.start != right.start { return left.start < right.start }
        if left.end != right.end { return left.end < right.end }
        if left.rank != right.rank { return left.rank < right.rank }
        if left.form != right.form { return left.form == .sample }
        if left.value != right.value { return left.value < right.value }
        if left.isFromFile != right.isFromFile { return left.isFromFile }
        return left.number < right.number
    }

    private static func areMirrors(_ left: Portion, _ right: Portion) -> Bool {
        left.form == .sample && right.form == .sample && left.start == right.start && left.end == right.end
            && left.rank == right.rank && abs(left.value - right.value) <= mirrorTolerance * abs(left.value)
    }

    /// What counts between each border and the next.
    ///
    /// - Parameter borders: in microseconds since 1970, rising, two at least.
    /// - Returns: one for each interval; `nil` where there is nothing.
    public func totals(_ borders: [Int64]) -> [Total?] {
        var sweep = Sweep(portions, borders)
        sweep.run()
        return sweep.totals
    }
}

/// One walk through time.
private struct Sweep {
    private let portions: [Portion]
    private let borders: [Int64]
    /// Indices of what has a length, by its end.
    private let ends: [Int]
    var totals: [SourceMerge.Total?]

    private var interval = -1
    private var now = Int64.min
    /// How long each source has counted; stands still while a better one, or a bucket, does.
    private var clocks: [Int: Int64] = [:]
    /// By rank, the samples under way: what the clock of their source has said when they, or the interval, began.
    private var running: [Int: [Int: Int64]] = [:]
    /// The finest first.
    private var buckets: [Int] = []
    /// How long the buckets have counted in this interval.
    private var bucketTimes: [Int: Int64] = [:]

    init(_ portions: [Portion], _ borders: [Int64]) {
        (self.portions, self.borders) = (portions, borders)
        ends = portions.indices.filter { portions[$0].length > 0 }.sorted { portions[$0].end < portions[$1].end }
        totals = Array(repeating: nil, count: max(0, borders.count - 1))
    }

    mutating func run() {
        var (start, end, border) = (0, 0, 0)
        while border < borders.count {
            // At one instant what ends goes first, then the border, then what begins: all are half-open.
            var next = borders[border]
            if start < portions.count { next = min(next, portions[start].start) }
            if end < ends.count { next = min(next, portions[ends[end]].end) }
            advance(to: next)
            while end < ends.count, portions[ends[end]].end == next {
                finish(ends[end])
                end += 1
            }
            if borders[border] == next {
                cross()
                border += 1
            }
            let first = start
            while start < portions.count, portions[start].start == next {
                if portions[start].length > 0 { begin(start) }
                start += 1
            }
            // What has no length is covered by what begins with it.
            for place in first..<start where portions[place].length == 0 { count(instant: place) }
        }
    }

    private var isCounting: Bool { totals.indices.contains(interval) }

    private mutating func advance(to time: Int64) {
        if let finest = buckets.first {
            bucketTimes[finest, default: 0] += time - now
        } else if let best = running.keys.min() {
            clocks[best, default: 0] += time - now
        }
        now = time
    }

    private mutating func begin(_ place: Int) {
        let portion = portions[place]
        switch portion.form {
        case .sample: running[portion.rank, default: [:]][place] = clocks[portion.rank] ?? 0
        case .bucket:
            let at = buckets.firstIndex {
                (portions[$0].length, portions[$0].number) > (portion.length, portion.number)
            }
            buckets.insert(place, at: at ?? buckets.endIndex)
        }
    }

    private mutating func finish(_ place: Int) {
        let portion = portions[place]
        switch portion.form {
        case .bucket:
            buckets.removeAll { $0 == place }
            add(place, bucketTimes.removeValue(forKey: place) ?? 0)
        case .sample:
            guard let since = running[portion.rank]?.removeValue(forKey: place) else { return }
            if running[portion.rank]?.isEmpty == true { running[portion.rank] = nil }
            add(place, (clocks[portion.rank] ?? 0) - since)
        }
    }

    /// An interval ends, and the next begins.
    private mutating func cross() {
        for (place, time) in bucketTimes { add(place, time) }
        bucketTimes.removeAll(keepingCapacity: true)
        for (rank, samples) in running {
            let clock = clocks[rank] ?? 0
            for (place, since) in samples { add(place, clock - since) }
            running[rank] = samples.mapValues { _ in clock }
        }
        interval += 1
    }

    private mutating func count(instant place: Int) {
        let rank = portions[place].rank
        guard buckets.isEmpty, !running.keys.contains(where: { $0 < rank }), isCounting else { return }
        add(portions[place].value, rank)
    }

    private mutating func add(_ place: Int, _ time: Int64) {
        guard time > 0, isCounting else { return }
        let portion = portions[place]
        // The whole is not divided: its value is what the source said.
        let share =
            time == portion.length ? portion.value : portion.value * (Double(time) / Double(portion.length))
        add(share, portion.rank)
    }

    private mutating func add(_ value: Double, _ rank: Int) {
        totals[interval, default: SourceMerge.Total()].sum.add(value)
        totals[interval, default: SourceMerge.Total()].counts[rank, default: 0] += 1
    }
}

extension Array {
    /// An optional element as if it were there.
    fileprivate subscript<Wrapped>(place: Int, default value: @autoclosure () -> Wrapped) -> Wrapped
    where Element == Wrapped? {
        get { self[place] ?? value() }
        set { self[place] = newValue }
    }
}
