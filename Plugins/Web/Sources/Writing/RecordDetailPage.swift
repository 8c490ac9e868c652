import HealthText
import Hummingbird
import PluginKit
import Samples

/// The page of a record: its content, the possible actions, and its story.
struct RecordDetailPage: Sendable {
    let parts: WebParts

    static func path(_ number: Int64) -> String { "/records/\(number)" }

    static func link(_ number: Int64) -> HTML { "<a href=\"\(url: path(number))\">\(number)</a>" }

    func show(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let plain = try SelectedPerson(request, visit, parts)
        let record = try await parts.reader.any(try visit.record, for: plain.viewer)
        let choice = plain.with(record)
        let frame = PageFrame(title: "\(NameWords.type(record.type)), record \(record.number)", choice: choice)
        let next = request.uri.queryParameters["next"].map(String.init)
        let story =
            parts.grants.have(.trace) ? try await StoryTables(of: record, next: next, choice.viewer, parts) : nil
        let told = story?.html ?? parts.grants.shown(.trace, to: "Its history") { HTML() }
        if next != nil { return frame.page(told) }
        let more = story?.facts ?? []
        switch record.record {
        case .retraction(let retraction):
            return frame.page(removed(record, retraction, more, choice) + told)
        case .day(let day):
            return frame.page(
                Self.list(
                    [
                        ("Value", "\(ValueText.marked(record, for: choice.reader))"),
                        (
                            "Day",
                            "\(choice.reader.date(day.date)) of \(day.series), \(DayWords.how(day, choice.reader))"
                        ),
                        ("Source", "\(RecordText.source(day.source))"),
                    ] + more) + "<p>A day's value is computed: edit its samples instead.</p>" + told)
        case .sample(let sample):
            let group = try await parts.reader.group(of: record, for: choice.viewer)
            return frame.page(
                facts(record, sample, more, choice) + deeds(record, group, choice)
                    + members(group.filter { $0.number != record.number }, choice) + told)
        }
    }

    private static func list(_ facts: [(String, HTML)]) -> HTML {
        "<dl>\(HTML.each(facts) { "<dt>\($0.0)</dt><dd>\($0.1)</dd>" })</dl>"
    }

    private func facts(
        _ record: StoredRecord, _ sample: Sample, _ told: [(String, HTML)], _ choice: SelectedPerson
    ) -> HTML {
        let reader = choice.reader
        var facts: [(String, HTML)] = []
        let value = ValueText.marked(record, for: reader)
        if !value.isEmpty { facts.append(("Value", "<span class=\"big\">\(value)</span>")) }
        if case .quantity(let value, let unit) = sample.value {
            facts.append(("As it was given", "\(ValueText.given(value, unit))"))
        }
        facts.append(("When", "\(RecordLine.when(record, reader))"))
        switch record.assignment {
        case .person(let person): facts.append(("Whose", "\(choice.shownName(person.name))"))
        case .guest: facts.append(("Whose", "a guest's"))
        case .nobody(let why): facts += [("Whose", "no one's yet"), ("Why", "\(why)")]
        }
        facts.append(("Source", "\(RecordText.source(sample.source))"))
        if let note = RecordLine.note(sample) { facts.append(("Note", "\(note)")) }
        let edited = SampleMembers.named.filter { record.edited.contains($0.member) }.map {
            $0.member == .metadata ? "note" : "\($0.name)"
        }
        if !edited.isEmpty { facts.append(("Edited by hand", "\(edited.joined(separator: ", "))")) }
        let doubts = PlausibilityWarnings.of(record, for: reader)
        if !doubts.isEmpty { facts.append(("Looks wrong", "\(doubts.joined(separator: "; "))")) }
        // Skip members that are internal or name another person.
        for fact in MetadataWords.facts(of: sample, for: reader)
        where !["note", "wasUserEntered", "profileOf"].contains(fact.key) {
            facts.append(("\(fact.name)", "\(fact.value)"))
        }
        return Self.list(facts + told)
    }

    private func deeds(_ record: StoredRecord, _ group: [StoredRecord], _ choice: SelectedPerson) -> HTML {
        let (grants, path) = (parts.grants, Self.path(record.number))
        var deeds = HTML()
        if grants.have(.edit) {
            deeds += "<a class=\"button\" href=\"\(url: path + "/edit")\">Edit</a> "
            if record.isEdited(with: group) { deeds += UndoForm.html("edit", record, "Undo all edits") }
        }
        if grants.have(.retract) { deeds += "<a class=\"button\" href=\"\(url: path + "/delete")\">Delete</a>" }
        return """
            <div class="deeds">\(deeds)\(AssignForm.html(record, choice, grants))</div>\
            \(grants.shown(.edit, to: "Editing") { HTML() })\(grants.shown(.retract, to: "Deleting") { HTML() })
            """
    }

    private func members(_ others: [StoredRecord], _ choice: SelectedPerson) -> HTML {
        guard !others.isEmpty else { return HTML() }
        return HTML.table("Belongs with it", ["Number", "Type", "Value"], others) { other in
            [
                Self.link(other.number), "\(NameWords.type(other.type))",
                "\(ValueText.marked(other, for: choice.reader))",
            ]
        }
    }

    private func removed(
        _ record: StoredRecord, _ retraction: Retraction, _ told: [(String, HTML)], _ choice: SelectedPerson
    ) -> HTML {
        let byHand = retraction.author == .person
        var lines: [(String, HTML)] = [
            ("Deleted", byHand ? "by hand" : "by its source, which alone can bring it back"),
            ("Source", "\(RecordText.source(retraction.source))"),
        ]
        if choice.viewer.readsReasons, let reason = retraction.reason { lines.append(("Reason", "\(reason)")) }
        let facts = Self.list(lines + told)
        guard byHand else { return facts }
        return facts
            + parts.grants.shown(.retract, to: "Bringing it back") { UndoForm.html("delete", record, "Bring it back") }
    }
}

extension StoredRecord {
    /// Whether an undo removes edits; for a correlation or workout including those of its members.
    func isEdited(with group: [StoredRecord]) -> Bool {
        guard case .sample(let sample) = record, [.correlation, .workout].contains(sample.value.kind) else {
            return !edited.isEmpty
        }
        return group.contains { !$0.edited.isEmpty }
    }
}
