package import Samples

/// Values of records as their persons read them.
package enum ValueText {
    /// A sample's value, in the unit of who reads it.
    ///
    /// - Parameter finer: so many more decimals than people read.
    package static func text(_ stored: StoredRecord, for reader: Reader, finer: Int = 0) -> String {
        guard let (value, unit) = quantity(stored) else {
            guard case .sample(let sample) = stored.record else { return "" }
            if let summary = sample.activitySummary {
                return ActivityFigures(for: reader).words(summary)
            }
            return name(of: sample) ?? word(sample.value)
        }
        return reader.format(unit, of: stored.type).text(value, finer: finer)
    }

    /// What was eaten, of a food, whose values are its members'.
    private static func name(of sample: Sample) -> String? {
        guard sample.value == .correlation else { return nil }
        return try? KnownMetadata(sample.metadata, of: sample.type).text("foodType")
    }

    /// The same, and whether it is hardly true.
    package static func marked(_ stored: StoredRecord, for reader: Reader, finer: Int = 0) -> String {
        text(stored, for: reader, finer: finer) + mark(stored)
    }

    /// The same with names such as `asleepCore` in words, where they are not typed again.
    package static func spoken(_ stored: StoredRecord, for reader: Reader) -> String {
        guard case .sample(let sample) = stored.record else { return marked(stored, for: reader) }
        switch sample.value {
        case .category(let name, _), .workout(let name, _): return NameWords.text(name) + mark(stored)
        case .characteristic(let name, _)
        where TypeRegistry.standard.type(stored.type)?.values.contains { $0.name == name } == true:
            return NameWords.text(name) + mark(stored)
        default: return marked(stored, for: reader)
        }
    }

    private static func mark(_ stored: StoredRecord) -> String {
        stored.implausible.contains(.value) ? " (implausible)" : ""
    }

    /// Value and unit as the hub stores them; `nil` for what is not a quantity.
    package static func quantity(_ stored: StoredRecord) -> (value: Double, unit: String)? {
        if let canonical = stored.canonical { return (canonical.value, canonical.unit) }
        guard case .sample(let sample) = stored.record, case .quantity(let value, let unit) = sample.value else {
            return nil
        }
        return (value, unit)
    }

    /// Every digit, in the unit it comes in; a fraction as percent.
    package static func exact(_ quantity: (value: Double, unit: String)) -> String {
        quantity.unit == "%"
            ? "\(NumberText.percent(quantity.value)) %" : "\(NumberText.shortest(quantity.value)) \(quantity.unit)"
    }

    /// What is not a quantity.
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
