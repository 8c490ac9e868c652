import HealthText
import PluginKit
import Samples

/// The fields for a value of a type, and their parsing.
struct EntryForm: Sendable {
    /// The form of a value.
    private enum Shape { case number, pair, choice, food, workout, text }

    let type: HealthType
    private let shape: Shape

    /// Nil for types that cannot be entered by hand.
    init?(_ type: HealthType) {
        self.type = type
        switch type.kind {
        case .quantity: shape = .number
        case .correlation where type.id == .food: shape = .food
        case .correlation where type.requiredMembers.count == 2: shape = .pair
        case .category, .characteristic: shape = type.values.isEmpty ? .text : .choice
        case .workout: shape = .workout
        case .correlation, .other: return nil
        }
    }

    /// The types that a page offers first.
    static let common: [TypeID] = [
        .weight, .bloodPressure, .heartRate, .bodyTemperature, .bloodGlucose, .bodyFatPercentage, .waistCircumference,
        .stepCount, .food, .dietaryWater, .workout, .sleepAnalysis,
    ]

    /// The names of the value's fields.
    var names: [String] {
        switch shape {
        case .number: ["value", "unit"]
        case .pair: ["value", "second", "unit"]
        case .choice, .text: ["value"]
        case .food: ["value", "energy", "protein", "carbohydrates", "fat", "sugar", "fiber", "with"]
        case .workout: ["value", "last", "energy", "distance", "with"]
        }
    }

    /// Whether its value can be edited by hand later.
    var isEditable: Bool { shape != .food && shape != .workout }

    // MARK: - Rendering

    func html(_ fields: FormFields, for reader: DisplayPreferences) -> HTML {
        switch shape {
        case .number:
            return fields.line("value", NameWords.type(type.id), hint: hint(reader), isNumber: true, isNeeded: true)
                + unit(fields)
        case .pair:
            let names = type.requiredMembers.map(NameWords.type)
            return fields.line("value", names[0], isNumber: true, isNeeded: true)
                + fields.line("second", names[1], isNumber: true, isNeeded: true) + unit(fields)
        case .choice:
            let options = type.values.filter { !$0.isOldName }.map {
                FormOption(value: $0.name, text: NameWords.text($0.name))
            }
            return fields.choice("value", NameWords.type(type.id), options)
        case .text: return fields.line("value", NameWords.type(type.id), isNeeded: true)
        case .food:
            return fields.line("value", "What was eaten", isNeeded: true)
                + fields.line("energy", "Energy", hint: "In kcal, unless you type another unit.", isNumber: true)
                + HTML.each(["protein", "carbohydrates", "fat", "sugar", "fiber"]) {
                    fields.line($0, NameWords.text($0), hint: "In g, unless you type another unit.", isNumber: true)
                } + others(fields)
        case .workout:
            let options = WorkoutActivity.all.map { FormOption(value: $0.name, text: NameWords.text($0.name)) }
                .sorted { $0.text < $1.text }
            return fields.choice("value", "Activity", options)
                + fields.line(
                    "last", "How long", hint: "Such as 30min or 1h 15min; not needed with a beginning and an end.")
                + fields.line("energy", "Energy burned", hint: "In kcal, unless you type another unit.", isNumber: true)
                + fields.line("distance", "Distance", hint: "In km, unless you type another unit.", isNumber: true)
                + others(fields)
        }
    }

    private func others(_ fields: FormFields) -> HTML {
        fields.area("with", "Other quantities", hint: "One in a line: its type and its value, such as calcium 300mg.")
    }

    private var units: [String] {
        Units.of(shape == .pair ? TypeRegistry.standard.type(type.requiredMembers[0]) ?? type : type)
    }

    private func unit(_ fields: FormFields) -> HTML {
        // A count has a unit that people do not say.
        guard units.count > 1 else { return FormFields.hidden("unit", units.first ?? "") }
        var options = units.map { FormOption(value: $0, text: Units.label($0)) }
        if let own = fields.values["unit"], !own.isEmpty, !units.contains(own) {
            options.append(FormOption(value: own, text: Units.label(own)))
        }
        return fields.choice("unit", "Unit", options)
    }

