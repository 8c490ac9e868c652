package import JSON

/// A member that only the samples of one kind or type have, by its name.
///
/// This is the one table of the parts: the codec, the reader of plain records and the tests of the schemas ask it. A sample has at most one part, and stores
/// it among its extra members.
package enum SamplePart: String, CaseIterable, Sendable {
    case workout, route, activitySummary

    /// The part that samples of a kind and type have; `nil` if they have none.
    package init?(_ kind: SampleKind, _ type: TypeID) {
        if kind == .workout {
            self = .workout
        } else if type == .workoutRoute {
            self = .route
        } else if type == .activitySummary {
            self = .activitySummary
        } else {
            return nil
        }
    }

    /// Whether only the size of the record limits it, and not the bound of extra members (R6.19).
    package var isLarge: Bool {
        switch self {
        case .workout, .route, .activitySummary: true
        }
    }
}

/// Accessors for the parts.
extension Sample {
    /// The names of all parts.
    package static let partNames = SamplePart.allCases.map(\.rawValue)

    /// The name of the part that samples of this kind and type have; `nil` if they have none.
    package var partName: String? { part?.rawValue }

    private var part: SamplePart? { SamplePart(value.kind, type) }

    /// The source's details of a workout besides activity and interval; `nil` for other types and if the source has none.
    public var workout: WorkoutParts? {
        // A person may have shortened the interval since the check, so do not check it here.
        get { json(of: .workout).flatMap { try? WorkoutParts($0, seconds: .infinity, .standard) } }
        set { setPart(.workout, newValue?.json) }
    }

    /// The points of a `workoutRoute`, in order of time; `nil` for other types.
    public var route: [RoutePoint]? {
        get { json(of: .route).flatMap { try? RoutePoint.list($0) } }
        set { setPart(.route, newValue.map { .list($0.map(\.json)) }) }
    }

    /// The figures of an `activitySummary`, with their goals; `nil` for other types.
    public var activitySummary: ActivitySummary? {
        get { json(of: .activitySummary).flatMap { try? ActivitySummary($0, .standard) } }
        set { setPart(.activitySummary, newValue?.json) }
    }

    /// The day of an `activitySummary`, taken from its key; `nil` for other types.
    public var activitySummaryDate: LocalDate? { type == .activitySummary ? LocalDate(key.text) : nil }

    /// Seconds of a workout without its pauses; `nil` for other types.
    public var workoutDuration: Double? {
        guard case .workout = value else { return nil }
        return (workout ?? WorkoutParts()).duration(from: start, to: end)
    }

    private func json(of part: SamplePart) -> JSONTree? {
        self.part == part ? extra?.separating(part.rawValue)?.value : nil
    }

    private mutating func setPart(_ part: SamplePart, _ value: JSONTree?) {
        extra = JSONObject.setting(part.rawValue, to: value, in: extra)
    }

    /// Throws the first error in the part.
    package func checkParts(_ registry: TypeRegistry) throws(PartError) {
        guard let part else { return }
        let value = json(of: part)
        switch part {
        case .workout:
            guard let value else { return }
            let seconds = Double(end.microseconds - start.microseconds) / 1_000_000
            _ = try WorkoutParts(value, seconds: seconds, registry)
        case .route:
            guard let value else { return }
            _ = try RoutePoint.list(value)
        case .activitySummary: try checkSummary(value, registry)
        }
    }

    private func checkSummary(_ value: JSONTree?, _ registry: TypeRegistry) throws(PartError) {
        guard let value else { throw PartError(.value, "\(SamplePart.activitySummary.rawValue): missing") }
        _ = try ActivitySummary(value, registry)
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
