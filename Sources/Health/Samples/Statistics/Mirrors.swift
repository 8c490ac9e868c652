/// A record that may be one of several copies of the same event.
public protocol MirrorCandidate {
    /// The hub's number of the record.
    var number: Int64 { get }
    /// In microseconds since 1970.
    var start: Int64 { get }
    /// Not before `start`; equal to it for an instant.
    var end: Int64 { get }
    /// In the type's canonical unit.
    var value: Double { get }
    /// The rank of its source, the best first; no two sources share one.
    var rank: Int { get }
}

extension Portion: MirrorCandidate {}
extension Level: MirrorCandidate {}

/// Finds records of one person and type in which several sources report the same event.
///
/// Two records of different sources mirror each other if they begin at the same time, their values agree, and their ends agree or one has
/// no end. Two records of one source are two events, so a record mirrors at most one of another source. The best source's record counts.
public enum Mirrors {
    /// Two values agree if they differ by at most this fraction of the larger one.
    public static let tolerance = 0.0005

    /// Whether two values agree within ``tolerance``.
    public static func agree(_ left: Double, _ right: Double) -> Bool {
        abs(left - right) <= tolerance * max(abs(left), abs(right))
    }

    /// For each record that does not count, the index of the record that counts instead.
    ///
    /// The result does not depend on the order of arrival. All records of an instant are needed: if some are missing, others count.
    /// - Parameter records: records of one person, type and kind of value, sorted by start; finite values.
    public static func find(_ records: [some MirrorCandidate]) -> [Int: Int] {
        var found: [Int: Int] = [:]
        var first = 0
        while first < records.count {
            var (end, isOfOne) = (first + 1, true)
            while end < records.count, records[end].start == records[first].start {
                isOfOne = isOfOne && records[end].rank == records[first].rank
                end += 1
            }
            if !isOfOne { find(records, first..<end, &found) }
            first = end
        }
        return found
    }

    /// Finds mirrors among records that begin at the same time.
    private static func find(
        _ records: [some MirrorCandidate], _ range: Range<Int>, _ found: inout [Int: Int]
    ) {
        let places = range.sorted { left, right in
            let (left, right) = (records[left], records[right])
            if left.rank != right.rank { return left.rank < right.rank }
            // Compare intervals first, because fewer records match them.
            let (isShort, isOtherShort) = (left.end == left.start, right.end == right.start)
            if isShort != isOtherShort { return isOtherShort }
            if left.value != right.value { return left.value < right.value }
            if left.end != right.end { return left.end < right.end }
            return left.number < right.number
        }
        var counting = Counting(records)
        var next = 0
        while next < places.count {
            let first = next
            while next < places.count, records[places[next]].rank == records[places[first]].rank { next += 1 }
            let own = places[first..<next]
            counting.begin()
            var others: [Int] = []
            for place in own {
                if let better = counting.take(place) { found[place] = better } else { others.append(place) }
            }
            counting.add(others)
        }
    }

    /// The counting records of an instant, from all sources processed so far.
    private struct Counting<Record: MirrorCandidate> {
        /// Indices sorted by value.
        ///
        /// Those before `passed` no longer match any record of the current source.
        private struct Row {
            var places: [Int] = []
            var passed = 0
        }

        private let records: [Record]
        private var all = Row()
        /// Rows by end.
        private var rows: [Int64: Row] = [:]
        private var taken: Set<Int> = []

        init(_ records: [Record]) { self.records = records }

        /// Starts with the next source.
        mutating func begin() {
            taken = []
            all.passed = 0
            for end in rows.keys { rows[end]?.passed = 0 }
        }

        /// A counting record that this record mirrors and that no other record of its source has taken.
        ///
        /// - Parameter place: records of one source come with an end first, then without one, each sorted by value.
        mutating func take(_ place: Int) -> Int? {
            let record = records[place]
            var better: Int?
            if record.end == record.start {
                better = Self.take(&all, record, records, taken)
            } else {
                for end in [record.end, record.start] where better == nil && rows[end] != nil {
                    better = Self.take(&rows[end, default: Row()], record, records, taken)
                }
            }
            if let better { taken.insert(better) }
            return better
        }

        /// Static, because a copy of `self` would make each change of a row copy all rows.
        private static func take(
            _ row: inout Row, _ record: Record, _ records: [Record], _ taken: Set<Int>
        ) -> Int? {
            while row.passed < row.places.count {
                let place = row.places[row.passed]
                let value = records[place].value
                if taken.contains(place) || value < record.value && !Mirrors.agree(value, record.value) {
                    row.passed += 1
                    continue
                }
                return Mirrors.agree(value, record.value) ? place : nil
            }
            return nil
        }

        mutating func add(_ places: [Int]) {
            guard !places.isEmpty else { return }
            func sorted(_ places: [Int]) -> [Int] {
                places.sorted { left, right in
                    let (left, right) = (records[left], records[right])
                    return (left.value, left.end, left.number) < (right.value, right.end, right.number)
                }
            }
            all.places = sorted(all.places + places)
            for (end, own) in Dictionary(grouping: places, by: { records[$0].end }) {
                rows[end] = Row(places: sorted((rows[end]?.places ?? []) + own))
            }
        }
    }
}
