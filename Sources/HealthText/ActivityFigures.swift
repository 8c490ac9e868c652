package import Samples

/// The figures of a day's activity, as people read them.
package struct ActivityFigures: Sendable {
    /// Each under its name, in the order in which they are shown.
    package static let all:
        [(name: String, title: String, figure: @Sendable (ActivitySummary) -> ActivitySummary.Figure?)] = [
            ("activeEnergyBurned", "ENERGY", { $0.activeEnergyBurned }),
            ("appleMoveTime", "MOVE", { $0.appleMoveTime }),
            ("appleExerciseTime", "EXERCISE", { $0.appleExerciseTime }),
            ("appleStandHours", "STAND HOURS", { $0.appleStandHours }),
        ]

    private let reader: Reader

    package init(for reader: Reader) { self.reader = reader }

    /// `energy 313 kcal, exercise 21 min, stand hours 11`.
    package func words(_ summary: ActivitySummary) -> String {
        Self.all.compactMap { name, title, figure in
            figure(summary).map { "\(title.lowercased()) \(text($0.value, $0.unit, name))" }
        }.joined(separator: ", ")
    }

    /// A value of the figure of that name.
    package func text(_ value: Double, _ unit: String, _ name: String) -> String {
        let type = TypeRegistry.standard.resolve(name)
        // A person's unit is found from the type's own.
        if let own = type?.unit, let converted = try? type?.canonicalValue(value, unit: unit) {
            return reader.format(own, of: type?.id).text(converted)
        }
        return reader.format(unit, of: nil).text(value)
    }
}
