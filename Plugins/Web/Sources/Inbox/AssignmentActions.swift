import HealthText
import Hummingbird
import PluginKit
import Samples

/// Handles the buttons of the inbox; only for the owner.
struct AssignmentActions: Sendable {
    let parts: WebParts

    /// The records in a form, in the versions that it showed.
    ///
    /// - Throws: ``RequestRefusal`` if a record has changed meanwhile.
    private func records(_ form: WebForm, _ choice: SelectedPerson) async throws -> [StoredRecord] {
        guard let versions = RecordVersions.read(try form.text("records")) else {
            throw RequestRefusal(.badRequest, "The form lacks records", "Open the page again, and press its button.")
        }
        var records: [StoredRecord] = []
        for number in versions.keys.sorted() {
            let record = try await parts.reader.any(number, for: choice.viewer)
            guard record.sequence == versions[number] else {
                throw RequestRefusal(
                    .conflict, "Record \(number) has changed meanwhile",
                    "Nothing was done. \(Self.standing(record, choice)) Open the page again: it shows how it is now.")
            }
            records.append(record)
        }
        return records
    }

    private static func standing(_ record: StoredRecord, _ choice: SelectedPerson) -> String {
        if case .retraction = record.record { return "It was deleted." }
        return record.assignment.isInInbox ? "It has no person." : "It is \(whose(record.assignment, choice)) by now."
    }

    private static func whose(_ assignment: Assignment, _ choice: SelectedPerson) -> String {
        assignment.person.map { "\(choice.shownName($0.name))'s" } ?? (assignment.isGuest ? "a guest's" : "no one's")
    }

    /// The choice of a button, as a field of its form.
    private enum Word: Hashable {
        case person(String)
        case guest
        case nobody(String)
        /// The person whom the hub's rules had found.
        case undo

        init?(_ form: WebForm, _ choice: SelectedPerson) {
            if let name = form["to"].flatMap({ name in choice.persons.first { $0.name == name }?.name }) {
                self = .person(name)
            } else if form["guest"] != nil {
                self = .guest
            } else if form["undo"] != nil {
                self = .undo
            } else if let reason = form["nobody"] {
                self = .nobody(reason)
            } else {
                return nil
            }
        }

        /// The choice that restores an assignment.
        init(_ former: Assignment) {
            switch former {
            case .person(let person): self = .person(person.name)
            case .guest: self = .guest
            case .nobody(let reason): self = .nobody(reason.isEmpty ? "put back by hand" : reason)
            }
        }

        var field: (name: String, value: String) {
            switch self {
            case .person(let name): ("to", name)
            case .guest: ("guest", "true")
            case .nobody(let reason): ("nobody", reason)
            case .undo: ("undo", "true")
            }
        }

        var arguments: [String: SettingValue] {
            switch self {
            case .person(let name): ["to": .string(name)]
            case .guest: ["guest": .boolean(true)]
            case .nobody(let reason): ["nobody": .boolean(true), "reason": .string(reason)]
            case .undo: ["undo": .boolean(true)]
            }
        }

        /// The target of the choice, in words.
        func aim(_ choice: SelectedPerson) -> String {
            switch self {
            case .person(let name): "back to \(choice.shownName(name))"
            case .guest: "back to a guest"
            case .nobody: "back into the inbox"
            case .undo: "as it came"
            }
        }
    }

    func assign(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let choice = try SelectedPerson(request, visit, parts)
        let named = try await records(form, choice)
        var arguments = named.asSeen
        if form["alone"] != nil { arguments["alone"] = .boolean(true) }
        guard let word = Word(form, choice) else {
            throw RequestRefusal(.badRequest, "The form lacks to", "Open the page again, and press one of its buttons.")
        }
        arguments.merge(word.arguments) { $1 }
        // Measurements of one group move together, and may belong to several persons by now.
        let all = try await parts.hand.plan(.assign, arguments, for: viewer).entries.map(\.number)
        let before = try await ways(back: all, viewer)
        let done = try await parts.hand.runAll(.assign, arguments, for: viewer)
        let changed = done.entries.compactMap(\.record)
        guard let first = changed.first else {
            let record = try await parts.reader.any(named[0].number, for: viewer)
            return parts.told("It was \(Self.whose(record.assignment, choice)) already.", viewer, on: InboxPage.path)
        }
        let line = RecordLine.line(first, choice.with(first).reader)
        let others = changed.count > 1 ? " and \(NumberText.count(changed.count - 1, "more record"))" : ""
        return parts.told(
            "\(line)\(others): now \(Self.whose(first.assignment, choice)). \(back(changed, before, choice))", viewer,
            on: InboxPage.path)
    }

    /// The choice that restores each record's assignment; an undo if no hand has assigned it.
    private func ways(back numbers: [Int64], _ viewer: Viewer) async throws -> [Int64: Word] {
        var ways = try await parts.reader.records(numbers).mapValues { Word($0.assignment) }
        // A group may have more members than a command takes; those are restored by name.
        guard numbers.count <= 1_000 else { return ways }
        let undoing: [String: SettingValue] = [
            "numbers": .list(numbers.map { .integer($0) }), "undo": .boolean(true), "alone": .boolean(true),
        ]
        let plan = try await parts.hand.plan(.assign, undoing, for: viewer)
        for entry in plan.entries where entry.outcome == "duplicate" { ways[entry.number] = .undo }
        return ways
    }

    /// A button for each way back.
    private func back(_ records: [StoredRecord], _ before: [Int64: Word], _ choice: SelectedPerson) -> HTML {
        let parts = Dictionary(grouping: records) { before[$0.number] ?? .undo }
            .sorted { $0.value[0].number < $1.value[0].number }
        return HTML.each(parts) { word, records in
            HTML.button(
                "/inbox/assign", "Undo\(parts.count > 1 ? ": \(word.aim(choice))" : "")",
                [("records", RecordVersions.text(records)), ("alone", "true"), word.field]
            )
        }
    }

    func delete(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, try SelectedPerson(request, visit, parts))
        let gone = try await changed(.retract, named.asSeen, viewer)
        guard !gone.isEmpty else { return parts.told("It was deleted before.", viewer, on: InboxPage.path) }
        let undo = HTML.button("/inbox/restore", "Undo", [("records", RecordVersions.text(gone))])
        return parts.told("\(NumberText.count(gone.count, "record")) deleted. \(undo)", viewer, on: InboxPage.path)
    }

    func restore(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let named = try await records(form, try SelectedPerson(request, visit, parts))
        let back = try await changed(.retract, named.asSeen.merging(["undo": .boolean(true)]) { $1 }, viewer)
        return parts.told(
            back.isEmpty ? "It was not deleted." : "\(NumberText.count(back.count, "record")) back again.", viewer,
            on: InboxPage.path)
    }

    /// Runs a command.
    ///
    /// - Returns: the changed records in their new versions, including members of a correlation or workout.
    private func changed(
        _ right: OwnerRight, _ arguments: [String: SettingValue], _ viewer: Viewer
    ) async throws -> [StoredRecord] {
        let done = try await parts.hand.runAll(right, arguments, for: viewer)
        let numbers = done.entries.filter { $0.outcome == "stored" }.map(\.number)
        return try await parts.reader.records(numbers).values.sorted { $0.number < $1.number }
    }
}
