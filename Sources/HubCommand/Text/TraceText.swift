import HealthText
import HubClient
import HubWire
import Samples

/// `hub trace` for people.
struct TraceText {
    let lines: [String]

    /// - Throws: ``HubExit/dialogue`` when the answer is none that this program knows.
    ///
    /// - Parameters:
    ///   - isFirst: whether it is the first page of the story, which says what the record is.
    ///   - showsRest: whether what this page has not is shown after it.
    ///   - standing: a line about what counts in sums; `nil` where there is none.
    init(
        _ answer: RawJSON, _ units: ReadingUnits, isFirst: Bool = true, showsRest: Bool = false,
        standing: (StoredRecord) throws -> String? = { _ in nil }
    ) throws {
        let members = RawMembers.members(of: answer.bytes[...])
        let versions = RawMembers.elements(of: members["versions"] ?? [])
        guard !versions.isEmpty || !isFirst else {
            throw Failure(.dialogue, "the hub told a story without versions; try --json")
        }
        var reader = RecordReader()
        var current: StoredRecord?
        let seq = TraceText.text(members["seq"])
        var table = Table([
            ("STORED", .left), ("VERSION", .right), ("TIME", .left), ("VALUE", .left), ("PERSON", .left),
            ("HOW", .left),
        ])
        for version in versions {
            let parts = RawMembers.members(of: version)
            let record = try reader.record(parts["record"] ?? [])
            let text = RecordText(record, units)
            let moment = TraceText.moment(TraceText.text(parts["recordedAt"])) ?? "-"
            table.add([
                moment, String(record.sequence), text.time, text.value, text.person, TraceText.how(parts),
            ])
            // What a source sent beneath a person's edit comes later, and is not shown.
            if seq == nil || seq == String(record.sequence) { current = record }
        }
        var lines: [String] = []
        if let current {
            let taken = try members["retracted"].map { bytes throws(Failure) in try reader.record(bytes) }
            lines = TraceText.head(current, retracted: taken, topic: TraceText.text(members["topic"]), units)
            if taken == nil, isFirst, let line = try standing(current) { lines.append(line) }
        }
        if let head = TraceText.text(members["topicHead"]),
            let count = TraceText.text(members["topicCount"]).flatMap({ Int($0) })
        {
            lines.append("topic      \(NumberText.count(count, "message")) so far, newest \(head)")
        }
        if !isFirst { lines = [] }
        if !versions.isEmpty { lines += (isFirst ? [""] : ["", "older versions"]) + table.takeLines() }
        if isFirst { lines += try TraceText.deliveries(members["deliveries"]) }
        lines += try TraceText.days(members["days"], &reader, units)
        if !showsRest, members["next"] != nil { lines += ["", TraceText.rest(members, shown: versions.count)] }
        self.lines = lines
    }

    /// What the page has not, and how it is shown.
    private static func rest(_ members: [String: ArraySlice<UInt8>], shown: Int) -> String {
        let older = (text(members["versionCount"]).flatMap { Int($0) } ?? shown) - shown
        return older > 0
            ? "and \(NumberText.count(older, "older version")): hub trace --all"
            : "not all days were looked through for it: hub trace --all"
    }

    /// A line for each day that is made of the record, and for each sink of it.
    private static func days(
        _ bytes: ArraySlice<UInt8>?, _ reader: inout RecordReader, _ units: ReadingUnits
    ) throws(Failure) -> [String] {
        guard let bytes else { return [] }
        var table = Table([
            ("DAY", .left), ("SERIES", .left), ("VALUE", .left), ("HOW", .left), ("NUMBER", .right), ("SINK", .left),
            ("STATE", .left), ("", .left),
        ])
        for entry in RawMembers.elements(of: bytes) {
            let members = RawMembers.members(of: entry)
            let stored = try reader.record(members["record"] ?? [])
            guard case .day(let day) = stored.record else { continue }
            let cells = [
                units[day.person].date(day.date), day.series,
                units.format(day.unit, of: day.type, for: day.person).text(day.value),
                DayLines.how(day, units[day.person]), String(stored.number),
            ]
            let deliveries = try JSON.answer(
                [Delivery].self, RawJSON(trusted: Array(members["deliveries"] ?? Array("[]".utf8)[...])))
            if deliveries.isEmpty { table.add(cells) }
            for (index, delivery) in deliveries.enumerated() {
                let begin = index == 0 ? cells : cells.map { _ in "" }
                table.add(begin + [delivery.sink, delivery.state, details(delivery)])
            }
        }
        return ["", "days made of it"] + table.takeLines()
    }

