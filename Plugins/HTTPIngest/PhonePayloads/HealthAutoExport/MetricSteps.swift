import JSON
import Samples

/// Reads the points of a numeric metric, a thousand at a time.
struct MetricSteps: PayloadSteps {
    /// A point in compact form, because a body may have a million of them.
    private struct Point {
        var index: Int32
        var source: Int32
        /// The number of this point among different points of one instant and source; not positive if it equals another point.
        var ordinal: Int32 = 1
        var hasRange: Bool
        var time: Timestamp
        var value, low, high: Double
    }

    private let place: Int
    private let context: PhoneContext
    private let type: HealthType
    private let unit: String
    private static let names: [StaticString] = ["date", "qty", "source", "Min", "Avg", "Max"]
    private let grouping: Grouping
    private var points: [Point] = []
    private var sources = MetricSources()
    private var position = 0
    /// The findings made while the points were read; returned with the first records.
    private var found = PhoneBatch()

    private init(
        _ data: JSONValue, place: Int, _ type: HealthType, units: String?, _ grouping: Grouping,
        _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext
    ) {
        (self.place, self.context, self.type, self.grouping) = (place, context, type, grouping)
        unit = PhoneNumbers.unit(units ?? "", of: type.id)
        read(data, hasUnit: units != nil, bytes)
        number()
    }

    /// Returns `nil` if the metric is not numeric; then `batch` contains the result.
    ///
    /// - Throws: ``ItemError`` if the metric as a whole is refused.
    static func make(
        _ value: JSONValue, _ index: Int, _ bytes: UnsafeRawBufferPointer, _ context: PhoneContext,
        _ batch: inout PhoneBatch
    ) throws(ItemError) -> MetricSteps? {
        let at = "/data/metrics/\(index)"
        let members = Members(value, in: bytes)
        try members.checkNames()
        guard let name = members.text("name"), !name.isEmpty else { throw ItemError("type", "the metric has no name") }
        guard let data = members["data"] else { return nil }
        guard data.kind == .array else { throw ItemError("json", "data is an array") }
        let units = members.text("units")
        let known = HealthAutoExportMetric.named(name)
        let unit = known.flatMap { metric in
            units.map { (text: PhoneNumbers.unit($0, of: metric.type.id), type: metric.type) }
        }
        try batch.noteUnread(members, but: ["name", "units", "data"], in: "/data/metrics", unit: unit, at: at)
        guard let metric = known else {
            UnknownElementStore(bytes, context, account: "hae", type: "x.hae.unread").keep(
                name, data, at: at, "metric not known", more: units.map { [("units", $0)] } ?? [], &batch)
            return nil
        }
        let grouping = Grouping(context.grouping)
        if case .longer(let word) = grouping {
            throw ItemError(
                "time", "grouped by \(word), which is too long for a record: choose Hours or Days in the app")
        }
        guard metric.shape == .number else {
            ShapedMetric(
                metric: metric, place: index, units: units, grouping: grouping, bytes: bytes, context: context
            ).read(data, name, &batch)
            return nil
        }
        return MetricSteps(data, place: index, metric.type, units: units, grouping, bytes, context)
    }

    // MARK: - Reading

    private mutating func read(_ data: JSONValue, hasUnit: Bool, _ bytes: UnsafeRawBufferPointer) {
        var cursor = ArrayCursor(data, in: bytes)
        var members = Members(data, in: bytes)
        while let element = cursor.next() {
            found.received += 1
            members.read(element)
            do throws(ItemError) {
                let point = try point(members, element, cursor.count - 1, hasUnit)
                points.append(point)
            } catch {
                found.reject(.point(metric: place, cursor.count - 1), error)
            }
        }
    }

