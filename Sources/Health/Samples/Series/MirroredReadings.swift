/// Finds the readings of a series that do not count because they mirror a reading of a better source, as in statistics.
enum MirroredReadings {
    /// The numbers of those readings.
    ///
    /// - Parameter readings: all readings of one person and type, in any order.
    static func numbers(_ readings: [Reading], _ rules: SeriesRules) -> Set<Int64> {
        guard let first = readings.first, readings.contains(where: { $0.source != first.source }) else { return [] }
        // Sorted by day they are nearly sorted by time; at one instant, different places can have different dates.
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

    /// Finds the mirrors among all readings of one instant.
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
    /// The order of sources: preferred sources first, then by rank.
    fileprivate func place(of source: Int32) -> (Int, Int) {
        (preferred.firstIndex { $0.contains(source) } ?? preferred.count, rank(of: source))
    }

    /// The rank of a source; a source without one comes after all ranked sources.
    func rank(of source: Int32) -> Int { ranks[source] ?? 1 << 60 + Int(source) }
}
