import HealthText
import HubClient
import HubWire
import Samples

/// `hub trace` for people.
struct TraceText {
    let lines: [String]

    /// - Throws: ``HubExit/dialogue`` if this program does not know the form of the answer.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the first page of the history, which has the facts about the record.
    ///   - showsRest: whether to add a line about the parts that this page lacks.
    ///   - standing: returns a line on whether the record counts in sums; `nil` if there is none.
    ///   - workout: returns duration, energy and distance of a workout.
    init(
        _ answer: RawJSON, _ units: ReadingUnits, isFirst: Bool = true, showsRest: Bool = false,
        standing: (StoredRecord) throws -> String? = { _ in nil },
        workout: (StoredRecord) throws -> WorkoutFigures? = { _ in nil }
    ) throws {
        let story: RecordStory
        do { story = try RecordStory(answer) } catch { throw Failure(.dialogue, "\(error.description); try --json") }
        guard !story.versions.isEmpty || !isFirst else {
            throw Failure(.dialogue, "the hub's answer has no versions; try --json")
        }
        var lines: [String] = []
        if isFirst {
            lines = story.facts { units[$0] }.map { fact in
                fact.name + String(repeating: " ", count: 11 - fact.name.count) + fact.text
            }
            if let current = story.current, story.retracted == nil, let figures = try workout(current) {
                lines += figures.facts(units[current.assignment.person?.name]).map { name, text in
                    name + String(repeating: " ", count: 11 - name.count) + text
                }
            }
            if let current = story.current, story.retracted == nil, let line = try standing(current) {
                lines.append(line)
            }
            if let head = story.topicHead, let count = story.topicCount {
                lines.append("topic      \(NumberText.count(count, "message")) so far, newest \(head)")
            }
        }
        if !story.versions.isEmpty {
            lines += (isFirst ? [""] : ["", "older versions"]) + Self.versions(story.versions, units)
        }
        if isFirst { lines += Self.deliveries(story.deliveries, units[story.current?.assignment.person?.name]) }
        lines += Self.days(story.days, units)
        if !showsRest, let rest = story.rest { lines += ["", "\(rest): hub trace --all"] }
        self.lines = lines
    }

    private static func versions(_ versions: [RecordStory.Version], _ units: ReadingUnits) -> [String] {
        return Table.lines(["STORED", .right("VERSION"), "TIME", "VALUE", "PERSON", "HOW"], of: versions) { version in
            let text = RecordText(version.record, units)
            return [
                version.stored(units[version.record.assignment.person?.name]) ?? "-", String(version.record.sequence),
                text.time, text.value, text.person, version.how,
            ]
        }
    }

    /// One line for each sink that the record concerns.
    private static func deliveries(_ deliveries: [RecordStory.Delivery], _ reader: DisplayPreferences) -> [String] {
        guard !deliveries.isEmpty else { return [] }
        var table = Table(["SINK", "STATE", .right("VERSION"), "SINCE", ""])
        for delivery in deliveries {
            table.add([
                delivery.sink, delivery.state, String(delivery.seq), delivery.since(reader) ?? "-",
                delivery.details(reader),
            ])
        }
        return [""] + table.takeLines()
    }

    /// One line for each day that is computed from the record, and for each of its sinks.
    private static func days(_ days: [RecordStory.Day], _ units: ReadingUnits) -> [String] {
        guard !days.isEmpty else { return [] }
        var table = Table(["DAY", "SERIES", "VALUE", "HOW", .right("NUMBER"), "SINK", "STATE", ""])
        for day in days {
            let reader = units[day.value.person]
            let cells = [
                reader.date(day.value.date), day.value.series, day.text(reader), DayWords.how(day.value, reader),
                String(day.number),
            ]
            if day.deliveries.isEmpty { table.add(cells) }
            for (index, delivery) in day.deliveries.enumerated() {
                let begin = index == 0 ? cells : cells.map { _ in "" }
                table.add(begin + [delivery.sink, delivery.state, delivery.details(reader)])
            }
        }
        return ["", "days made of it"] + table.takeLines()
    }
}
