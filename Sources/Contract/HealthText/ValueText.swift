package import Samples

/// Formats the values of records for people.
package enum ValueText {
    /// A sample's value, in the reader's unit.
    ///
    /// - Parameter finer: number of additional decimals.
    package static func text(_ stored: StoredRecord, for reader: DisplayPreferences, finer: Int = 0) -> String {
        guard let (value, unit) = quantity(stored) else {
            guard case .sample(let sample) = stored.record else { return "" }
            if let summary = sample.activitySummary { return ActivityFigures(for: reader).words(summary) }
            if sample.type == .dateOfBirth, let date = LocalDate(word(sample.value)) { return reader.date(date) }
            return (sample.value == .correlation ? food(sample) : nil) ?? words(sample.value, of: stored.type)
        }
        return reader.format(unit, of: stored.type).text(value, finer: finer)
    }

    /// The name of a food.
    ///
    /// The quantities of a food are its members, and a single nutrient shows the name after its value.
    package static func food(_ sample: Sample) -> String? {
        try? KnownMetadata(sample.metadata, of: sample.type).text("foodType")
    }

    /// The value with the name of the food, and with a mark if it is implausible.
    package static func marked(_ stored: StoredRecord, for reader: DisplayPreferences, finer: Int = 0) -> String {
        var remarks: [String] = []
        if case .sample(let sample) = stored.record, sample.value != .correlation, let food = food(sample) {
            remarks.append(food)
        }
        if stored.implausible.contains(.value) { remarks.append("implausible") }
        return text(stored, for: reader, finer: finer)
            + (remarks.isEmpty ? "" : " (\(remarks.joined(separator: ", ")))")
    }

    /// Why a value is implausible, such as `below 1.0 kg`; `nil` if it is plausible or not a quantity.
    package static func doubt(_ stored: StoredRecord, for reader: DisplayPreferences) -> String? {
        guard let (value, unit) = quantity(stored),
            let range = TypeRegistry.standard.type(stored.type)?.limits?.plausible, !range.contains(value)
        else { return nil }
        let (word, bound) = value < range.lowerBound ? ("below", range.lowerBound) : ("above", range.upperBound)
        return "\(word) \(reader.format(unit, of: stored.type).text(bound))"
    }

    /// The words for names such as `asleepCore`.
    private static func words(_ value: SampleValue, of type: TypeID) -> String {
        switch value {
        case .category(let name, _), .workout(let name, _): NameWords.text(name)
        case .characteristic(let name, _)
        where TypeRegistry.standard.type(type)?.values.contains { $0.name == name } == true: NameWords.text(name)
        default: word(value)
        }
    }

    /// Value and unit as the hub stores them; `nil` if the record is not a quantity.
    package static func quantity(_ stored: StoredRecord) -> (value: Double, unit: String)? {
        if let canonical = stored.canonical { return (canonical.value, canonical.unit) }
        guard case .sample(let sample) = stored.record, case .quantity(let value, let unit) = sample.value else {
            return nil
        }
        return (value, unit)
    }

    /// A record's value for programs: with every digit, and names unchanged; `nil` if it has neither.
    package static func exact(_ stored: StoredRecord) -> String? {
        if let quantity = quantity(stored) { return exact(quantity) }
        guard case .sample(let sample) = stored.record else { return nil }
        return switch sample.value {
        case .category, .workout, .characteristic: word(sample.value)
        case .quantity, .correlation, .other: nil
        }
    }

    /// Every digit, in the original unit with its symbol: `36.52 °C`.
    package static func given(_ value: Double, _ unit: String) -> String {
        let symbol = PeopleUnit(unit).symbol
        if unit == "%" { return exact((value, unit)) }
        return NumberText.shortest(value) + (symbol.isEmpty ? "" : " \(symbol)")
    }

    /// Every digit, in the original unit; fractions as percentages.
    package static func exact(_ quantity: (value: Double, unit: String)) -> String {
        quantity.unit == "%"
            ? "\(NumberText.percent(quantity.value)) %" : "\(NumberText.shortest(quantity.value)) \(quantity.unit)"
    }

    /// A value for programs: with every digit, and names unchanged.
    package static func word(_ value: SampleValue) -> String {
        switch value {
        case .quantity(let value, let unit): exact((value, unit))
        case .category(let name, _), .workout(let name, _): name
        case .correlation: "(a group)"
        case .characteristic(let text, _): text
        case .other(let text): text ?? "(no value)"
        }
    }
}
