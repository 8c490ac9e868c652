import HubClient
import HubSettings
import HubWire
import Samples

/// What a person enters, as they typed it: a value, a food with what it consists of, or a workout with what was measured.
struct HandEntry {
    /// A quantity of a food or a workout.
    struct Member {
        let type: TypeID
        let value: Double
        let unit: String

        init(_ type: TypeID, _ text: String) throws(Failure) {
            let words = text.split(separator: " ").map(String.init)
            guard case .quantity(let value, let unit) = try ValueArgument(words, of: TypeRegistry.standard.type(type))
            else { throw Failure(.usage, "\"\(Terminal.cut(text))\" is not a number with a unit") }
            (self.type, self.value, self.unit) = (type, value, unit)
        }
    }

    /// The type's id, or the name of one that only plugins know.
    let type: String
    let value: ValueArgument?
    private(set) var members: [Member] = []
    /// HealthKit's name of what was eaten.
    private var foodType: String?
    /// How long a workout lasted, without pauses.
    private(set) var seconds: Double?

    /// - Parameters:
    ///   - word: a type, or an activity.
    ///   - words: what follows it.
    init(_ word: String, _ words: [String], _ options: EntryOptions) throws(Failure) {
        let known = TypeRegistry.standard.resolve(word)
        if known?.id == .food {
            try self.init(food: words, options)
        } else if known?.kind == .workout {
            guard let name = words.first else {
                throw Failure(.usage, "which activity? Such as hub log swimming 30min")
            }
            try self.init(try HandEntry.activity(name), Array(words.dropFirst()), options)
        } else if known == nil, let activity = WorkoutActivity.meant(by: word) {
            try self.init(activity, words, options)
        } else {
            try self.init(known: word, known, words, options)
        }
    }

    private init(
        known word: String, _ known: HealthType?, _ words: [String], _ options: EntryOptions
    ) throws(Failure) {
        type = try HandEntry.known(word)
        try options.refuseMembers(of: type)
        value = try ValueArgument(words, of: known)
    }

    private init(food words: [String], _ options: EntryOptions) throws(Failure) {
        // The name goes on to the first word that begins with a number; the first word belongs to it in any case.
        let name = words.prefix(1) + words.dropFirst().prefix { $0.first?.isNumber != true }
        let energy = words.dropFirst(name.count).joined(separator: " ")
        foodType = name.joined(separator: " ")
        guard let foodType, !foodType.allSatisfy(\.isWhitespace),
            energy.isEmpty == false || (try? Member(.dietaryEnergyConsumed, foodType)) == nil
        else { throw Failure(.usage, "what was eaten? Its name comes first: hub log food 'Ham Sandwich' 350kcal") }
        members = try (energy.isEmpty ? [] : [Member(.dietaryEnergyConsumed, energy)]) + options.food()
        guard let first = members.first else {
            throw Failure(
                .usage, "how much of what? Such as hub log food '\(Terminal.cut(foodType))' 350kcal --protein 12g")
        }
        // Energy alone is what HealthKit's own example makes of it: one sample with a name.
        if members.count == 1, first.type == .dietaryEnergyConsumed {
            type = first.type.rawValue
            value = .quantity(first.value, unit: first.unit)
            members = []
        } else {
            (type, value) = (TypeID.food.rawValue, nil)
        }
    }

    private init(_ activity: WorkoutActivity, _ words: [String], _ options: EntryOptions) throws(Failure) {
        (type, value) = (TypeID.workout.rawValue, .name(activity.name))
        seconds = try words.isEmpty ? nil : HandEntry.seconds(words)
        members = try options.workout(activity)
    }

    private static func activity(_ name: String) throws(Failure) -> WorkoutActivity {
        if let activity = WorkoutActivity.meant(by: name) { return activity }
        let hint = nearestName(to: name, among: WorkoutActivity.all.map(\.name)).map { "; did you mean \($0)?" } ?? ""
        throw Failure(.usage, "there is no activity \(Terminal.cut(name))\(hint)")
    }

    private static func known(_ word: String) throws(Failure) -> String {
        guard TypeArgument.resolved(word) == nil else { return word }
        let activity = nearestName(to: word, among: WorkoutActivity.all.map(\.name))
        throw Failure(.usage, TypeArgument.unknown(word) + (activity.map { ", or the activity \($0)?" } ?? ""))
    }

    /// `30min`, `1h 15min`.
    private static func seconds(_ words: [String]) throws(Failure) -> Double {
        let text = words.joined(separator: " ")
        let hint = "expected how long, such as 30min or 1h 15min"
        guard case .quantity(let value, let unit)? = try? ValueArgument(words, of: .some(HandEntry.minutes)),
            let seconds = try? HealthUnit(unit).convert(value, to: HealthUnit("s")), seconds > 0, seconds <= 31_536_000
        else { throw Failure(.usage, "\"\(Terminal.cut(text))\": \(hint)") }
        return seconds
    }

    private static let minutes: HealthType = {
        guard let type = TypeRegistry.standard.type(.appleExerciseTime) else { preconditionFailure("it is standard") }
        return type
    }()

    /// What is said of it besides, and of its members: a JSON object; `nil` where that is nothing.
    func metadata(_ options: EntryOptions) throws(Failure) -> String? {
        let food = foodType.map { [("foodType", HandEntry.quoted($0))] } ?? []
        let members = food + (try options.metadata().map { ($0.key, $0.json) })
        guard Set(members.map(\.0)).count == members.count else {
            throw Failure(.usage, "--metadata: each key once")
        }
        return members.isEmpty
            ? nil : "{\(members.map { "\(HandEntry.quoted($0.0)):\($0.1)" }.joined(separator: ","))}"
    }

    static func quoted(_ text: String) -> String { RawJSON.string(text).text }
}
