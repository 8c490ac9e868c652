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

    func assign(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let choice = try Choice(request, visit, parts)
        var arguments = named.asSeen
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
            return parts.told("It was \(whose) already.", viewer, on: InboxPage.path)
        }
        let line = RecordLine.line(first, choice.with(first).reader)
        let others = changed.count > 1 ? " and \(NumberText.count(changed.count - 1, "more record"))" : ""
        return parts.told(
            "\(line)\(others): now \(whose). \(back(changed, before))", viewer, on: InboxPage.path)
    }

    /// A button for each to whom records were, and are given back.
    private func back(_ records: [StoredRecord], _ before: [Int64: Assignment]) -> HTML {
        let parts = Dictionary(grouping: records) { before[$0.number] ?? $0.assignment }
            .sorted { $0.value[0].number < $1.value[0].number }
        return HTML.each(parts) { former, records in
            let (field, whose): ((name: String, value: String), String) =
                switch former {
                case .person(let person): (("to", person.name), "what was \(person.name)'s")
                // With the odds that the hub had found for it.
                case .nobody(let reason):
                    (("nobody", reason.isEmpty ? "put back by hand" : reason), "what had no person")
                }
            return ButtonForm(
                "/inbox/assign", "Undo\(parts.count > 1 ? " for \(whose)" : "")",
                [("records", RecordVersions.text(records)), ("alone", "true"), field]
            ).html
        }
    }

    func delete(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let gone = try await changed(.retract, named.asSeen, viewer)
        guard !gone.isEmpty else { return parts.told("It was deleted before.", viewer, on: InboxPage.path) }
        let undo = ButtonForm("/inbox/restore", "Undo", [("records", RecordVersions.text(gone))]).html
        return parts.told(
            "\(NumberText.count(gone.count, "record")) deleted. \(undo)", viewer, on: InboxPage.path)
    }

    func restore(_ request: Request, _ visit: Visit) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, viewer)
        let back = try await changed(.retract, named.asSeen.merging(["undo": .boolean(true)]) { $1 }, viewer)
        return parts.told(
            back.isEmpty ? "It was not deleted." : "\(NumberText.count(back.count, "record")) back again.", viewer,
            on: InboxPage.path)
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