    private mutating func point(
        _ members: Members, _ element: JSONValue, _ index: Int, _ hasUnit: Bool
    ) throws(ItemError) -> Point {
        guard element.kind == .object else { throw ItemError("json", "a point is an object") }
        try members.checkNames()
        guard let date = members["date"] else { throw ItemError("time", "date is missing") }
        guard date.kind == .string, let time = PhoneTime.read(members.bytes.content(of: date)) else {
            throw ItemError.unreadDate
        }
        guard hasUnit else { throw ItemError.unitless }
        try found.noteUnread(
            members, but: Self.names, in: "/data/metrics/\(place)/data", unit: (unit, type),
            at: "/data/metrics/\(place)/data/\(index)")
        var point = Point(index: Int32(index), source: 0, hasRange: false, time: time, value: 0, low: 0, high: 0)
        let isFraction = type.unit == "%" && context.percent == .hundred
        func number(_ name: StaticString) -> Double? {
            isFraction ? members.digits(name).flatMap(PhoneNumbers.hundredth) : members.number(name)
        }
        if let value = number("qty") {
            point.value = value
        } else if let low = number("Min"), let mean = number("Avg"), let high = number("Max") {
            (point.value, point.low, point.high) = (mean, low, high)
            point.hasRange = low != high || mean != low
        } else {
            throw ItemError("value", "qty is a number")
        }
        try PhoneNumbers.check(point.value, unit, type)
        if isFraction, PhoneNumbers.isNoPercentage(point.value, of: type.id) {
            throw ItemError(
                "value", "as 0 to 100 it is beyond a person's range; the setting percent says how numbers are meant")
        }
        point.source = try sources.number(of: members["source"], in: members.bytes)
        return point
    }

    /// Numbers the points of one instant and source by their values, in ascending order; equal points count once.
    private mutating func number() {
        let isOrdered = zip(points, points.dropFirst()).allSatisfy { $0.time.microseconds < $1.time.microseconds }
        guard !isOrdered else { return }
        let keepsSources = grouping.bucket == nil
        func identity(_ point: Point) -> (Int64, Int32) {
            (point.time.microseconds, keepsSources && !point.hasRange ? point.source : -1)
        }
        let order = points.indices.sorted { left, right in
            let (first, second) = (points[left], points[right])
            let (one, other) = (identity(first), identity(second))
            return one != other ? one < other : (first.value, first.index) < (second.value, second.index)
        }
        for (before, after) in zip(order, order.dropFirst()) where identity(points[before]) == identity(points[after]) {
            let isEqual =
                points[before].value == points[after].value && points[before].low == points[after].low
                && points[before].high == points[after].high
            points[after].ordinal =
                isEqual ? -points[before].ordinal.magnitude.signed : points[before].ordinal.magnitude.signed + 1
        }
    }

    // MARK: - Records

    mutating func next() -> PhoneBatch? {
        guard position < points.count || found.received > 0 else { return nil }
        var batch = found
        found = PhoneBatch()
        let end = min(points.count, position + PhoneBody.batchRecords)
        batch.records.reserveCapacity(end - position)
        while position < end {
            add(points[position], &batch)
            position += 1
        }
        return batch
    }

    private func add(_ point: Point, _ batch: inout PhoneBatch) {
        let at = PhonePlace.point(metric: place, Int(point.index))
        guard point.ordinal > 0 else {
            batch.ignored.append(PhoneOmission(at, "equal to the point before"))
            return
        }
        if case .days = grouping { return addDay(point, at, &batch) }
        let bucket = grouping.bucket ?? (point.hasRange ? ("m", 60_000_000) : nil)
        let source = sources.all[Int(point.source)]
        let time = PhoneTime.key(point.time.microseconds)
        let suffix = point.ordinal > 1 ? " \(point.ordinal)" : ""
        guard let key = RecordKey("\(time) \(type.id) \(bucket?.letter ?? "r \(source.hash)")\(suffix)") else {
            return batch.reject(at, "key", "too many different points of one instant")
        }
        let (value, metadata) = content(point, source, isBucket: bucket != nil)
        let end = bucket.map {
            Timestamp(microseconds: point.time.microseconds + $0.length, offsetMinutes: point.time.offsetMinutes)
        }
        let sample = Sample(
            source: context.source(account(source, isBucket: bucket != nil)), key: key, type: type.id,
            value: .quantity(value, unit: unit),
            start: point.time, end: end, subject: context.subject, metadata: metadata)
        batch.records.append(PhoneRecord(.sample(sample), at))
    }

    /// The account of a sample of a cumulative type.
    ///
    /// Each watch and phone has a separate one, so that the same steps do not count twice; hourly sums already include all of them (Protocol
    /// R8.112).
    private func account(_ source: MetricSource, isBucket: Bool) -> String {
        guard type.aggregation == .cumulative else { return "hae" }
        return isBucket ? "hae sums" : source.account
    }

