import JSON

extension WorkoutParts {
    /// Maximum number of each, in a workout and in each of its activities.
    static let most = (events: 1_000, totals: 200, activities: 100)

    /// Reads and checks the member `workout` of a record.
    ///
    /// - Parameter seconds: the time from the workout's start to its end.
    init(_ value: JSONTree, seconds: Double, _ registry: TypeRegistry) throws(PartError) {
        let members = try PartReader(value: value, place: "workout")
            .members(["duration", "totals", "events", "activities"])
        var activities: [Activity] = []
        for reader in try members["activities"]?.elements(most: WorkoutParts.most.activities) ?? [] {
            activities.append(try Activity(reader, registry))
        }
        self.init(
            duration: try WorkoutParts.duration(members["duration"], seconds),
            totals: try Total.list(members["totals"], registry), events: try Event.list(members["events"]),
            activities: activities)
    }

    /// A duration may exceed the interval by a second, because some services truncate times to whole seconds.
    fileprivate static func duration(_ reader: PartReader?, _ seconds: Double?) throws(PartError) -> Double? {
        try reader?.number(in: 0...(seconds.map { $0 + 1 } ?? .infinity), "seconds without pauses")
    }

    /// The parts as they are written in a record.
    var json: JSONTree {
        .object(
            JSONTree.Member.optional("duration", number: duration)
                + JSONTree.Member.list("totals", totals) { $0.json }
                + JSONTree.Member.list("events", events) { $0.json }
                + JSONTree.Member.list("activities", activities) { $0.json })
    }
}

extension WorkoutParts.Total {
    fileprivate static func list(
        _ reader: PartReader?, _ registry: TypeRegistry
    ) throws(PartError) -> [WorkoutParts.Total] {
        var totals: [WorkoutParts.Total] = []
        for reader in try reader?.elements(most: WorkoutParts.most.totals) ?? [] {
            let total = try WorkoutParts.Total(reader, registry)
            guard !totals.contains(where: { $0.type == total.type && $0.statistic == total.statistic }) else {
                throw reader.fault("each type and statistic once")
            }
            totals.append(total)
        }
        return totals
    }

    private init(_ reader: PartReader, _ registry: TypeRegistry) throws(PartError) {
        let members = try reader.members(["type", "statistic", "value", "unit"], required: ["type", "value", "unit"])
        let name = try members["type"]?.text() ?? ""
        let type = registry.resolve(name)
        guard type?.kind == .quantity || type == nil && SampleKind(healthKitIdentifier: name) == .quantity,
            let id = type?.id ?? (try? TypeID(name))
        else { throw PartError(.value, "\(reader.place).type: expected a quantity type, such as activeEnergyBurned") }
        let isCumulative = type.map { $0.aggregation == .cumulative }
        let allowed = Statistic.allCases.filter { isCumulative == nil || ($0 == .sum) == isCumulative }
        let word = try members["statistic"]?.text()
        guard let statistic = word.map({ Statistic(rawValue: $0) }) ?? (isCumulative == true ? .sum : nil),
            allowed.contains(statistic)
        else {
            throw PartError(
                .value,
                "\(reader.place).statistic: of \(id) expected \(allowed.map(\.rawValue).joined(separator: ", "))")
        }
        let value =
            try members["value"]?.number(in: -Double.greatestFiniteMagnitude...Double.greatestFiniteMagnitude, "") ?? 0
        let unit = try members["unit"]?.text() ?? ""
        self.init(id, value, unit: unit, statistic: statistic)
        try check(reader.place, type)
    }

    private func check(_ place: String, _ type: HealthType?) throws(PartError) {
        let number: Double?
        do throws(UnitError) {
            number = try type?.canonicalValue(value, unit: unit)
            if type == nil { _ = try HealthUnit(unit) }
        } catch {
            let expected = type?.unit.map { "; expected \"\($0)\" or a unit of the same dimension" } ?? ""
            throw PartError(.unit, "\(place).unit: \(error)\(expected)")
        }
        guard let type, let number,
            let objection = type.limits?.objection(to: number, of: type.id, unit: type.unit ?? "")
        else { return }
        throw PartError(.value, "\(place).\(objection)")
    }

    fileprivate var json: JSONTree {
        .object([
            .init("type", text: type.rawValue), .init("statistic", text: statistic.rawValue),
            .init("value", number: value), .init("unit", text: unit),
        ])
    }
}

extension WorkoutParts.Event {
    fileprivate static func list(_ reader: PartReader?) throws(PartError) -> [WorkoutParts.Event] {
        var events: [WorkoutParts.Event] = []
        for reader in try reader?.elements(most: WorkoutParts.most.events) ?? [] {
            events.append(try WorkoutParts.Event(reader))
        }
        return events
    }

    private init(_ reader: PartReader) throws(PartError) {
        let members = try reader.members(["type", "start", "end", "metadata"], required: ["type", "start"])
        let (name, raw) = (members["type"]?.value.text, members["type"]?.value.integer)
        guard let kind = Kind.allCases.first(where: { "\($0)" == name || $0.rawValue == raw }) else {
            let names = Kind.allCases.map { "\($0.rawValue) \($0)" }.joined(separator: ", ")
            throw PartError(.value, "\(reader.place).type: expected one of \(names)")
        }
        guard let start = try members["start"]?.time() else { throw reader.fault("a start", .time) }
        let end = try members["end"]?.time()
        if let end, end.microseconds < start.microseconds {
            throw PartError(.time, "\(reader.place).end: is before start")
        }
        self.init(kind, at: start, until: end, metadata: try members["metadata"]?.metadata())
    }

    fileprivate var json: JSONTree {
        .object(
            [.init("type", text: "\(kind)"), .init("start", text: start.text)]
                + (end == start ? [] : [.init("end", text: end.text)]) + JSONTree.Member.metadata(metadata))
    }
}

extension WorkoutParts.Activity {
    fileprivate init(_ reader: PartReader, _ registry: TypeRegistry) throws(PartError) {
        let members = try reader.members(
            ["activity", "start", "end", "duration", "totals", "events", "metadata"], required: ["activity", "start"])
        let named = members["activity"]?.value
        let found =
            named?.text.flatMap { WorkoutActivity.activity(named: $0) }
            ?? named?.integer.flatMap { WorkoutActivity.activity(raw: $0) }
        guard let found else {
            throw PartError(
                .value, "\(reader.place).activity: expected the name of an activity, such as running, or its number")
        }
        guard let start = try members["start"]?.time() else { throw reader.fault("a start", .time) }
        let end = try members["end"]?.time()
        if let end, end.microseconds < start.microseconds {
            throw PartError(.time, "\(reader.place).end: is before start")
        }
        let seconds = end.map { Double($0.microseconds - start.microseconds) / 1_000_000 }
        self.init(
            found, from: start, to: end, duration: try WorkoutParts.duration(members["duration"], seconds),
            totals: try WorkoutParts.Total.list(members["totals"], registry),
            events: try WorkoutParts.Event.list(members["events"]), metadata: try members["metadata"]?.metadata())
    }

    fileprivate var json: JSONTree {
        .object(
            [.init("activity", text: activity.name), .init("start", text: start.text)]
                + (end.map { [.init("end", text: $0.text)] } ?? [])
                + JSONTree.Member.optional("duration", number: duration)
                + JSONTree.Member.list("totals", totals) { $0.json }
                + JSONTree.Member.list("events", events) { $0.json }
                + JSONTree.Member.metadata(metadata))
    }
}
