/// A figure of a chart, with its time.
struct ChartPoint: Hashable, Sendable {
    /// Microseconds since 1970; for an interval, its start.
    var time: Int64
    /// The end of the interval; `time` for an instant.
    var end: Int64
    /// In the unit of the type's values.
    var value: Double
    /// The minimum and maximum of the values that the figure summarises.
    var low, high: Double?
    /// Whether nothing was measured then and the value was carried from an earlier day.
    var isCarried: Bool
    /// The time as text for people.
    var when: String

    init(
        time: Int64, end: Int64? = nil, value: Double, low: Double? = nil, high: Double? = nil,
        isCarried: Bool = false, when: String
    ) {
        (self.time, self.end, self.value, self.low, self.high) = (time, max(time, end ?? time), value, low, high)
        (self.isCarried, self.when) = (isCarried, when)
    }

    /// The position of its mark.
    var middle: Int64 { time + (end - time) / 2 }

    /// All values that must fit on the axis.
    var values: [Double] { [value, low, high].compactMap(\.self) }

    var isFinite: Bool { values.allSatisfy(\.isFinite) }
}

extension [ChartPoint] {
    /// At most `most` points: the first, the last, and the minimum and maximum of each stretch.
    ///
    /// - Parameter most: 4 or more.
    func thinned(to most: Int) -> [ChartPoint] {
        guard count > most, most >= 4 else { return self }
        let stretches = (most - 2) / 2
        let inner = count - 2
        var kept = [0]
        for stretch in 0..<stretches {
            let places = 1 + inner * stretch / stretches..<1 + inner * (stretch + 1) / stretches
            guard let low = places.min(by: { least($0) < least($1) }),
                let high = places.max(by: { greatest($0) < greatest($1) })
            else { continue }
            kept += low == high ? [low] : [Swift.min(low, high), Swift.max(low, high)]
        }
        return (kept + [count - 1]).map { self[$0] }
    }

    /// Combines the points into stretches of about equal size, each with its span, its minimum and maximum, and its mean as value.
    func stretches(_ number: Int) -> [ChartPoint] {
        guard number > 0 else { return [] }
        return (0..<Swift.min(number, count)).compactMap { stretch in
            let places = count * stretch / number..<count * (stretch + 1) / number
            guard let first = places.first, let last = places.last, let low = places.map(least).min(),
                let high = places.map(greatest).max()
            else { return nil }
            return ChartPoint(
                time: self[first].time, end: self[last].end, value: low / 2 + high / 2, low: low, high: high,
                when: "\(self[first].when) to \(self[last].when)")
        }
    }

    private func least(_ place: Int) -> Double { self[place].low ?? self[place].value }
    private func greatest(_ place: Int) -> Double { self[place].high ?? self[place].value }
}
