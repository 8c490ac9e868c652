package import HubWire
package import Samples

/// An entry as a person typed it: a value, a food with its contents, or a workout with its measurements.
package struct ManualEntry: Sendable {
    /// A quantity of a food or a workout.
    package struct Member: Sendable {
        package let type: TypeID
        package let value: Double
        package let unit: String

        package init(_ type: TypeID, _ text: String, for reader: DisplayPreferences? = nil) throws(EntryError) {
            let words = text.split(separator: " ").map(String.init)
            guard
                case .quantity(let value, let unit) = try ValueArgument(
                    words, of: TypeRegistry.standard.type(type), for: reader)
            else { throw EntryError("\"\(EntryError.cut(text))\" is not a number with a unit") }
            (self.type, self.value, self.unit) = (type, value, unit)
        }
    }

    /// The type's id, or its name if only plugins know the type.
    package let type: String
    package let value: ValueArgument?
    package private(set) var members: [Member] = []
    /// HealthKit's name of the food.
    private var foodType: String?
    /// The duration of a workout in seconds, without pauses.
    package private(set) var seconds: Double?
    private let details: EntryDetails

    /// Creates an entry with a value of a type.
    ///
    /// - Parameters:
    ///   - name: the type's id, or its name if only plugins know the type.
    ///   - words: the value, with its unit.
    package init(_ name: String, _ words: [String], _ details: EntryDetails) throws(EntryError) {
        (type, self.details) = (name, details)
        try details.refuseMembers(of: type)
        value = try ValueArgument(words, of: TypeRegistry.standard.resolve(name), for: details.reader)
    }

    /// Creates an entry of a type with only one value, such as a mindful session, with its duration.
    ///
    /// - Parameter words: `10min`; empty if the entry's times give the duration.
    package init(only name: String, of type: TypeID, _ words: [String], _ details: EntryDetails) throws(EntryError) {
        (self.type, value, self.details) = (type.rawValue, .name(name), details)
        try details.refuseMembers(of: type.rawValue)
        seconds = try words.isEmpty ? nil : ManualEntry.seconds(words)
    }

    /// Creates a food, for which the energy alone is sufficient.
    package init(food: String, energy: String, _ details: EntryDetails) throws(EntryError) {
        (foodType, self.details) = (food, details)
        members =
            try (energy.isEmpty ? [] : [Member(.dietaryEnergyConsumed, energy, for: details.reader)]) + details.food()
        guard let first = members.first else {
            throw EntryError("how much of what? Such as '\(EntryError.cut(food))' 350kcal, or with its protein")
        }
        // Store energy alone as in HealthKit's example: one sample with a name.
        if members.count == 1, first.type == .dietaryEnergyConsumed {
            type = first.type.rawValue
            value = .quantity(first.value, unit: first.unit)
            members = []
        } else {
            (type, value) = (TypeID.food.rawValue, nil)
        }
    }

    /// Creates a workout.
    ///
    /// - Parameter words: the duration: `30min`, `1h 15min`; empty if the entry's times give it. They may include a distance in kilometres, miles
    ///   or yards; `30m` may be minutes.
    package init(_ activity: WorkoutActivity, _ words: [String], _ details: EntryDetails) throws(EntryError) {
        var (words, details) = (words, details)
        if details.distance == nil, let place = words.firstIndex(where: ManualEntry.isDistance) {
            details.distance = words.remove(at: place)
        }
        self.details = details
        (type, value) = (TypeID.workout.rawValue, .name(activity.name))
        seconds = try words.isEmpty ? nil : ManualEntry.seconds(words)
        members = try details.workout(activity)
    }

    private static func seconds(_ words: [String]) throws(EntryError) -> Double {
        let text = words.joined(separator: " ")
        let hint = "expected how long, such as 30min or 1h 15min"
        guard case .quantity(let value, let unit)? = try? ValueArgument(words, of: .some(ManualEntry.minutes)),
            let seconds = try? HealthUnit(unit).convert(value, to: HealthUnit("s")), seconds > 0, seconds <= 31_536_000
        else { throw EntryError("\"\(EntryError.cut(text))\": \(hint)") }
        return seconds
    }

    private static func isDistance(_ word: String) -> Bool {
        guard let member = try? Member(.distanceWalkingRunning, word) else { return false }
        return ["km", "mi", "yd"].contains(member.unit)
    }

    private static let minutes: HealthType = {
        guard let type = TypeRegistry.standard.type(.appleExerciseTime) else { preconditionFailure("it is standard") }
        return type
    }()

    /// The metadata of the entry and its members as a JSON object; `nil` if there is none.
    package func metadata() throws(EntryError) -> String? {
        let food = foodType.map { [("foodType", ManualEntry.quoted($0))] } ?? []
        let members = food + (try details.metadata().map { ($0.key, $0.json) })
        guard Set(members.map(\.0)).count == members.count else { throw EntryError("each key once", field: "metadata") }
        return members.isEmpty
            ? nil : "{\(members.map { "\(ManualEntry.quoted($0.0)):\($0.1)" }.joined(separator: ","))}"
    }

    static func quoted(_ text: String) -> String { RawJSON.string(text).text }
}

