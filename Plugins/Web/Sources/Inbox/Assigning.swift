import HTMLText
import HandEntries
import HealthText
import Hummingbird
import PluginKit
import Samples

/// What the buttons of the inbox do; the owner's alone.
struct Assigning: Sendable {
    let parts: WebParts

    /// The records that a form names, as they were when it was shown.
    ///
    /// - Throws: ``Refusal`` where one has changed meanwhile.
    private func records(_ form: WebForm, _ viewer: Viewer) async throws -> [StoredRecord] {
        guard let versions = RecordVersions.read(try form.text("records")) else {
            throw Refusal(.badRequest, "The form lacks records", "Open the page again, and press its button.")
        }
        var records: [StoredRecord] = []
        for number in versions.keys.sorted() {
            let record = try await parts.reader.any(number, for: viewer)
            guard record.sequence == versions[number] else {
                throw Refusal(
                    .conflict, "Record \(number) has changed meanwhile",
                    "Nothing was done. \(Self.standing(record)) Open the page again: it shows how it is now.")
            }
            records.append(record)
        }
        return records
    }

    private static func standing(_ record: StoredRecord) -> String {
        if case .retraction = record.record { return "It was deleted." }
        return record.assignment.person.map { "It is \($0.name)'s by now." } ?? "It has no person."
    }

    private func numbers(_ records: [StoredRecord]) -> SettingValue { .list(records.map { .integer($0.number) }) }

    func assign(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let choice = try Choice(request, visit, parts)
        var arguments: [String: SettingValue] = ["numbers": numbers(named)]
        if form["alone"] != nil { arguments["alone"] = .boolean(true) }
        let person = form["to"].flatMap { name in choice.persons.first { $0.name == name }?.name }
        if let person {
            arguments["to"] = .string(person)
        } else {
            guard let reason = form["nobody"] else {
                throw Refusal(.badRequest, "The form lacks to", "Open the page again, and press one of its buttons.")
            }
            (arguments["nobody"], arguments["reason"]) = (.boolean(true), .string(reason))
        }
        // What was measured together goes along, and may be of several by now.
        let all = try await parts.hand.plan(.assign, arguments, for: viewer).entries.map(\.number)
        let before = try await parts.reader.records(all).mapValues(\.assignment)
        let done = try await parts.hand.runWhole(.assign, arguments, for: viewer)
        let changed = done.entries.compactMap(\.record)
        let whose = person.map { "\($0)'s" } ?? "no one's"
        guard let first = changed.first else {
            parts.notices.put("It was \(whose) already.", for: viewer)
            return PageAnswer.redirect(to: InboxPage.path)
        }
        let line = RecordLine.line(first, choice.with(first).reader)
        let others = changed.count > 1 ? " and \(NumberText.count(changed.count - 1, "more record"))" : ""
        parts.notices.put(
            "\(line)\(others): now \(whose). \(back(changed, before, viewer))", for: viewer)
        return PageAnswer.redirect(to: InboxPage.path)
    }

    /// A button for each to whom records were, and are given back.
    private func back(_ records: [StoredRecord], _ before: [Int64: Assignment], _ viewer: Viewer) -> HTML {
        let parts = Dictionary(grouping: records) { before[$0.number] ?? $0.assignment }
            .sorted { $0.value[0].number < $1.value[0].number }
        return HTML.each(parts) { former, records in
            let (field, whose): (HTML, HTML) =
                switch former {
                case .person(let person): (FormFields.hidden("to", person.name), "what was \(person.name)'s")
                // With the odds that the hub had found for it.
                case .nobody(let reason):
                    (FormFields.hidden("nobody", reason.isEmpty ? "put back by hand" : reason), "what had no person")
                }
            return """
                <form class="inline" method="post" action="/inbox/assign">\(WebForm.token(of: viewer))\
                \(FormFields.hidden("records", RecordVersions.text(records)))\(FormFields.hidden("alone", "true"))\(field)\
                <button>Undo\(parts.count > 1 ? " for \(whose)" : "")</button></form>
                """
        }
    }

    func delete(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let gone = try await changed(.retract, ["numbers": numbers(named)], viewer)
        parts.notices.put(
            gone.isEmpty
                ? "It was deleted before."
                : """
                \(NumberText.count(gone.count, "record")) deleted. <form class="inline" method="post" action="/inbox/restore">\
                \(WebForm.token(of: viewer))\(FormFields.hidden("records", RecordVersions.text(gone)))<button>Undo</button></form>
                """, for: viewer)
        return PageAnswer.redirect(to: InboxPage.path)
    }

    func restore(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let back = try await changed(.retract, ["numbers": numbers(named), "undo": .boolean(true)], viewer)
        parts.notices.put(
            back.isEmpty ? "It was not deleted." : "\(NumberText.count(back.count, "record")) back again.", for: viewer)
        return PageAnswer.redirect(to: InboxPage.path)
    }

    /// Does it.
    ///
    /// - Returns: what is another than before, as it is now: with a correlation or a workout its members.
    private func changed(
        _ right: OwnerRight, _ arguments: [String: SettingValue], _ viewer: Viewer
    ) async throws -> [StoredRecord] {
        let done = try await parts.hand.runWhole(right, arguments, for: viewer)
        let numbers = done.entries.filter { $0.outcome == "stored" }.map(\.number)
        return try await parts.reader.records(numbers).values.sorted { $0.number < $1.number }
    }
}