    private func hint(_ reader: DisplayPreferences) -> String? {
        switch unit(for: reader) {
        case "st": "Such as 12st 8lb."
        case "ft": "Such as 5'10\"."
        default: units.count > 1 ? "A number; a unit that you type after it goes before the one below." : nil
        }
    }

    /// The unit in which the person reads the type.
    func unit(for reader: DisplayPreferences) -> String {
        guard shape == .number || shape == .pair else { return "" }
        let member = shape == .pair ? TypeRegistry.standard.type(type.requiredMembers[0]) : type
        return PeopleUnit(reader.unit(member?.unit ?? "", of: member)).spelling
    }

    /// Metadata keys that a sample of the type requires, one per line, for the person to complete.
    ///
    /// The food has a separate field.
    var neededFacts: String {
        MetadataKey.required(on: type.id).filter { $0.name != "foodType" }.map { "\(NameWords.text($0.name))=" }
            .joined(separator: "\n")
    }

    // MARK: - Parsing

    /// The typed value.
    func value(_ form: WebForm) throws(EntryError) -> ValueArgument {
        try ValueArgument(words(form), of: type)
    }

    private func words(_ form: WebForm) throws(EntryError) -> [String] {
        let text = Self.trimmed(form["value"])
        switch shape {
        case .number: return Self.words(text, unit: Self.trimmed(form["unit"]))
        case .pair:
            let second = Self.trimmed(form["second"])
            guard !second.isEmpty else { throw EntryError("a value is missing", field: "second") }
            return Self.words("\(text)/\(second)", unit: Self.trimmed(form["unit"]))
        default: return text.isEmpty ? [] : [text]
        }
    }

    /// The typed entry.
    ///
    /// - Throws: `EntryError` that names the field.
    func entry(_ form: WebForm) throws(EntryError) -> ManualEntry {
        var details = EntryDetails()
        details.facts = Self.lines(form["facts"])
        details.others = Self.lines(form["with"])
        func amount(_ name: String, _ unit: String) -> String? {
            form[name].map { Self.words(Self.trimmed($0), unit: unit).joined(separator: " ") }
        }
        details.energy = shape == .workout ? amount("energy", "kcal") : nil
        details.distance = amount("distance", "km")
        (details.protein, details.carbohydrates) = (amount("protein", "g"), amount("carbohydrates", "g"))
        (details.fat, details.sugar, details.fiber) = (amount("fat", "g"), amount("sugar", "g"), amount("fiber", "g"))
        do throws(EntryError) {
            switch shape {
            case .food:
                guard let food = form["value"] else { throw EntryError("what was eaten?") }
                return try ManualEntry(food: Self.trimmed(food), energy: amount("energy", "kcal") ?? "", details)
            case .workout:
                guard let activity = form["value"].flatMap({ WorkoutActivity.activity(named: $0) }) else {
                    throw EntryError("which activity?")
                }
                // Minutes, if no unit is given.
                let last = amount("last", "min").map { $0.split(separator: " ").map(String.init) }
                return try ManualEntry(activity, last ?? [], details)
            default:
                return try ManualEntry(type.id.rawValue, words(form), details)
            }
        } catch { throw error.inForm(orElse: "value") }
    }

    private static func trimmed(_ text: String?) -> String {
        (text ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func lines(_ text: String?) -> [String] {
        (text ?? "").split(whereSeparator: \.isNewline).map { trimmed(String($0)) }.filter { !$0.isEmpty }
    }

    /// A number without a unit gets the given unit.
    private static func words(_ text: String, unit: String) -> [String] {
        let all = text.last?.isNumber == true && unit != "count" ? "\(text) \(unit)" : text
        return all.split(separator: " ").map(String.init)
    }
}

extension EntryError {
    /// The error with the field of the form beside which it is shown.
    func inForm(orElse other: String) -> EntryError {
        EntryError(message, field: field == "metadata" ? "facts" : field ?? other)
    }
}
