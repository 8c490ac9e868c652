import HealthStatistics

/// The readings of a series that do not count because they mirror one of a better source, as in statistics.
enum MirroredReadings {
    /// Their numbers.
    ///
    /// - Parameter readings: all of one person and type, in any order.
    static func numbers(_ readings: [Reading], _ rules: SeriesRules) -> Set<Int64> {
        guard let first = readings.first, readings.contains(where: { $0.source != first.source }) else { return [] }
        // By day they are nearly in order: places have other days at one instant.
        let isInOrder = zip(readings, readings.dropFirst()).allSatisfy { $0.time <= $1.time }
        let readings = isInOrder ? readings : readings.sorted { $0.time < $1.time }
        var numbers: Set<Int64> = []
        var start = 0
        while start < readings.count {
            var end = start + 1
            while end < readings.count, readings[end].time == readings[start].time { end += 1 }
            if end - start > 1 { numbers.formUnion(self.numbers(together: readings[start..<end], rules)) }
            start = end
        }
        return numbers
    }

    /// The same of all readings of one instant.
    static func numbers(together readings: some Collection<Reading>, _ rules: SeriesRules) -> Set<Int64> {
        let sources = Set(readings.map(\.source)).sorted { rules.place(of: $0) < rules.place(of: $1) }
        guard sources.count > 1 else { return [] }
        let ranks = Dictionary(uniqueKeysWithValues: sources.enumerated().map { ($0.element, $0.offset) })
        let candidates = readings.map { reading in
            Portion(
                number: reading.number, start: reading.time, end: reading.end, value: reading.value,
                rank: ranks[reading.source] ?? 0)
        }
        return Set(Mirrors.find(candidates).keys.map { candidates[$0].number })
    }
}

extension SeriesRules {
    /// The order of sources: those that are wanted first, then by their places.
    fileprivate func place(of source: Int32) -> (Int, Int) {
        (preferred.firstIndex { $0.contains(source) } ?? preferred.count, rank(of: source))
    }

    /// A source without a place comes after those that have one.
    func rank(of source: Int32) -> Int { ranks[source] ?? 1 << 60 + Int(source) }
}