/// The times of an entry.
package struct EntryTimes: Sendable {
    package var start: Timestamp
    package var end: Timestamp?
    /// The zone whose clock was needed to determine the start.
    package var zone: String?
    /// Whether ``start`` is the stated start; otherwise it is the end of a workout without a stated end.
    package var isStart: Bool
    /// Whether both ends were stated; then the interval may include a workout's pauses.
    package var isInterval: Bool

    /// Creates the times without checking them.
    package init(_ start: Timestamp, zone: String?, end: Timestamp?, isStart: Bool, isInterval: Bool) {
        (self.start, self.zone, self.end) = (start, zone, end)
        (self.isStart, self.isInterval) = (isStart, isInterval)
    }
}

extension ManualEntry {
    /// The arguments of the hub's command `log` (Protocol §8.3).
    ///
    /// - Parameters:
    ///   - clock: the person's clock.
    ///   - key: the same key identifies the same entry. A default key is made up, so that a message sent twice is one entry.
    /// - Throws: ``EntryError`` for a workout without a duration.
    package func arguments(
        _ times: EntryTimes, of person: String, by clock: PersonClock, note: String?, key: String?
    ) throws(EntryError) -> [String: SettingValue] {
        let (start, end) = try interval(times, by: clock)
        let instant = Timestamp(microseconds: start.microseconds).text
        let key = key ?? "\(instant) \(UInt64.random(in: 0..<1_000_000_000))"
        var arguments: [String: SettingValue] = [
            "type": .string(type), "start": .string(start.text), "person": .string(person), "key": .string(key),
        ]
        let texts = [("end", end?.text), ("zone", times.zone), ("note", note), ("metadata", try metadata())]
        for (name, text) in texts { arguments[name] = text.map(SettingValue.string) }
        if times.isInterval, type == TypeID.workout.rawValue {
            arguments["duration"] = seconds.map(SettingValue.number)
        }
        value?.add(to: &arguments)
        if !members.isEmpty {
            arguments["members"] = .list(members.map { .string($0.type.rawValue) })
            arguments["values"] = .list(members.map { .number($0.value) })
            arguments["units"] = .list(members.map { .string($0.unit) })
        }
        return arguments
    }

    private func interval(_ times: EntryTimes, by clock: PersonClock) throws(EntryError) -> (Timestamp, Timestamp?) {
        let isWorkout = type == TypeID.workout.rawValue
        if times.isInterval, seconds != nil, !isWorkout {
            throw EntryError("its start and end already give its duration; leave one of the three out")
        }
        guard isWorkout || seconds != nil, times.end == nil else { return (times.start, times.end) }
        guard let seconds else {
            throw EntryError(
                "how long did it last? Such as 30min, or its beginning and its end", remedy: ["from", "to"])
        }
        let microseconds = Int64((seconds * 1_000_000).rounded())
        // If the start was given with an offset, the other end gets the same offset.
        func moved(by microseconds: Int64) -> Timestamp {
            let moment = times.start.microseconds + microseconds
            return times.zone == nil
                ? Timestamp(microseconds: moment, offsetMinutes: times.start.offsetMinutes) : clock.local(moment)
        }
        return times.isStart ? (times.start, moved(by: microseconds)) : (moved(by: -microseconds), times.start)
    }
}

extension ValueArgument {
    /// Adds the value under the argument names of `log` and `edit`.
    package func add(to arguments: inout [String: SettingValue]) {
        switch self {
        case .quantity(let number, let unit): (arguments["value"], arguments["unit"]) = (.number(number), .string(unit))
        case .several(let numbers, let unit):
            (arguments["values"], arguments["unit"]) = (.list(numbers.map { .number($0) }), .string(unit))
        case .name(let name): arguments["name"] = .string(name)
        }
    }
}
