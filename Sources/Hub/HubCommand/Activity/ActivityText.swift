import HealthText
import HubClient
import Samples

/// Days of activity, formatted for people.
struct ActivityText {
    let units: ReadingUnits
    /// `nil` if the person is not known.
    let person: String?

    /// One line for each day: each figure with its goal and the reached share, and the source.
    func lines(_ days: [ActivityDay], colours: Bool) -> [String] {
        let shown = ActivityFigures.all.filter { figure in days.contains { figure.figure($0.summary) != nil } }
        let hasGoal = shown.map { figure in days.contains { figure.figure($0.summary)?.goal != nil } }
        var header: [Table.Column] = ["DAY"]
        for (figure, hasGoal) in zip(shown, hasGoal) {
            header.append(.right(figure.title))
            if hasGoal { header += [.right("GOAL"), .right("")] }
        }
        header.append("FROM")
        var table = Table(header)
        for day in days {
            var cells = [units[person].date(day.date)]
            for (figure, hasGoal) in zip(shown, hasGoal) {
                cells += self.cells(figure.figure(day.summary), figure.name, hasGoal: hasGoal)
            }
            cells.append(day.record?.source.words ?? "computed")
            table.add(day.record == nil ? cells.map { StatusColour.faint.paint($0, colours && !$0.isEmpty) } : cells)
        }
        return table.takeLines()
    }

    private func cells(_ figure: ActivitySummary.Figure?, _ name: String, hasGoal: Bool) -> [String] {
        guard let figure else { return hasGoal ? ["", "", ""] : [""] }
        let value = text(figure.value, figure.unit, name)
        guard hasGoal else { return [value] }
        let part = figure.partOfGoal.map { units.format("%", of: nil, for: person).text($0) } ?? ""
        return [value, figure.goal.map { text($0, figure.unit, name) } ?? "", part]
    }

    private func text(_ value: Double, _ unit: String, _ name: String) -> String {
        ActivityFigures(for: units[person]).text(value, unit, name)
    }
}
