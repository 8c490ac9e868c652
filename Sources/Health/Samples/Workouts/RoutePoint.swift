import JSON

/// A person's position at a time: an element of the member `route` of a `workoutRoute` (Docs/Samples.md, Workouts).
public struct RoutePoint: Hashable, Sendable {
    /// The time at that position; no earlier than that of the point before it.
    public var time: Timestamp
    /// Degrees north and east.
    public var latitude, longitude: Double
    /// Metres above sea level.
    public var altitude: Double?
    /// Metres.
    public var horizontalAccuracy, verticalAccuracy: Double?
    /// Metres per second.
    public var speed: Double?
    /// Degrees clockwise from north.
    public var course: Double?

    /// Creates a position at a time.
    public init(
        _ time: Timestamp, latitude: Double, longitude: Double, altitude: Double? = nil,
        horizontalAccuracy: Double? = nil, verticalAccuracy: Double? = nil, speed: Double? = nil, course: Double? = nil
    ) {
        (self.time, self.latitude, self.longitude, self.altitude) = (time, latitude, longitude, altitude)
        (self.horizontalAccuracy, self.verticalAccuracy) = (horizontalAccuracy, verticalAccuracy)
        (self.speed, self.course) = (speed, course)
    }

    /// Reads and checks the member `route` of a record: points in order of time.
    static func list(_ value: JSONTree) throws(PartError) -> [RoutePoint] {
        var points: [RoutePoint] = []
        for reader in try PartReader(value: value, place: "route").elements(most: 10_000) {
            let point = try RoutePoint(reader)
            if let last = points.last, last.time.microseconds > point.time.microseconds {
                throw PartError(.time, "\(reader.place).time: is before that of the point before it")
            }
            points.append(point)
        }
        return points
    }

    private init(_ reader: PartReader) throws(PartError) {
        let members = try reader.members(
            [
                "time", "latitude", "longitude", "altitude", "horizontalAccuracy", "verticalAccuracy", "speed",
                "course",
            ], required: ["time", "latitude", "longitude"])
        func number(_ name: String, _ range: ClosedRange<Double>, _ unit: String) throws(PartError) -> Double? {
            try members[name]?.number(in: range, unit)
        }
        guard let time = try members["time"]?.time() else { throw reader.fault("a time", .time) }
        self.init(
            time, latitude: try number("latitude", -90...90, "degrees") ?? 0,
            longitude: try number("longitude", -180...180, "degrees") ?? 0,
            altitude: try number("altitude", -12_000...100_000, "m"),
            horizontalAccuracy: try number("horizontalAccuracy", 0...(.infinity), "m"),
            verticalAccuracy: try number("verticalAccuracy", 0...(.infinity), "m"),
            speed: try number("speed", 0...100_000, "m/s"), course: try number("course", 0...360, "degrees"))
    }

    var json: JSONTree {
        .object(
            [
                .init("time", text: time.text), .init("latitude", number: latitude),
                .init("longitude", number: longitude),
            ] + JSONTree.Member.optional("altitude", number: altitude)
                + JSONTree.Member.optional("horizontalAccuracy", number: horizontalAccuracy)
                + JSONTree.Member.optional("verticalAccuracy", number: verticalAccuracy)
                + JSONTree.Member.optional("speed", number: speed) + JSONTree.Member.optional("course", number: course))
    }
}
