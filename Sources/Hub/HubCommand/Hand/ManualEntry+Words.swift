import HealthText
import HubClient
import HubWire
import Samples

extension ManualEntry {
    /// Joins the words of a type's name: `body fat 24.5` gives `body fat` and `24.5`.
    static func typeAndValue(_ words: [String]) -> (type: String, value: [String]) {
        let names = (1...3).reversed().lazy.map { words.prefix($0) }
        let name = names.first { EverydayNames.type($0.joined(separator: " ")) != nil } ?? words.prefix(1)
        return (name.joined(separator: " "), Array(words.dropFirst(name.count)))
    }

    /// The moment at the end of a value: `yesterday 8am` in `82.1 yesterday 8am`.
    static func time(behind value: [String]) -> [String]? {
        value.indices.dropFirst().lazy.map { Array(value[$0...]) }
            .first { MomentArgument($0.joined(separator: " ")) != nil }
    }

    /// - Parameters:
    ///   - word: a type, or an activity.
    ///   - words: the words after it.
    ///   - reader: the person whose units apply to a plain number.
    init(_ word: String, _ words: [String], _ options: EntryOptions, for reader: DisplayPreferences? = nil)
        throws(Failure)
    {
        // Prefer the name of an activity to the name of a type.
        let known =
            TypeRegistry.standard.resolve(word)
            ?? (WorkoutActivity.meant(by: word) == nil ? EverydayNames.type(word) : nil)
        var details = options.details
        details.reader = reader
        if known?.id == .food {
            try self.init(food: words, details)
        } else if known?.kind == .workout {
            guard let name = words.first else {
                throw Failure(.usage, "which activity? Such as hub log swimming 30min")
            }
            try self.init(try ManualEntry.activity(name), words.dropFirst(), details)
        } else if known == nil, let activity = WorkoutActivity.meant(by: word) {
            try self.init(activity, words[...], details)
        } else if let known, let name = ManualEntry.onlyValue(of: known),
            words.isEmpty || MomentArgument.span(words.joined(separator: " ")) != nil
        {
            self = try Failure.entryValue { () throws(EntryError) in
                try ManualEntry(only: name, of: known.id, words, details)
            }
        } else {
            let type = try ManualEntry.known(word)
            // Sleep without a stage is HealthKit's "asleep, unspecified".
            let value = words.isEmpty && known?.id == .sleepAnalysis ? ["asleepUnspecified"] : words
            self = try Failure.entryValue { () throws(EntryError) in try ManualEntry(type, value, details) }
        }
    }

    /// The value of a category that has only one.
    private static func onlyValue(of type: HealthType) -> String? {
        let values = type.values.filter { !$0.isOldName }
        return type.kind == .category && values.count == 1 ? values[0].name : nil
    }

    private init(_ activity: WorkoutActivity, _ words: ArraySlice<String>, _ details: EntryDetails) throws(Failure) {
        self = try Failure.entryValue { () throws(EntryError) in try ManualEntry(activity, Array(words), details) }
    }

    private init(food words: [String], _ details: EntryDetails) throws(Failure) {
        // The name ends before the first word that begins with a digit; the first word always belongs to it.
        let name = words.prefix(1) + words.dropFirst().prefix { $0.first?.isNumber != true }
        let energy = words.dropFirst(name.count).joined(separator: " ")
        let food = name.joined(separator: " ")
        guard !food.allSatisfy(\.isWhitespace),
            energy.isEmpty == false || (try? Member(.dietaryEnergyConsumed, food)) == nil
        else {
            throw Failure(.usage, "the food's name is missing; it comes first: hub log food 'Ham Sandwich' 350kcal")
        }
        self = try Failure.entryValue { () throws(EntryError) in try ManualEntry(food: food, energy: energy, details) }
    }

    private static func activity(_ name: String) throws(Failure) -> WorkoutActivity {
        if let activity = WorkoutActivity.meant(by: name) { return activity }
        let hint = nearestName(to: name, among: WorkoutActivity.all.map(\.name)).map { "; did you mean \($0)?" } ?? ""
        throw Failure(.usage, "there is no activity \(Terminal.cut(name))\(hint)")
    }

    private static func known(_ word: String) throws(Failure) -> String {
        if let id = TypeArgument.resolved(word) { return id }
        let activity = nearestName(to: word, among: WorkoutActivity.all.map(\.name))
        throw Failure(
            .usage, TypeArgument.unknown(word) + (activity.map { "; or did you mean the activity \($0)?" } ?? ""))
    }
}
