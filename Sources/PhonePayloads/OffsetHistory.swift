import Samples

/// Which clock the samples of a phone were first seen with.
///
/// Health Auto Export prints every time on the clock that the phone has when it *exports*. After a journey the same samples come with another
/// offset, which the hub would take for a new version of each. So the first offset of a time stands; what is already old when it first
/// comes was never seen on its own clock, and has none.
public struct OffsetHistory: Hashable, Sendable {
    /// From one instant to another, ends included, in microseconds.
    private struct Span: Hashable, Sendable {
        var first, last: Int64
        var offset: Int16?
    }

    /// In the order of time; none touches another.
    private var spans: [Span] = []
    /// How late a sample may come and still have its own clock.
    private static let late: Int64 = 7 * 86_400_000_000
    /// Spans at most; beyond, the oldest are forgotten.
    private static let most = 1_000

    public init() {}

    /// Reads what ``text`` wrote.
    public init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 3, let first = Int64(parts[0]), let last = Int64(parts[1]), first <= last else {
                continue
            }
            spans.append(Span(first: first, last: last, offset: Int16(parts[2])))
        }
    }

    /// A line for each span: first and last instant, and the offset or `Z`.
    public var text: String {
        spans.map { "\($0.first) \($0.last) \($0.offset.map(String.init) ?? "Z")\n" }.joined()
    }

    /// Gives the records' times the offsets that they were first seen with, and remembers those that are new.
    ///
    /// - Returns: whether there is anything new to keep.
    public mutating func settle(_ records: inout [PhoneRecord], arrival: Int64) -> Bool {
        let before = spans
        for index in records.indices {
            guard case .sample(var sample) = records[index].record else { continue }
            let start = settled(sample.start, arrival)
            let end = Timestamp(
                microseconds: sample.end.microseconds,
                offsetMinutes: sample.end.offsetMinutes == nil || start.offsetMinutes == nil
                    ? start.offsetMinutes : settled(sample.end, arrival).offsetMinutes)
            let route = sample.route.map { $0.map { settled($0, arrival) } }
            guard start != sample.start || end != sample.end || route != sample.route else { continue }
            (sample.start, sample.end) = (start, end)
            if route != nil { sample.route = route }
            records[index].record = .sample(sample)
        }
        return spans != before
    }

    private mutating func settled(_ point: RoutePoint, _ arrival: Int64) -> RoutePoint {
        var point = point
        point.time = settled(point.time, arrival)
        return point
    }

    private mutating func settled(_ time: Timestamp, _ arrival: Int64) -> Timestamp {
        guard time.offsetMinutes != nil else { return time }
        let instant = time.microseconds
        // The first span that does not end before.
        var (low, high) = (0, spans.count)
        while low < high {
            let middle = (low + high) / 2
            if spans[middle].last < instant { low = middle + 1 } else { high = middle }
        }
        if low < spans.count, spans[low].first <= instant {
            return Timestamp(microseconds: instant, offsetMinutes: spans[low].offset)
        }
        let offset = arrival - instant > Self.late ? nil : time.offsetMinutes
        remember(instant, offset, before: low)
        return Timestamp(microseconds: instant, offsetMinutes: offset)
    }

    /// An instant between two spans makes one of them longer, if that has its offset: what lies between was not seen otherwise.
    private mutating func remember(_ instant: Int64, _ offset: Int16?, before place: Int) {
        let joinsLeft = place > 0 && spans[place - 1].offset == offset
        let joinsRight = place < spans.count && spans[place].offset == offset
        switch (joinsLeft, joinsRight) {
        case (true, true):
            spans[place - 1].last = spans[place].last
            spans.remove(at: place)
        case (true, false): spans[place - 1].last = instant
        case (false, true): spans[place].first = instant
        case (false, false):
            spans.insert(Span(first: instant, last: instant, offset: offset), at: place)
            if spans.count > Self.most { spans.removeFirst() }
        }
    }
}
