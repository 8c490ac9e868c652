import HealthText
import Hummingbird
import PluginKit
import Samples

/// The pages that delete a record, and undo actions by hand.
struct RemovalPage: Sendable {
    let parts: WebParts

    /// Asks for confirmation, and shows which records are deleted with it.
    func ask(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let plain = try SelectedPerson(request, visit, parts)
        let record = try await parts.reader.sample(try visit.record, for: plain.viewer).record
        let choice = plain.with(record)
        let frame = PageFrame(title: "Delete record \(record.number)?", choice: choice)
        if let denial = frame.denial(.retract, parts.grants, to: "Deleting") { return denial }
        let expected = try await parts.hand.plan(
            .retract, ["numbers": .list([.integer(record.number)])], for: choice.viewer)
        let others = expected.entries.count - 1
        return frame.page(
            """
            <p>\(RecordLine.line(record, choice.reader))</p>
            <p>\(others > 0 ? "What belongs to it goes along: \(NumberText.count(others, "more record")). " : "")It disappears from all lists, and sinks that have it are notified. No source can bring it back; you can.</p>
            <form class="entry" method="post" action="\(url: "\(RecordDetailPage.path(record.number))/delete")">\
            \(FormFields.hidden("version", "\(record.sequence)"))
            \(FormFields().line("reason", "Why", hint: "For readers of the record's history."))
            <p><button class="main">Delete</button> <a href="\(url: RecordDetailPage.path(record.number))">Not now</a></p></form>
            """)
    }

    func remove(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let record = try await parts.reader.any(try visit.record, for: viewer)
        try form.demandVersion(of: record)
        try await retract(record, form["reason"], viewer, try SelectedPerson(request, visit, parts).with(record))
        return PageAnswer.redirect(to: RecordDetailPage.path(record.number))
    }

    private func retract(_ record: StoredRecord, _ reason: String?, _ viewer: Viewer, _ choice: SelectedPerson)
        async throws
    {
        var arguments = [record].asSeen
        arguments["reason"] = reason.map(SettingValue.string)
        let done = try await parts.hand.runAll(.retract, arguments, for: viewer)
        let after = try await parts.reader.any(record.number, for: viewer)
        let line = RecordLine.line(record, choice.reader)
        parts.notices.put(
            done.entries.contains { $0.outcome == "stored" }
                ? "\(line): deleted. \(UndoForm.html("delete", after))" : "\(line): was deleted before.", for: viewer)
    }

    func undo(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (form, viewer) = try await WebForm.read(request, visit)
        let record = try await parts.reader.any(try visit.record, for: viewer)
        let choice = try SelectedPerson(request, visit, parts).with(record)
        try form.demandVersion(of: record)
        let number = record.number
        switch form["what"] {
        case "add": try await retract(record, nil, viewer, choice)
        case "delete":
            let done = try await parts.hand.runAll(
                .retract, [record].asSeen.merging(["undo": .boolean(true)]) { $1 }, for: viewer)
            try await tell(done, number, "is back", "was not deleted", choice)
        case "edit":
            let done = try await parts.hand.runAll(
                .edit, record.asSeen.merging(["undo": .boolean(true)]) { $1 }, for: viewer)
            try await tell(done, number, "as its source says", "was not edited", choice)
        default: throw RequestRefusal(.badRequest, "The form lacks what", "Open the page again, and press its button.")
        }
        return PageAnswer.redirect(to: RecordDetailPage.path(number))
    }

    private func tell(
        _ done: ManualAnswer, _ number: Int64, _ changed: StaticString, _ unchanged: StaticString,
        _ choice: SelectedPerson
    ) async throws {
        let after = try await parts.reader.any(number, for: choice.viewer)
        let isChanged = done.entries.contains { $0.outcome == "stored" }
        parts.notices.put(
            "\(RecordLine.line(after, choice.reader)): \(HTML(stringLiteral: isChanged ? changed : unchanged)).",
            for: choice.viewer)
    }
}
