import JSON
import Platform
import Samples

/// Reads a metric whose points contain more than a number.
struct ShapedMetric {
    let metric: HealthAutoExportMetric
    let place: Int
    let units: String?
    let grouping: Grouping
    let bytes: UnsafeRawBufferPointer
    let context: PhoneContext

    private var maker: SampleMaker { SampleMaker(context: context, account: "hae") }

    /// A point, with the data that all points share.
    private struct Point {
        let members: Members
        let value: JSONValue
        let at: PhonePlace
        let time: Timestamp
        let source: String
        /// The beginning of its key, `T <type>`.
        let start: String
    }

    /// The members that a point may have.
    private var names: [StaticString] {
        switch metric.shape {
        case .number, .standHour, .minutes: ["date", "qty", "source"]
        case .meal: ["date", "qty", "source", "mealTime"]
        case .insulin: ["date", "qty", "source", "reason"]
        case .hygiene: ["date", "qty", "source", "value"]
        case .pressure: ["date", "systolic", "diastolic", "source"]
        case .counters: ["date", "qty", "source", "Unspecified", "Protection Used", "Protection Not Used"]
        case .sleep: SleepReader.names
        }
    }

    /// The unit of a point's numbers; `nil` for events.
    private var unit: (text: String, type: HealthType)? {
        let type = metric.shape == .pressure ? TypeRegistry.standard.type(.bloodPressureSystolic) : metric.type
        guard let type, type.kind == .quantity else { return nil }
        return (PhoneNumbers.unit(units ?? type.unit ?? "", of: type.id), type)
    }

    func read(_ data: JSONValue, _ name: String, _ batch: inout PhoneBatch) {
        let (names, unit) = (names, unit)
        var cursor = ArrayCursor(data, in: bytes)
        var drafts: [SampleDraft] = []
        while let element = cursor.next() {
            batch.received += 1
            let at = PhonePlace.point(metric: place, cursor.count - 1)
            do throws(ItemError) {
                guard element.kind == .object else { throw ItemError("json", "a point is an object") }
                let members = try Members(item: element, in: bytes)
                try batch.noteUnread(
                    members, but: names, in: "/data/metrics/\(place)/data", unit: unit, at: "\(at)")
                if metric.shape == .sleep {
                    drafts.append(try SleepReader(maker: maker, units: units).read(members, at))
                } else {
                    drafts += try self.drafts(of: try point(members, element, at), name, &batch)
                }
            } catch {
                batch.reject(at, error)
            }
        }
        batch.add(drafts)
    }

    private func point(
        _ members: Members, _ element: JSONValue, _ at: PhonePlace
    ) throws(ItemError) -> Point {
        guard let text = members.text("date") else { throw ItemError("time", "date is missing") }
        guard let time = PhoneTime.read(text) else { throw ItemError.unreadDate }
        let source = members.text("source") ?? ""
        guard source.utf8.count <= PhoneBody.maximumText else { throw ItemError.longSource }
        return Point(
            members: members, value: element, at: at, time: time, source: source,
            start: "\(PhoneTime.key(time.microseconds)) \(metric.type.id)")
    }

    private func drafts(
        of point: Point, _ name: String, _ batch: inout PhoneBatch
    ) throws(ItemError) -> [SampleDraft] {
        switch metric.shape {
        case .pressure: return try pressure(point, &batch)
        case .meal, .insulin: return try number(point, &batch)
        default: break
        }
        // Only numbers can become day values.
        if case .days = grouping {
            keep(
                point, name, "grouped by days, which this metric has no record for: choose another time grouping",
                &batch)
            return []
        }
        switch metric.shape {
        case .standHour: return try standHour(point, name, &batch)
        case .minutes: return [try session(point)]
        case .hygiene: return [try hygiene(point)]
        case .counters: return try counters(point)
        case .number, .sleep, .meal, .insulin, .pressure: return []
        }
    }

