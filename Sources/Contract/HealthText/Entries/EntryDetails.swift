import HubWire
import Samples

/// Further details of a food, a workout or any record, as a person typed them.
package struct EntryDetails: Sendable {
    /// For a workout, the energy burned; for a food, the energy eaten.
    package var energy: String?
    /// For a workout.
    package var distance: String?
    /// For a food, like the members below.
    package var protein: String?
    package var carbohydrates: String?
    package var fat: String?
    package var sugar: String?
    package var fiber: String?
    /// Any other quantities of a food or a workout: `calcium 300mg`.
    package var others: [String] = []
    /// Metadata of the record: `insulinDeliveryReason=bolus`.
    package var facts: [String] = []

    /// The reader whose units apply to plain numbers; `nil` if each number needs a unit.
    package var reader: DisplayPreferences?

    package init() {}

    /// The details with a named field, with their types and the typed text.
    private func named(energy type: TypeID) -> [(type: TypeID, field: String, text: String)] {
        [
            (type, "energy", energy), (.dietaryProtein, "protein", protein),
            (.dietaryCarbohydrates, "carbohydrates", carbohydrates), (.dietaryFatTotal, "fat", fat),
            (.dietarySugar, "sugar", sugar), (.dietaryFiber, "fiber", fiber),
        ].compactMap { type, field, text in text.map { (type, field, $0) } }
    }

    /// The members of a food.
    func food() throws(EntryError) -> [ManualEntry.Member] {
        if distance != nil { throw EntryError("a food has none", field: "distance") }
        return try members(named(energy: .dietaryEnergyConsumed))
    }

    /// The measurements of a workout.
    func workout(_ activity: WorkoutActivity) throws(EntryError) -> [ManualEntry.Member] {
        let named = named(energy: .activeEnergyBurned)
        if let other = named.first(where: { $0.field != "energy" }) {
            throw EntryError("a workout has none; log it as a food", field: other.field)
        }
        guard let distance else { return try members(named) }
        guard let type = activity.distance else {
            throw EntryError(
                "HealthKit has no type for the distance of \(activity.name); give it as another quantity: 'distanceWalkingRunning \(EntryError.cut(distance))'",
                field: "distance", remedy: ["with"])
        }
        return try members(named + [(type, "distance", distance)])
    }

    private func members(_ words: [(type: TypeID, field: String, text: String)]) throws(EntryError) -> [ManualEntry
        .Member]
    {
        var all = words
        for text in others {
            guard let (type, value) = Self.quantity(text) else {
                throw EntryError(
                    "'\(EntryError.cut(text))': expected a quantity and its value, such as 'calcium 300mg'; hub types lists the quantities",
                    field: "with")
            }
            all.append((type, "with", value))
        }
        return try all.map { type, field, text throws(EntryError) in
            do throws(EntryError) { return try ManualEntry.Member(type, text, for: reader) } catch {
                throw EntryError(error.message, field: field)
            }
        }
    }

    /// Splits `vitamin B12 2mcg` into type and value, using the longest name that is a type.
    private static func quantity(_ text: String) -> (TypeID, String)? {
        for space in text.indices.reversed() where text[space] == " " {
            if let type = EverydayNames.type(String(text[..<space])), type.kind == .quantity {
                return (type.id, String(text[text.index(after: space)...]))
            }
        }
        return nil
    }

    /// Rejects details that only a food or a workout can have.
    func refuseMembers(of type: String) throws(EntryError) {
        let given = named(energy: .activeEnergyBurned).map(\.field) + (distance == nil ? [] : ["distance"])
        guard let field = given.first ?? (others.isEmpty ? nil : "with") else { return }
        throw EntryError("only a food and a workout have it, not \(type)", field: field)
    }

    /// The typed `KEY=VALUE` pairs, each value in the form of its key.
    func metadata() throws(EntryError) -> [(key: String, json: String)] {
        do throws(EntryError) {
            return try facts.map { text throws(EntryError) in
                let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
                guard parts.count == 2, !parts[0].isEmpty else {
                    throw EntryError(
                        "'\(EntryError.cut(text))': expected KEY=VALUE, such as insulinDeliveryReason=bolus")
                }
                let typed = parts[0].split(separator: " ").joined(separator: " ")
                let key =
                    MetadataKey.all.first { NameWords.means(typed, $0.name) }?.name ?? MetadataKey.name(of: parts[0])
                if key == "note" { throw EntryError("give the note separately", remedy: ["note"]) }
                guard !["wasUserEntered", "profileOf"].contains(key) else {
                    throw EntryError("the hub sets \(key); leave it out")
                }
                return (key, try Self.json(parts[1], MetadataKey.named(key)))
            }
        } catch { throw EntryError(error.message, field: "metadata", remedy: error.remedy) }
    }

    private static func json(_ text: String, _ key: MetadataKey?) throws(EntryError) -> String {
        func expected(_ what: String) -> EntryError {
            EntryError("\(key?.name ?? "")=\(EntryError.cut(text)): expected \(what)")
        }
        switch key?.content {
        case .boolean:
            if ["true", "yes"].contains(text) { return "true" }
            if ["false", "no"].contains(text) { return "false" }
            throw expected("true or false")
        case .number: return NumberText.shortest(try ValueArgument.number(text))
        case .enumeration where Int(text) != nil: return text
        case .enumeration(let values):
            return ManualEntry.quoted(values.first { NameWords.means(text, $0.name) }?.name ?? text)
        case .quantity:
            guard case .quantity(let value, let unit) = try ValueArgument([text], of: nil) else {
                throw expected("a number and its unit")
            }
            return "{\"value\":\(NumberText.shortest(value)),\"unit\":\(ManualEntry.quoted(unit))}"
        case .string, .date, nil: return ManualEntry.quoted(text)
        }
    }
}
