import HTMLText
import HandEntries
import HealthText
import Hummingbird
import PluginKit
import Samples

/// The page of a record: what it says, since when, and what can be done with it.
struct RecordPage: Sendable {
    let parts: WebParts

    static func path(_ number: Int64) -> String { "/records/\(number)" }

    static func link(_ number: Int64) -> HTML { "<a href=\"\(url: path(number))\">\(number)</a>" }

    func show(_ request: Request, _ visit: Visit) async throws -> Response {
        let plain = try Choice(request, visit, parts)
        let record = try await parts.reader.any(try visit.record, for: plain.viewer)
        let choice = plain.with(record)
        let frame = Frame(title: "\(TypeName.text(record.type)), record \(record.number)", choice: choice)
        let versions = try await versions(of: record, choice)
        switch record.record {
        case .retraction(let retraction):
            return PageAnswer.page(frame.html(removed(record, retraction, choice) + versions))
        case .day(let day):
            return PageAnswer.page(
                frame.html(
                    Self.list([
                        ("Value", "\(ValueText.spoken(record, for: choice.reader))"),
                        ("Day", "\(choice.reader.date(day.date))"), ("Source", "\(RecordText.source(day.source))"),
                    ]) + "<p>A day's value is computed: what it is made of can be edited.</p>"))
        case .sample(let sample):
            let group = try await parts.reader.group(of: record, for: choice.viewer)
            return PageAnswer.page(
                frame.html(
                    facts(record, sample, choice) + deeds(record, choice)
                        + members(group.filter { $0.number != record.number }, choice) + versions))
        }
    }

    private static func list(_ facts: [(StaticString, HTML)]) -> HTML {
        "<dl>\(HTML.each(facts) { "<dt>\(HTML(stringLiteral: $0.0))</dt><dd>\($0.1)</dd>" })</dl>"
    }

    private func facts(_ record: StoredRecord, _ sample: Sample, _ choice: Choice) -> HTML {
        let reader = choice.reader
        var facts: [(StaticString, HTML)] = []
        let value = ValueText.spoken(record, for: reader)
        if !value.isEmpty { facts.append(("Value", "<span class=\"big\">\(value)</span>")) }
        if case .quantity(let value, let unit) = sample.value {
            facts.append(("As it was given", "\(ValueText.exact((value, unit)))"))
        }
        facts.append(("When", "\(RecordText.when(record, reader))"))
        facts.append(("Whose", "\(record.assignment.person?.name ?? "no one's yet")"))
        if case .nobody(let why) = record.assignment { facts.append(("Why", "\(why)")) }
        facts.append(("Source", "\(RecordText.source(sample.source))"))
        if let note = RecordText.note(sample) { facts.append(("Note", "\(note)")) }
        let edited = SampleMembers.named.filter { record.edited.contains($0.member) }.map {
            $0.member == .metadata ? "note" : "\($0.name)"
        }
        if !edited.isEmpty { facts.append(("Edited by hand", "\(edited.joined(separator: ", "))")) }
        let doubts = Doubts.of(record)
        if !doubts.isEmpty { facts.append(("Hardly true", "\(doubts.joined(separator: "; "))")) }
        // What is the hub's own, or names another person, says nothing here.
        let more = RecordText.facts(sample).filter { !["note", "wasUserEntered", "profileOf"].contains($0.key) }
        for (name, text) in more.sorted(by: { $0.key < $1.key }) { facts.append(("Fact", "\(name): \(text)")) }
        return Self.list(facts)
    }

    private func deeds(_ record: StoredRecord, _ choice: Choice) -> HTML {
        let hand = parts.hand
        let path = Self.path(record.number)
        var deeds = HTML()
        if hand.may(.edit) {
            deeds += "<a class=\"button\" href=\"\(url: path + "/edit")\">Edit</a> "
            if record.edited != [] { deeds += UndoForm.html("edit", record, choice.viewer, "Undo all edits") }
        }
        if hand.may(.retract) { deeds += "<a class=\"button\" href=\"\(url: path + "/delete")\">Delete</a>" }
        var advice = HTML()
        if !hand.may(.edit) { advice += hand.advice(.edit, to: "To edit here") }
        if !hand.may(.retract) { advice += hand.advice(.retract, to: "To delete here") }
        return "<div class=\"deeds\">\(deeds)\(AssignForm.html(record, choice, hand))</div>\(advice)"
    }

    private func members(_ others: [StoredRecord], _ choice: Choice) -> HTML {
        guard !others.isEmpty else { return HTML() }
        var table = HTMLTable(caption: "Belongs with it", columns: ["Number", "Type", "Value"])
        for other in others {
            table.rows.append([
                Self.link(other.number), "\(TypeName.text(other.type))",
                "\(ValueText.spoken(other, for: choice.reader))",
            ])
        }
        return table.html
    }

    private func removed(_ record: StoredRecord, _ retraction: Retraction, _ choice: Choice) -> HTML {
        let byHand = retraction.author == .person
        var lines: [(StaticString, HTML)] = [
            ("Deleted", byHand ? "by hand" : "by its source, which alone can bring it back"),
            ("Source", "\(RecordText.source(retraction.source))"),
        ]
        if let reason = retraction.reason { lines.append(("Reason", "\(reason)")) }
        let facts = Self.list(lines)
        guard byHand else { return facts }
        return facts
            + (parts.hand.may(.retract)
                ? UndoForm.html("delete", record, choice.viewer, "Bring it back")
                : parts.hand.advice(.retract, to: "To bring it back here"))
    }

    // MARK: - Versions

    private static let shownVersions: Int64 = 20

    private func versions(of record: StoredRecord, _ choice: Choice) async throws -> HTML {
        guard parts.hand.may(.trace) else { return parts.hand.advice(.trace, to: "To see its earlier versions") }
        let answer = try await parts.hub.trace(record.number, limit: Self.shownVersions)
        var table = HTMLTable(
            caption: "Versions, the newest \(Self.shownVersions)", columns: ["Stored", "Value", "When", "How"])
        for version in RecordVersion.all(in: answer) where choice.viewer.maySee(version.record) {
            table.rows.append([
                "\(version.recordedAt.map { LocalTime.text($0.microseconds) } ?? "")",
                "\(ValueText.spoken(version.record, for: choice.reader))",
                "\(RecordText.when(version.record, choice.reader))", "\(version.how(for: choice.viewer))",
            ])
        }
        return table.rows.isEmpty ? HTML() : table.html
    }
}