    private func keep(_ point: Point, _ name: String, _ why: String, _ batch: inout PhoneBatch) {
        let keeper = UnknownElementStore(bytes, context, account: "hae", type: "x.hae.unread")
        keeper.keep(point.value, name, at: "\(point.at)", units.map { [("units", $0)] } ?? [], &batch)
        batch.ignored.append(PhoneOmission(point.at, why, name: name, points: 1))
    }

    private func metadata(_ point: Point) -> MetadataWriter {
        var writer = MetadataWriter()
        writer.add("sourceName", text: point.source)
        return writer
    }

    private func end(of point: Point) -> Timestamp? { grouping.bucket.map { point.time.later($0.length) } }

    // MARK: - Numbers with additional members

    private func quantity(_ point: Point) throws(ItemError) -> Double {
        guard let value = point.members.number("qty") else { throw ItemError("value", "qty is a number") }
        return value
    }

    private func addDay(
        _ point: Point, _ type: HealthType, _ value: Double, _ unit: String, _ batch: inout PhoneBatch
    ) {
        batch.addDay(
            context, type, PhoneNumbers.rounded(value), unit, on: point.time.localDate, series: "hae", account: "hae",
            point.at)
    }

    private func number(_ point: Point, _ batch: inout PhoneBatch) throws(ItemError) -> [SampleDraft] {
        guard let units else { throw ItemError.unitless }
        var value = try quantity(point)
        let unit = PhoneNumbers.unit(units, of: metric.type.id)
        try PhoneNumbers.check(value, unit, metric.type)
        if case .days = grouping {
            addDay(point, metric.type, value, unit, &batch)
            return []
        }
        var metadata = metadata(point)
        var more = ""
        if metric.shape == .meal {
            let meals = ["before meal": 1, "after meal": 2]
            if let meal = point.members.text("mealTime").flatMap({ meals[PhoneKeys.compared($0)] }) {
                metadata.add("bloodGlucoseMealTime", number: Double(meal))
                more = "\(meal)"
            }
        } else {
            let reasons = ["basal": 1, "bolus": 2]
            guard let reason = point.members.text("reason").flatMap({ reasons[PhoneKeys.compared($0)] }) else {
                throw ItemError("metadata", "insulin says nothing without its reason, Basal or Bolus")
            }
            metadata.add("insulinDeliveryReason", number: Double(reason))
            more = "\(reason)"
        }
        if grouping.bucket != nil {
            value = PhoneNumbers.rounded(value)
            if metric.type.aggregation != .cumulative { metadata.add("aggregation", text: "mean") }
        }
        let base = "\(point.start) \(grouping.bucket?.letter ?? "r \(PhoneKeys.hash(point.source))")"
        guard let sample = maker.quantity(metric.type.id, value, unit, base, point.time, end(of: point), metadata)
        else { throw ItemError.largePoint }
        return [SampleDraft([sample], base: base, content: order(value) + more, point.at)]
    }

    /// The number as text with the same sort order.
    private func order(_ value: Double) -> String {
        let bits = value.bitPattern
        let ordered = value.sign == .minus ? ~bits : bits | 1 << 63
        return ordered.hexadecimal(digits: 16)
    }

    private func pressure(_ point: Point, _ batch: inout PhoneBatch) throws(ItemError) -> [SampleDraft] {
        guard let systolic = point.members.number("systolic"), let diastolic = point.members.number("diastolic") else {
            throw ItemError("value", "systolic and diastolic are numbers")
        }
        let unit = PhoneNumbers.unit(units ?? "mmHg", of: .bloodPressureSystolic)
        var metadata = metadata(point)
        if grouping.bucket != nil { metadata.add("aggregation", text: "mean") }
        let time = PhoneTime.key(point.time.microseconds)
        let base = "\(time) bp \(grouping.bucket?.letter ?? "r \(PhoneKeys.hash(point.source))")"
        let made = try maker.pressure(systolic, diastolic, unit, base: base, point.time, end(of: point), metadata)
        if case .days = grouping {
            for (id, value) in [(TypeID.bloodPressureSystolic, systolic), (.bloodPressureDiastolic, diastolic)] {
                if let type = TypeRegistry.standard.type(id) { addDay(point, type, value, unit, &batch) }
            }
            return []
        }
        guard let samples = made else { throw ItemError.largePoint }
        return [SampleDraft(samples, base: base, content: order(systolic) + order(diastolic), point.at)]
    }

