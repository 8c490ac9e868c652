import Samples

/// The clock offsets with which the samples of a phone were first seen.
///
/// Health Auto Export prints every time on the phone's clock at the time of the *export*. After a journey the same samples arrive with another
/// offset, and the hub would store each of them as a new version. So the first offset of an instant is kept. A sample that is already old
/// when it first arrives was never seen on its original clock, so its offset is unknown.
public struct OffsetHistory: Hashable, Sendable {
    /// An interval that includes both ends, in microseconds.
    private struct Span: Hashable, Sendable {
        var first, last: Int64
        var offset: Int16?
    }

    /// In order of time, without overlaps.
    private var spans: [Span] = []
    /// Maximum age at which a new sample keeps its offset.
    private static let late: Int64 = 7 * 86_400_000_000
    /// Maximum number of spans; beyond it, the oldest are removed.
    private static let most = 1_000

    public init() {}

    /// Reads the output of ``text``.
    public init(_ text: String) {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: " ")
            guard parts.count == 3, let first = Int64(parts[0]), let last = Int64(parts[1]), first <= last else {
                continue
            }
            spans.append(Span(first: first, last: last, offset: Int16(parts[2])))
        }
    }

    /// One line for each span: first and last instant, and the offset or `Z`.
    public var text: String {
        spans.map { "\($0.first) \($0.last) \($0.offset.map(String.init) ?? "Z")\n" }.joined()
    }

    /// Replaces the offsets of the records' times with the first known ones, and remembers new ones.
    ///
    /// - Returns: whether the history has changed and must be saved.
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
        // Find the first span that does not end before the instant.
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

    /// Adds an instant.
    ///
    /// It extends an adjacent span with the same offset, because no other offset was seen between them.
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
