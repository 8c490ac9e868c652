/// The activity of a workout, such as running or swimming.
public struct WorkoutActivity: Hashable, Sendable {
    /// HealthKit's raw number.
    public let raw: Int
    /// The name on the bus: `running`.
    public let name: String
    /// HealthKit's constant, as exports spell it.
    public let healthKitName: String

    /// Every activity of HealthKit, sorted by raw number.
    public static let all: [WorkoutActivity] = TableReader.lines(of: workoutActivityTable).map { fields in
        guard fields.count == 3, let raw = Int(fields[0]) else {
            preconditionFailure("a line of the generated workout table is malformed: \(fields)")
        }
        return WorkoutActivity(raw: raw, name: fields[1], healthKitName: fields[2])
    }

    private static let byRaw = Dictionary(uniqueKeysWithValues: all.map { ($0.raw, $0) })
    private static let byName = Dictionary(
        uniqueKeysWithValues: all.map { ($0.name, $0) } + all.map { ($0.healthKitName, $0) })

    /// The activity with that raw number.
    public static func activity(raw: Int) -> WorkoutActivity? { byRaw[raw] }

    /// The activity with that name or HealthKit constant.
    public static func activity(named name: String) -> WorkoutActivity? { byName[name] }

    /// HealthKit's type of distance for the activity; `nil` if there is none.
    public var distance: TypeID? {
        switch name {
        case "walking", "running", "hiking", "trackAndField": .distanceWalkingRunning
        case "swimming": .distanceSwimming
        case "cycling", "handCycling": .distanceCycling
        case "wheelchairWalkPace", "wheelchairRunPace": .distanceWheelchair
        case "downhillSkiing", "snowboarding": .distanceDownhillSnowSports
        case "crossCountrySkiing": .distanceCrossCountrySkiing
        case "rowing": .distanceRowing
        case "paddleSports": .distancePaddleSports
        case "skatingSports": .distanceSkatingSports
        default: nil
        }
    }
}
