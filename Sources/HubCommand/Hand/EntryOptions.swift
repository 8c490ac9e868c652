import HealthText
import ArgumentParser
import HubClient
import Samples

/// What else a person says of a food or a workout, and more about any record.
struct EntryOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Of a workout, the energy burned; of a food, that eaten.", valueName: "value"))
    var energy: String?
    @Option(help: ArgumentHelp("Of a workout.", valueName: "value"))
    var distance: String?
    @Option(help: ArgumentHelp("Of a food; so are the next ones.", valueName: "value"))
    var protein: String?
    @Option(help: ArgumentHelp(valueName: "value"))
    var carbohydrates: String?
    @Option(help: ArgumentHelp(valueName: "value"))
    var fat: String?
    @Option(help: ArgumentHelp(valueName: "value"))
    var sugar: String?
    @Option(help: ArgumentHelp(valueName: "value"))
    var fiber: String?
    @Option(
        name: .customLong("with"),
        help: ArgumentHelp(
            "Any other quantity of a food or a workout; may be repeated.", valueName: "TYPE VALUE"))
    var others: [String] = []
    @Option(
        name: .customLong("metadata"),
        help: ArgumentHelp(
            "More about the record, such as insulinDeliveryReason=bolus; may be repeated.", valueName: "KEY=VALUE"))
    var facts: [String] = []

    /// The options that stand for a type, with what was typed.
    private func named(energy type: TypeID) -> [(type: TypeID, option: String, text: String)] {
        [
            (type, "energy", energy), (.dietaryProtein, "protein", protein),
            (.dietaryCarbohydrates, "carbohydrates", carbohydrates), (.dietaryFatTotal, "fat", fat),
            (.dietarySugar, "sugar", sugar), (.dietaryFiber, "fiber", fiber),
        ].compactMap { type, option, text in text.map { (type, option, $0) } }
    }

    /// What a food consists of.
    func food() throws(Failure) -> [HandEntry.Member] {
        if distance != nil { throw Failure(.usage, "--distance: a food has none") }
        return try members(named(energy: .dietaryEnergyConsumed).map { ($0.type, $0.text) })
    }

    /// What was measured during a workout.
    func workout(_ activity: WorkoutActivity) throws(Failure) -> [HandEntry.Member] {
        var words: [(TypeID, String)] = []
        for (type, option, text) in named(energy: .activeEnergyBurned) {
            guard option == "energy" else { throw Failure(.usage, "--\(option): a workout has none; log it as a food") }
            words.append((type, text))
        }
        if let distance {
            guard let type = activity.distance else {
                throw Failure(
                    .usage,
                    "--distance: HealthKit has no distance of \(activity.name); say which it is, such as --with 'distanceWalkingRunning \(distance)'"
                )
            }
            words.append((type, distance))
        }
        return try members(words)
    }

    private func members(_ words: [(type: TypeID, text: String)]) throws(Failure) -> [HandEntry.Member] {
        var all = words
        for text in others {
            let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
            guard let type = TypeRegistry.standard.resolve(parts.first ?? ""), type.kind == .quantity,
                parts.count == 2
            else {
                throw Failure(
                    .usage,
                    "--with '\(Terminal.cut(text))': expected a quantity and its value, such as 'dietaryCalcium 300mg'")
            }
            all.append((type.id, parts[1]))
        }
        return try all.map { type, text throws(Failure) in try HandEntry.Member(type, text) }
    }

    /// Refuses what only a food and a workout have.
    func refuseMembers(of type: String) throws(Failure) {
        let given = named(energy: .activeEnergyBurned).map(\.option) + (distance == nil ? [] : ["distance"])
        guard let option = given.first ?? (others.isEmpty ? nil : "with") else { return }
        throw Failure(.usage, "--\(option): only a food and a workout have it, not \(type)")
    }

    /// What was typed as `KEY=VALUE`, each value as its key has it.
    func metadata() throws(Failure) -> [(key: String, json: String)] {
        try facts.map { text throws(Failure) in
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw Failure(.usage, "--metadata '\(Terminal.cut(text))': expected KEY=VALUE")
            }
            let key = MetadataKey.name(of: parts[0])
            guard !["note", "wasUserEntered", "profileOf"].contains(key) else {
                throw Failure(.usage, "--metadata: \(key) is not given so\(key == "note" ? "; say --note" : "")")
            }
            return (key, try EntryOptions.json(parts[1], MetadataKey.named(key)))
        }
    }

    private static func json(_ text: String, _ key: MetadataKey?) throws(Failure) -> String {
        switch key?.content {
        case .boolean:
            if ["true", "yes"].contains(text) { return "true" }
            if ["false", "no"].contains(text) { return "false" }
            throw Failure(.usage, "--metadata \(key?.name ?? "")=\(Terminal.cut(text)): expected true or false")
        case .number: return NumberText.shortest(try ValueArgument.number(text))
        case .enumeration where Int(text) != nil: return text
        case .quantity:
            guard case .quantity(let value, let unit) = try ValueArgument([text], of: nil) else {
                throw Failure(
                    .usage, "--metadata \(key?.name ?? "")=\(Terminal.cut(text)): expected a number and its unit")
            }
            return "{\"value\":\(NumberText.shortest(value)),\"unit\":\(HandEntry.quoted(unit))}"
        case .string, .date, .enumeration, nil: return HandEntry.quoted(text)
        }
    }
}

extension WorkoutActivity {
    /// The activity that a person calls so: `swim`, `Running`.
    static func meant(by word: String) -> WorkoutActivity? {
        let word = word.lowercased()
        return all.first { $0.name.lowercased() == word || $0.healthKitName.lowercased() == word }
            ?? usual[word].flatMap { activity(named: $0) }
    }

    private static let usual = [
        "swim": "swimming", "run": "running", "jog": "running", "jogging": "running", "walk": "walking",
        "hike": "hiking", "cycle": "cycling", "bike": "cycling", "biking": "cycling", "ride": "cycling",
        "row": "rowing", "climb": "climbing", "box": "boxing", "sail": "sailing", "skate": "skatingSports",
        "surf": "surfingSports", "snowboard": "snowboarding", "dive": "underwaterDiving", "bowl": "bowling",
        "hiit": "highIntensityIntervalTraining", "stretch": "flexibility",
    ]
}