    private struct Delivery: Decodable {
        struct Confirmed: Decodable {
            var seq: Int64
            var at: String?
            var receipt: String?
        }
        var sink, state: String
        var seq: Int64
        var at, reason, due: String?
        var attempts: Int64?
        var confirmed: Confirmed?
    }

    /// A line for each sink that the record concerns.
    private static func deliveries(_ bytes: ArraySlice<UInt8>?) throws(Failure) -> [String] {
        guard let bytes else { return [] }
        let deliveries = try JSON.answer([Delivery].self, RawJSON(trusted: Array(bytes)))
        guard !deliveries.isEmpty else { return [] }
        var table = Table([("SINK", .left), ("STATE", .left), ("VERSION", .right), ("SINCE", .left), ("", .left)])
        for delivery in deliveries {
            table.add([
                delivery.sink, delivery.state, String(delivery.seq), moment(delivery.at) ?? "-", details(delivery),
            ])
        }
        return [""] + table.takeLines()
    }

    private static func details(_ delivery: Delivery) -> String {
        var details: [String] = []
        if let reason = delivery.reason { details.append(reason) }
        if let attempts = delivery.attempts { details.append("tried \(NumberText.count(attempts, "time"))") }
        if let due = moment(delivery.due) { details.append("again at \(due)") }
        if let confirmed = delivery.confirmed {
            if confirmed.seq != delivery.seq { details.append("it has version \(confirmed.seq)") }
            if let receipt = confirmed.receipt { details.append("receipt \(receipt)") }
        }
        return details.joined(separator: "; ")
    }

    private static func moment(_ text: String?) -> String? {
        text.flatMap { LocalTime.text($0) }
    }

    private static func head(
        _ current: StoredRecord, retracted: StoredRecord?, topic: String?, _ units: ReadingUnits
    ) -> [String] {
        var lines = ["record     \(current.number)", "type       \(current.type)"]
        switch current.assignment {
        case .person(let person): lines.append("person     \(person.name)")
        case .nobody(let reason): lines.append("person     none: \(reason)")
        }
        lines.append("source     \(RecordText.source(current.record.source))")
        if case .sample(let sample) = (retracted ?? current).record {
            lines.append("key        \(sample.key.text)")
            if let group = sample.group { lines.append("group      \(group)") }
            // The one place where every digit stands: the values below are rounded, and in the person's unit.
            if (retracted ?? current).canonical != nil { lines.append("given as   \(ValueText.word(sample.value))") }
        }
        if case .day(let day) = (retracted ?? current).record {
            let reader = units[day.person]
            lines.append("day        \(reader.date(day.date)) of \(day.series), \(DayLines.how(day, reader))")
            let numbers = day.basis.map { basis in
                switch basis {
                case .number(let number): "\(number)"
                case .key(let key): key.text
                }
            }
            if !numbers.isEmpty {
                let missing = DayLines.basisCount(day) - numbers.count
                lines.append(
                    "made of    \(numbers.count == 1 ? "record" : "records") \(numbers.joined(separator: ", "))"
                        + (missing > 0 ? " and \(NumberText.count(missing, "other")), which are not named" : ""))
            }
        }
        if case .retraction = current.record { lines.append("state      \(RecordText(current, units).value)") }
        if let topic { lines.append("published  \(topic)") }
        return lines
    }

    /// What a person did to make a version, and why; or that it was not shown.
    private static func how(_ version: [String: ArraySlice<UInt8>]) -> String {
        let reason = version["reason"].flatMap { RawJSON(trusted: Array($0)).textValue }
        let deed: String? =
            switch text(version["deed"]) {
            case "editUndone": "edit undone by hand"
            case "retractionUndone": "brought back by hand"
            case let deed?: "\(deed) by hand"
            case nil: version["covered"] == nil ? nil : "by its source, beneath what a person did"
            }
        let done = (deed ?? "") + (reason.map { ": \($0)" } ?? "")
        return [done, ruling(version["ruling"])].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "; ")
    }

    /// The rule that found a version's person, or did not.
    private static func ruling(_ bytes: ArraySlice<UInt8>?) -> String? {
        guard let members = bytes.map({ RawMembers.members(of: $0) }) else { return nil }
        let odds = members["odds"].flatMap { RawJSON(trusted: Array($0)).textValue }
        return switch text(members["rule"]) {
        case "subject": "the device's user"
        case "weight": "by weight: \(odds ?? "")"
        case "group": "with its group" + (odds.map { ": \($0)" } ?? "")
        default: nil
        }
    }

    /// A string's or number's text.
    private static func text(_ value: ArraySlice<UInt8>?) -> String? {
        guard let value else { return nil }
        let text = String(decoding: value, as: UTF8.self)
        return text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
    }
}