    // MARK: - Events

    private func event(
        _ point: Point, _ raw: Int, until end: Timestamp?, key: String, content: String, _ metadata: MetadataWriter
    ) throws(ItemError) -> SampleDraft {
        guard let sample = maker.category(metric.type.id, raw, key, point.time, end, metadata) else {
            throw ItemError.largePoint
        }
        return SampleDraft([sample], base: key, content: content, point.at)
    }

    private func standHour(
        _ point: Point, _ name: String, _ batch: inout PhoneBatch
    ) throws(ItemError) -> [SampleDraft] {
        let count = try quantity(point)
        guard count == 0 || count == 1 else {
            keep(point, name, "several hours in one point: choose the grouping Hours", &batch)
            return []
        }
        // The grouping does not matter here, because a stand hour always lasts an hour.
        return [
            try event(
                point, count == 1 ? 0 : 1, until: point.time.later(3_600_000_000), key: "\(point.start) h",
                content: "\(Int(count))", metadata(point))
        ]
    }

    private func end(of point: Point, unit: String) throws(ItemError) -> Timestamp {
        let count = try quantity(point)
        let spelled = TypeRegistry.standard.type(.appleExerciseTime).flatMap { PhoneUnits.unit(unit, of: $0) }
        guard let spelled, let from = try? HealthUnit(spelled), let seconds = try? from.convert(count, to: .second)
        else { throw ItemError("unit", "the length is a time, such as in min") }
        guard (0...604_800).contains(seconds) else { throw ItemError("value", "the length is from 0 to 7 days") }
        return point.time.later(Int64((seconds * 1_000_000).rounded()))
    }

    private func session(_ point: Point) throws(ItemError) -> SampleDraft {
        let end = try end(of: point, unit: units ?? "min")
        return try event(
            point, 0, until: end, key: "\(point.start) r \(PhoneKeys.hash(point.source))",
            content: PhoneTime.key(end.microseconds), metadata(point))
    }

    private func hygiene(_ point: Point) throws(ItemError) -> SampleDraft {
        let end = try end(of: point, unit: units ?? "s")
        var metadata = metadata(point)
        let word = point.members.text("value")
        metadata.add("completeness", text: word)
        return try event(
            point, 0, until: end, key: "\(point.start) r \(PhoneKeys.hash(point.source))",
            content: PhoneTime.key(end.microseconds) + (word ?? ""), metadata)
    }

    private func counters(_ point: Point) throws(ItemError) -> [SampleDraft] {
        let kinds: [(name: StaticString, isProtected: Bool?)] = [
            ("Unspecified", nil), ("Protection Used", true), ("Protection Not Used", false),
        ]
        var drafts: [SampleDraft] = []
        for (index, kind) in kinds.enumerated() {
            guard let counter = point.members.number(kind.name) else { continue }
            guard let count = Int(exactly: counter), (0...100).contains(count) else {
                throw ItemError("value", "\(kind.name) is a count from 0 to 100")
            }
            var metadata = metadata(point)
            metadata.add("sexualActivityProtectionUsed", truth: kind.isProtected)
            for number in 0..<count {
                let draft = try event(
                    point, 0, until: nil, key: "\(point.start) r \(PhoneKeys.hash(point.source))",
                    content: "\(index) \(1_000 + number)", metadata)
                drafts.append(draft)
            }
        }
        return drafts
    }
}

extension Timestamp {
    /// The time `length` microseconds later, on the same clock.
    func later(_ length: Int64) -> Timestamp {
        Timestamp(microseconds: microseconds + length, offsetMinutes: offsetMinutes)
    }
}

extension HealthUnit {
    static let second = (try? HealthUnit("s")) ?? .null
}
