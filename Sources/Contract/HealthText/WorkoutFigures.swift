package import Samples

/// The duration, energy and distance of a workout, if known.
package struct WorkoutFigures: Hashable, Sendable {
    /// A sum of one type.
    package struct Sum: Hashable, Sendable {
        package var type: TypeID
        package var value: Double
        package var unit: String
    }

    /// Seconds without pauses.
    package let duration: Double
    package let energy: Sum?
    /// Several if a workout of several activities has several types of distance.
    package let distances: [Sum]

    /// Whether the records of its group may provide a figure that the workout itself lacks.
    package static func needsMembers(_ sample: Sample) -> Bool {
        guard let figures = WorkoutFigures(sample), sample.group != nil else { return false }
        return figures.energy == nil || figures.distances.isEmpty
    }

    /// The types that ``init(_:members:)`` sums.
    package static let memberTypes =
        [TypeID.activeEnergyBurned] + TypeRegistry.standard.all.map(\.id).filter(isDistance)

    /// Nil for a sample that is not a workout.
    ///
    /// - Parameter members: the records of its group. They count only for types of which the workout itself has no total.
    package init?(_ sample: Sample, members: [StoredRecord] = []) {
        guard let duration = sample.workoutDuration else { return nil }
        self.duration = duration
        var sums: [Sum] = []
        let parts = sample.workout
        // The parts of a triathlon have separate totals, and often the whole workout has none.
        let own = parts?.totals.isEmpty == false ? parts?.totals : parts?.activities.flatMap(\.totals)
        for total in own ?? [] where total.statistic == .sum {
            WorkoutFigures.add(Sum(type: total.type, value: total.value, unit: total.unit), to: &sums)
        }
        let told = Set(sums.map(\.type))
        for member in members where !told.contains(member.type) && !member.isTakenBack {
            guard let quantity = ValueText.quantity(member) else { continue }
            WorkoutFigures.add(Sum(type: member.type, value: quantity.value, unit: quantity.unit), to: &sums)
        }
        energy = sums.first { $0.type == .activeEnergyBurned }
        distances = sums.filter { WorkoutFigures.isDistance($0.type) }
    }

    private static func isDistance(_ type: TypeID) -> Bool { type.rawValue.hasPrefix("distance") }

    private static func add(_ sum: Sum, to sums: inout [Sum]) {
        guard let place = sums.firstIndex(where: { $0.type == sum.type }) else { return sums.append(sum) }
        guard let one = try? HealthUnit(sum.unit), let other = try? HealthUnit(sums[place].unit),
            let value = try? one.convert(sum.value, to: other)
        else { return }
        sums[place].value += value
    }

    /// The figures by name.
    package func facts(_ reader: DisplayPreferences) -> [(name: String, text: String)] {
        func text(_ sum: Sum) -> String { reader.format(sum.unit, of: sum.type).text(sum.value) }
        return [("active", Self.time(duration))] + (energy.map { [("energy", text($0))] } ?? [])
            + (distances.isEmpty ? [] : [("distance", distances.map(text).joined(separator: " + "))])
    }

    /// The figures in one line: `30 min, 300 kcal, 1 km`.
    package func words(_ reader: DisplayPreferences) -> String { facts(reader).map(\.text).joined(separator: ", ") }

    /// A duration to the second: `1 h 5 min`, `30 min 20 s`.
    private static func time(_ seconds: Double) -> String {
        guard seconds < 1e9 else { return "\(seconds) s" }
        let all = Int(seconds.rounded())
        let parts = [(all / 3_600, "h"), (all / 60 % 60, "min"), (all % 60, "s")].filter { $0.0 > 0 }
        return parts.isEmpty ? "0 s" : parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }
}

extension StoredRecord {
    fileprivate var isTakenBack: Bool { if case .retraction = record { true } else { false } }
}
