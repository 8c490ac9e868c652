package import Samples

/// Formats the figures of a day's activity for people.
package struct ActivityFigures: Sendable {
    /// The figures by name, in display order.
    package static let all:
        [(name: String, title: String, figure: @Sendable (ActivitySummary) -> ActivitySummary.Figure?)] = [
            ("activeEnergyBurned", "ENERGY", { $0.activeEnergyBurned }),
            ("appleMoveTime", "MOVE", { $0.appleMoveTime }),
            ("appleExerciseTime", "EXERCISE", { $0.appleExerciseTime }),
            ("appleStandHours", "STAND HOURS", { $0.appleStandHours }),
        ]

    private let reader: DisplayPreferences

    package init(for reader: DisplayPreferences) { self.reader = reader }

    /// `energy 313 kcal, exercise 21 min, stand hours 11`.
    package func words(_ summary: ActivitySummary) -> String {
        Self.all.compactMap { name, title, figure in
            figure(summary).map { "\(title.lowercased()) \(text($0.value, $0.unit, name))" }
        }.joined(separator: ", ")
    }

    /// A value of the figure with this name.
    package func text(_ value: Double, _ unit: String, _ name: String) -> String {
        let type = TypeRegistry.standard.resolve(name)
        // The person's unit depends on the type's own unit.
        if let own = type?.unit, let converted = try? type?.canonicalValue(value, unit: unit) {
            return reader.format(own, of: type?.id).text(converted)
        }
        return reader.format(unit, of: nil).text(value)
    }
}
