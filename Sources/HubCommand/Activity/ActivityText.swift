import HealthText
import HubClient
import Samples

/// Days of activity as a person reads them.
struct ActivityText {
    let units: ReadingUnits
    /// `nil` where it is not known whose they are.
    let person: String?

    /// A line for each day: each figure with its goal and how much of it is reached, and who says so.
    func lines(_ days: [ActivityDay], colours: Bool) -> [String] {
        let shown = ActivityDay.figures.filter { figure in days.contains { figure.figure($0.summary) != nil } }
        let hasGoal = shown.map { figure in days.contains { figure.figure($0.summary)?.goal != nil } }
        var header: [(title: String, alignment: Table.Alignment)] = [("DAY", .left)]
        for (figure, hasGoal) in zip(shown, hasGoal) {
            header.append((figure.title, .right))
            if hasGoal { header += [("GOAL", .right), ("", .right)] }
        }
        header.append(("FROM", .left))
        var table = Table(header)
        for day in days {
            var cells = [units[person].date(day.date)]
            for (figure, hasGoal) in zip(shown, hasGoal) {
                cells += self.cells(figure.figure(day.summary), figure.name, hasGoal: hasGoal)
            }
            cells.append(day.record?.source.words ?? "computed")
            table.add(day.record == nil ? cells.map { Shade.faint.paint($0, colours && !$0.isEmpty) } : cells)
        }
        return table.takeLines()
    }

    /// `energy 313 kcal, exercise 21 min, stand hours 11`: all of a day's figures in a list of records.
    func words(_ summary: ActivitySummary) -> String {
        ActivityDay.figures.compactMap { name, title, figure in
            figure(summary).map { "\(title.lowercased()) \(text($0.value, $0.unit, name))" }
        }.joined(separator: ", ")
    }

    private func cells(_ figure: ActivitySummary.Figure?, _ name: String, hasGoal: Bool) -> [String] {
        guard let figure else { return hasGoal ? ["", "", ""] : [""] }
        let value = text(figure.value, figure.unit, name)
        guard hasGoal else { return [value] }
        let part = figure.partOfGoal.map { units.format("%", of: nil, for: person).text($0) } ?? ""
        return [value, figure.goal.map { text($0, figure.unit, name) } ?? "", part]
    }

    private func text(_ value: Double, _ unit: String, _ name: String) -> String {
        let type = TypeRegistry.standard.resolve(name)
        // A person's unit is found from the type's own.
        if let own = type?.unit, let converted = try? type?.canonicalValue(value, unit: unit) {
            return units.format(own, of: type?.id, for: person).text(converted)
        }
        return units.format(unit, of: nil, for: person).text(value)
    }
}
