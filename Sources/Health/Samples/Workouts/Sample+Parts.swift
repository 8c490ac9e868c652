package import JSON

/// Accessors for the members of workouts, routes and activity summaries, which are stored among the sample's extra members.
extension Sample {
    /// The name of the member for the sample's type; `nil` for other types.
    package var partName: String? {
        if case .workout = value { return "workout" }
        return type == .workoutRoute ? "route" : type == .activitySummary ? ActivitySummary.name : nil
    }

    /// The source's details of a workout besides activity and interval; `nil` for other types and if the source has none.
    public var workout: WorkoutParts? {
        get {
            guard case .workout = value, let part else { return nil }
            // A person may have shortened the interval since the check, so do not check it here.
            return try? WorkoutParts(part, seconds: .infinity, .standard)
        }
        set { extra = JSONObject.setting("workout", to: newValue?.json, in: extra) }
    }

    /// The points of a `workoutRoute`, in order of time; `nil` for other types.
    public var route: [RoutePoint]? {
        get { type == .workoutRoute ? part.flatMap { try? RoutePoint.list($0) } : nil }
        set { extra = JSONObject.setting("route", to: newValue.map { .list($0.map(\.json)) }, in: extra) }
    }

    /// The figures of an `activitySummary`, with their goals; `nil` for other types.
    public var activitySummary: ActivitySummary? {
        get { type == .activitySummary ? part.flatMap { try? ActivitySummary($0, .standard) } : nil }
        set { extra = JSONObject.setting(ActivitySummary.name, to: newValue?.json, in: extra) }
    }

    /// The day of an `activitySummary`, taken from its key; `nil` for other types.
    public var activitySummaryDate: LocalDate? { type == .activitySummary ? LocalDate(key.text) : nil }

    /// Seconds of a workout without its pauses; `nil` for other types.
    public var workoutDuration: Double? {
        guard case .workout = value else { return nil }
        return (workout ?? WorkoutParts()).duration(from: start, to: end)
    }

    private var part: JSONTree? { partName.flatMap { extra?.separating($0)?.value } }

    /// Throws the first error in the member.
    package func checkParts(_ registry: TypeRegistry) throws(PartError) {
        if type == .activitySummary { return try checkSummary(registry) }
        guard let part else { return }
        if case .workout = value {
            let seconds = Double(end.microseconds - start.microseconds) / 1_000_000
            _ = try WorkoutParts(part, seconds: seconds, registry)
        } else {
            _ = try RoutePoint.list(part)
        }
    }

    private func checkSummary(_ registry: TypeRegistry) throws(PartError) {
        guard let part else { throw PartError(.value, "\(ActivitySummary.name): missing") }
        _ = try ActivitySummary(part, registry)
        guard zone != nil || start.offsetMinutes != nil else {
            throw PartError(.time, "start: expected the local clock of the day, by an offset or by zone")
        }
        guard let day = LocalDay.of(start, sampleZone: zone, personZone: "UTC") else {
            throw PartError(.time, "zone: expected one of the IANA time zones, such as Europe/Berlin")
        }
        guard key.text == day.text else {
            throw PartError(
                .key, "key: of an activitySummary expected the day of start on its local clock: \(day.text)")
        }
        guard end.microseconds - start.microseconds <= ActivitySummary.longestDay else {
            throw PartError(.time, "end: expected the end of the day of start")
        }
    }
}

extension JSONObject {
    /// Splits the object into the member `name` and the other members, byte for byte; `nil` if the member does not exist.
    package func separating(_ name: String) -> (text: String, value: JSONTree?, rest: JSONObject?)? {
        guard text.contains("\"\(name)\":") else { return nil }
        var found: (text: String, value: JSONTree?)?
        var rest: [String] = []
        Array(text.utf8).withUnsafeBytes { bytes in
            guard var scanner = try? JSONScanner(bytes), scanner.take(UInt8(ascii: "{")) else { return }
            while let key = try? scanner.name(), let value = try? scanner.value() {
                let text = JSONText.compact(value, in: bytes)
                if found == nil, JSONText.string(key, in: bytes) == name {
                    found = (text, JSONTree(Array(text.utf8)))
                } else {
                    rest.append("\(JSONText.compact(key, in: bytes)):\(text)")
                }
                guard scanner.take(UInt8(ascii: ",")) else { return }
            }
        }
        return found.map { found in
            (found.text, found.value, rest.isEmpty ? nil : JSONObject(trusted: "{\(rest.joined(separator: ","))}"))
        }
    }

    /// The object with the member set to `value` and placed last; without the member if `value` is `nil`.
    static func setting(_ name: String, to value: JSONTree?, in object: JSONObject?) -> JSONObject? {
        let separated = object?.separating(name)
        let rest = separated.map(\.rest) ?? object
        guard let value else { return rest }
        let others = rest.map { String($0.text.dropFirst().dropLast()) + "," } ?? ""
        return JSONObject(trusted: "{\(others == "," ? "" : others)\"\(name)\":\(value.json)}")
    }
}
