import HealthText
import HubClient
import HubWire
import Samples

/// The result of a demonstration: compares the scales' diaries with the records in the store, according to the plan.
///
/// Only the records come from the hub.
struct DemoAccount: Encodable, Sendable {
    /// The row of one scale.
    struct Row: Encodable, Sendable {
        let scale: String
        let device: String
        /// The number of weigh-ins in the scale's diary.
        var weighIns = 0
        /// The number of stored weigh-ins, by person.
        var persons: [String: Int] = [:]
        var inbox = 0
        /// Weigh-ins without a record.
        var missing = 0
        /// Additional records of a weigh-in.
        var doubled = 0
        /// Weigh-ins that were assigned to a wrong person.
        var wrong = 0

        var isWell: Bool { missing + doubled + wrong == 0 }
    }

    let seed: UInt64
    let days: Int
    private(set) var scales: [Row] = []
    /// The result for Exist; `nil` if it was not checked.
    private(set) var exist: DemoDays?
    /// The differences, one sentence each.
    private(set) var problems: [String] = []
    /// Whether every weigh-in is stored once, with the right person or in the inbox, without other problems.
    var addsUp = false

    /// - Parameters:
    ///   - told: the weigh-ins that the scales report, with their counts.
    ///   - refused: the commands that the scales refused.
    ///   - records: all records in the store.
    init(_ plan: DemoPlan, told: [DemoWeighing.Place: Int], refused: [String], records: [StoredRecord]) {
        (seed, days) = (plan.seed, plan.days)
        problems = refused.map { "a scale refused: \($0)" }
        let planned = Dictionary(plan.weighings.map { ($0.place, $0) }) { first, _ in first }
        let weights = Dictionary(grouping: records) { DemoWeighing.Place($0) }
        let groups = Dictionary(grouping: records) { $0.group }
        for scale in DemoScale.allCases {
            var row = Row(scale: scale.rawValue, device: scale.device)
            for (place, count) in told.filter({ $0.key.device == scale.device }).sorted(by: { $0.key < $1.key }) {
                row.weighIns += count
                guard let weighing = planned[place], count == 1 else {
                    problems.append(
                        "\(scale.rawValue): \(place.text) was weighed \(count) times, which was not planned")
                    continue
                }
                take(weighing, weights[place] ?? [], groups, &row)
            }
            scales.append(row)
        }
        for (place, records) in weights {
            guard let place, told[place] == nil else { continue }
            problems.append(
                "\(place.text) of \(place.device) is stored (\(records.count) times), and no scale weighed it")
        }
        addsUp = problems.isEmpty && scales.allSatisfy(\.isWell) && scales.contains { $0.weighIns > 0 }
    }

    /// Adds the result for Exist with its problems.
    mutating func add(_ days: DemoDays) {
        exist = days
        problems += days.problems
        addsUp = addsUp && days.problems.isEmpty
    }

    /// Adds other problems: of a plugin, or on the page.
    mutating func add(_ wrong: [String]) {
        problems += wrong
        addsUp = addsUp && wrong.isEmpty
    }

    private mutating func take(
        _ weighing: DemoWeighing, _ stored: [StoredRecord], _ groups: [String?: [StoredRecord]], _ row: inout Row
    ) {
        let name = "\(weighing.scale.rawValue): \(weighing.place.text) of \(weighing.time.dayName)"
        guard let record = stored.first else {
            row.missing += 1
            return problems.append("\(name) is not in the store")
        }
        row.doubled += stored.count - 1
        if stored.count > 1 { problems.append("\(name) is in the store \(stored.count) times") }
        switch record.assignment {
        case .nobody: row.inbox += 1
        case .person(let person):
            row.persons[person.name, default: 0] += 1
            if person.name != weighing.person {
                row.wrong += 1
                problems.append("\(name) is with \(person.name), and it was \(DemoStory.words(weighing.who))")
            }
        }
        guard case .sample(let sample) = record.record else { return }
        // A weight without a time has the hub's time, which advances while the weight is in transit.
        let isDatedByHub = sample.metadata?.text.contains(#""datedByHub":true"#) ?? false
        if !isDatedByHub, !sample.start.text.hasPrefix(weighing.time.local) {
            problems.append("\(name) was at \(weighing.time.local), and is stored as of \(sample.start.text)")
        }
        guard let group = sample.group else { return }
        let parts = groups[group] ?? []
        if parts.count != weighing.parts || parts.contains(where: { $0.assignment.person != record.assignment.person })
        {
            problems.append("\(name): \(parts.count) of \(weighing.parts) values, or not all with one person")
        }
    }

    // MARK: For people

    /// A table with the verdict below it.
    func lines(colours: Bool) -> [String] {
        let people = DemoLife.household.map(\.name)
        var table = Table(
            ["SCALE", .right("WEIGH-INS")] + people.map { .right($0.uppercased()) }
                + ["INBOX", "MISSING", "DOUBLED", "WRONG PERSON"].map(Table.Column.right))
        func add(_ name: String, _ rows: [Row]) {
            func sum(_ count: (Row) -> Int) -> String { NumberText.grouped(rows.reduce(0) { $0 + count($1) }) }
            let counts = people.map { name in sum { $0.persons[name] ?? 0 } }
            table.add(
                [name, sum(\.weighIns)] + counts + [sum(\.inbox), sum(\.missing), sum(\.doubled), sum(\.wrong)])
        }
        for row in scales { add(row.scale, [row]) }
        add("all", scales)
        return table.takeLines() + dayLines(colours: colours)
    }

    /// The result for Exist, if it was checked, and the overall verdict.
    func dayLines(colours: Bool) -> [String] {
        let verdict =
            addsUp
            ? StatusColour.good.paint(
                "Every weigh-in is stored once, with the right person or in the inbox"
                    + (exist == nil ? "." : ",\nand Exist has the right value of every day."), colours)
            : scales.allSatisfy { $0.weighIns == 0 }
                ? StatusColour.bad.paint("No scale was ever stepped on.", colours)
                : StatusColour.bad.paint("That does not add up:", colours)
        return (exist.map { [""] + $0.lines } ?? []) + ["", verdict] + problems.prefix(20).map { "  \($0)" }
    }
}

extension DemoWeighing.Place: Comparable {
    static func < (one: Self, other: Self) -> Bool {
        (one.device, one.tenthsOfKilogram) < (other.device, other.tenthsOfKilogram)
    }

    /// For people: `62.1 kg`.
    var text: String { "\(tenthsOfKilogram / 10).\(tenthsOfKilogram % 10) kg" }
}

extension StoredRecord {
    fileprivate var group: String? {
        if case .sample(let sample) = record { sample.group } else { nil }
    }
}