    private func content(
        _ point: Point, _ source: MetricSource, isBucket: Bool
    ) -> (value: Double, metadata: JSONObject?) {
        guard isBucket else { return (point.value, source.metadata) }
        guard type.aggregation != .cumulative else { return (PhoneNumbers.rounded(point.value), source.metadata) }
        var writer = MetadataWriter()
        writer.add("sourceName", text: source.name)
        writer.add("aggregation", text: "mean")
        addRange(of: point, to: &writer)
        return (PhoneNumbers.rounded(point.value), writer.text.map(JSONObject.init(trusted:)))
    }

    private func addRange(of point: Point, to writer: inout MetadataWriter) {
        guard point.hasRange else { return }
        writer.add("minimum", number: PhoneNumbers.rounded(point.low))
        writer.add("maximum", number: PhoneNumbers.rounded(point.high))
    }

    /// Adds a day's value under the date as printed, which is the date on the phone's clock.
    private func addDay(_ point: Point, _ at: PhonePlace, _ batch: inout PhoneBatch) {
        var writer = MetadataWriter()
        addRange(of: point, to: &writer)
        batch.addDay(
            context, type, PhoneNumbers.rounded(point.value), unit, on: point.time.localDate, series: "hae",
            account: "hae", metadata: writer.text.map(JSONObject.init(trusted:)), at)
    }
}

/// A source of a metric's points, and the data that all of its points share.
struct MetricSource {
    let name: String
    let hash: String
    /// The account of its samples of cumulative types.
    let account: String
    let metadata: JSONObject?

    init(_ name: String) {
        self.name = name
        hash = PhoneKeys.hash(name)
        let folded = PhoneKeys.folded(name)
        // A device named Sums must not look like a source of sums.
        let isPlain = folded.utf8.count <= 64 && folded != "sums"
        account = folded.isEmpty ? "hae" : "hae \(isPlain ? folded : hash)"
        var writer = MetadataWriter()
        writer.add("sourceName", text: name)
        metadata = writer.text.map(JSONObject.init(trusted:))
    }
}

/// The sources of a metric's points.
private struct MetricSources {
    private(set) var all: [MetricSource] = []
    private var numbers: [String: Int32] = [:]
    private var last: (text: UnsafeRawBufferPointer, number: Int32)?

    /// The number of the source that a point names.
    ///
    /// - Throws: ``ItemError`` if its name is too long.
    mutating func number(of name: JSONValue?, in bytes: UnsafeRawBufferPointer) throws(ItemError) -> Int32 {
        let name = name.flatMap { $0.kind == .string ? $0 : nil }
        let raw = name.map(bytes.content) ?? UnsafeRawBufferPointer(start: nil, count: 0)
        // Nearly every point has the same source as the point before it.
        if let last, last.text.elementsEqual(raw) { return last.number }
        let text = name.flatMap { JSONText.string($0, in: bytes) } ?? ""
        guard text.utf8.count <= PhoneBody.maximumText else { throw ItemError.longSource }
        let number = numbers[text] ?? Int32(all.count)
        if numbers.updateValue(number, forKey: text) == nil { all.append(MetricSource(text)) }
        last = (raw, number)
        return number
    }
}

/// The faults that points of all metrics may have.
extension ItemError {
    static let unreadDate = ItemError("time", "date cannot be read: expected such as 2026-02-10 06:31:02 +0100")
    static let unitless = ItemError("unit", "units is missing")
    static let longSource = ItemError("size", "the name of the source is too long")
    static let largePoint = ItemError("metadata", "the point is too large for a record")
}

extension PhoneBatch {
    /// Adds a day's value, which requires a person.
    mutating func addDay(
        _ context: PhoneContext, _ type: HealthType, _ value: Double, _ unit: String, on date: LocalDate,
        series: String, account: String, metadata: JSONObject? = nil, _ at: PhonePlace
    ) {
        guard let person = context.person else {
            return reject(
                at, "person", "a value of a day needs a person, and this token has none: hub ingest new --person")
        }
        let day = DayValue(
            source: context.source(account), person: person, type: type.id,
            series: "\(context.plugin):\(series)", date: date, value: value, unit: unit,
            method: type.aggregation == .cumulative ? "sum" : "mean", metadata: metadata)
        records.append(PhoneRecord(.day(day), at))
    }
}

extension UnsafeRawBufferPointer {
    /// The text between the quotes of a string, with escapes unresolved.
    func content(of value: JSONValue) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[(value.start + 1)..<(value.end - 1)])
    }
}

extension UInt32 {
    fileprivate var signed: Int32 { Int32(bitPattern: self) }
}
