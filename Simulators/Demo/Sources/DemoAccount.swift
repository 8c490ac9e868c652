import HealthText
import HubClient
import HubWire
import Samples

/// What a demonstration comes to: what each scale says it was told, against what the store holds, judged by the plan.
///
/// The hub has no say in it but for its records.
struct DemoAccount: Encodable, Sendable {
    /// Of one scale.
    struct Row: Encodable, Sendable {
        let scale: String
        let device: String
        /// In the scale's own words.
        var weighIns = 0
        /// In the store, by person.
        var persons: [String: Int] = [:]
        var inbox = 0
        /// Not in the store.
        var missing = 0
        /// Further records of a weigh-in that has one.
        var doubled = 0
        /// With another person than it was.
        var wrong = 0

        var isWell: Bool { missing + doubled + wrong == 0 }
    }

    let seed: UInt64
    let days: Int
    private(set) var scales: [Row] = []
    /// Of what Exist holds; `nil` where that was not looked at.
    private(set) var exist: DemoDays?
    /// What does not add up, a sentence each.
    private(set) var problems: [String] = []
    /// Whether every weigh-in is stored once, with the right person or in the inbox, and nothing else went wrong.
    var addsUp = false

    /// - Parameters:
    ///   - told: what the scales say that they have weighed, how often.
    ///   - refused: what they say that they could not do.
    ///   - records: all that the store holds.
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

    /// Adds what Exist holds, and what of it is not as it should be.
    mutating func add(_ days: DemoDays) {
        exist = days
        problems += days.problems
        addsUp = addsUp && days.problems.isEmpty
    }

    /// Adds what is wrong besides: with a plugin, or on the page.
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
        // A weight that came without a time has the hub's, which goes on while the weight is on its way.
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

    /// A table, and the verdict below it.
    func lines(colours: Bool) -> [String] {
        let people = DemoLife.household.map(\.name)
        var table = Table(
            [("SCALE", .left), ("WEIGH-INS", .right)] + people.map { ($0.uppercased(), .right) }
                + [("INBOX", .right), ("MISSING", .right), ("DOUBLED", .right), ("WRONG PERSON", .right)])
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

    /// What Exist holds, if it has been asked, and the verdict on all of it.
    func dayLines(colours: Bool) -> [String] {
        let verdict =
            addsUp
            ? Shade.good.paint(
                "Every weigh-in is stored once, with the right person or in the inbox"
                    + (exist == nil ? "." : ",\nand Exist has the right value of every day."), colours)
            : scales.allSatisfy { $0.weighIns == 0 }
                ? Shade.bad.paint("No scale was ever stepped on.", colours)
                : Shade.bad.paint("That does not add up:", colours)
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
