import HealthText
import Hummingbird
import PluginKit
import Samples

/// The page that edits a sample's value, time and note.
struct EditPage: Sendable {
    let parts: WebParts

    /// The edited sample, as it was when the form was opened.
    private struct Subject {
        let record: StoredRecord
        let sample: Sample
        /// Nil if the value cannot be typed.
        let form: EntryForm?
        let group: [StoredRecord]
        /// The members that change with it, if the viewer may see all of them.
        let members: [StoredRecord]
        let choice: SelectedPerson

        /// Arguments that name the record with its version, so that an edit fails if it has changed since.
        var asSeen: [String: SettingValue] {
            members.isEmpty
                ? record.asSeen : record.asSeen.merging(["seqs": members.asSeen["seqs"] ?? .list([])]) { $1 }
        }

        var names: [String] { (form?.names ?? []) + TimeFields.names + ["note", "reason"] }

        /// The fields with the record's present values.
        var values: [String: String] {
            var values = [
                "at": TimeFields.typed(sample.start, choice.reader), "note": RecordLine.note(sample) ?? "",
                "to": sample.end == sample.start ? "" : TimeFields.typed(sample.end, choice.reader), "reason": "",
            ]
            guard let form else { return values }
            for name in form.names { values[name] = "" }
            switch sample.value {
            case .quantity(let value, let unit): (values["value"], values["unit"]) = EditPage.typed(value, unit)
            case .correlation:
                for (name, type) in zip(["value", "second"], form.type.requiredMembers) {
                    guard case .sample(let member)? = group.first(where: { $0.type == type })?.record,
                        case .quantity(let value, let unit) = member.value
                    else { continue }
                    (values[name], values["unit"]) = EditPage.typed(value, unit)
                }
            default: values["value"] = ValueText.word(sample.value)
            }
            return values
        }
    }

    /// A quantity in the form in which it can be typed: all digits, and a fraction as percent.
    private static func typed(_ value: Double, _ unit: String) -> (String, String) {
        (unit == "%" ? NumberText.percent(value) : NumberText.shortest(value), PeopleUnit(unit).spelling)
    }

    private func subject(_ request: Request, _ visit: WebRequestContext) async throws -> Subject {
        let plain = try SelectedPerson(request, visit, parts)
        let (record, sample) = try await parts.reader.sample(try visit.record, for: plain.viewer)
        let form = TypeRegistry.standard.type(record.type).flatMap(EntryForm.init)
        return Subject(
            record: record, sample: sample, form: form?.isEditable == true ? form : nil,
            group: try await parts.reader.group(of: record, for: plain.viewer),
            members: try await parts.reader.members(of: record, for: plain.viewer), choice: plain.with(record))
    }

    // MARK: - Showing the form

    func show(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let subject = try await subject(request, visit)
        return page(subject, FormFields(values: subject.values), was: subject.values)
    }

    private func page(
        _ subject: Subject, _ fields: FormFields, was: [String: String], words: HTML = HTML(), sure: String? = nil
    ) -> Response {
        let number = subject.record.number
        let frame = PageFrame(
            title: "Edit \(NameWords.lowered(NameWords.type(subject.record.type))), record \(number)",
            choice: subject.choice)
        if let denial = frame.denial(.edit, parts.grants, to: "Editing") { return denial }
        let before = FormText.write(was.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) })
        return frame.page(
            """
            \(fields.summary(besides: subject.names))\(words)
            <p>Now: \(RecordLine.line(subject.record, subject.choice.reader))</p>
            <form class="entry" method="post" action="\(url: "\(RecordDetailPage.path(number))/edit")">\
            \(FormFields.hidden("version", "\(subject.record.sequence)"))\
            \(FormFields.hidden("members", RecordVersions.text(subject.members)))\
            \(FormFields.hidden("was", before))\(sure.map { FormFields.hidden("sure", $0) } ?? HTML())
            \(subject.form?.html(fields, for: subject.choice.reader) ?? HTML())
            \(fields.line("at", "When", hint: "Such as 7:30, yesterday 7:30, 2024-03-15 07:30."))
            \(fields.line("to", "Until", hint: "Of what lasted: when it ended."))
            \(fields.area("note", "Note"))
            \(fields.line("reason", "Why it is edited", hint: "For readers of the record's history."))
            <p><button class="main">\(sure == nil ? "Save" : "Save anyway")</button>
            <a href="\(url: RecordDetailPage.path(number))">Not now</a></p></form>
            """, fields.faults.isEmpty ? .ok : .unprocessableContent)
    }

    // MARK: - Saving

    func save(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (sent, viewer) = try await WebForm.read(request, visit)
        let subject = try await subject(request, visit)
        let was = FormText.read(sent["was"] ?? "").filter { subject.names.contains($0.key) }
        var fields = FormFields.typed(sent, subject.names)
        guard try sent.number("version") == subject.record.sequence,
            sent["members"] ?? "" == RecordVersions.text(subject.members)
        else { return conflict(subject, fields, was) }
        do {
            let arguments = try arguments(subject, sent, fields, was)
            let expected = try await parts.hand.plan(.edit, arguments, for: viewer)
            let doubts = doubts(about: expected, subject)
            let content =
                "\(subject.record.sequence) \(fields.values["value"] ?? "") \(fields.values["second"] ?? "")"
                + " \(fields.values["unit"] ?? "") \(fields.values["at"] ?? "") \(fields.values["to"] ?? "")"
            if !doubts.isEmpty, sent["sure"] != content {
                return page(subject, fields, was: was, words: EntryPage.question(doubts), sure: content)
            }
            let done = try await parts.hand.runAll(.edit, arguments, for: viewer)
            parts.notices.put(Self.notice(done, subject), for: viewer)
            return PageAnswer.redirect(to: RecordDetailPage.path(subject.record.number))
        } catch let refusal as RequestRefusal where refusal.status == .conflict {
            // The record has changed between the check above and the command.
            return conflict(try await self.subject(request, visit), fields, was)
        } catch let fault as EntryError {
            fields.faults[fault.field ?? "value"] = fault.message
        } catch let failure as CommandFailure {
            fields.faults[failure.code == "time" ? "at" : failure.code == "metadata" ? "note" : "hub"] = failure.message
        }
        return page(subject, fields, was: was)
    }

    /// Keeps typed fields and updates the others to the present record.
    private func conflict(_ subject: Subject, _ typed: FormFields, _ was: [String: String]) -> Response {
        var fields = typed
        let now = subject.values
        for (name, value) in now where typed.values[name] == was[name] ?? "" { fields.values[name] = value }
        fields.faults["hub"] =
            "This record has changed since the form was opened, and nothing was saved. Below is how it is now, with what you typed."
        return page(subject, fields, was: now)
    }

    private func arguments(
        _ subject: Subject, _ sent: WebForm, _ fields: FormFields, _ was: [String: String]
    ) throws -> [String: SettingValue] {
        func isChanged(_ names: String...) -> Bool { names.contains { fields.values[$0] ?? "" != was[$0] ?? "" } }
        // Browsers end lines with CR and LF.
        func lines(_ text: String?) -> String { (text ?? "").replacing("\r\n", with: "\n") }
        let seen = subject.asSeen
        var arguments = seen
        if let form = subject.form, isChanged("value", "second", "unit") { try form.value(sent).add(to: &arguments) }
        let clock: PersonClock
        do throws(EntryError) {
            clock = try PersonClock(zone: subject.choice.person?.zone, now: parts.hub.clock.now())
        } catch { throw EntryError(error.message, field: "at") }
        if isChanged("at") {
            guard let text = sent["at"] else { throw EntryError("when was it?", field: "at") }
            arguments["start"] = .string(subject.sample.there(try TimeFields.moment(text, "at", clock).time).text)
        }
        if isChanged("to") {
            // Without an end it is a single moment.
            arguments["end"] =
                try sent["to"].map {
                    SettingValue.string(subject.sample.there(try TimeFields.moment($0, "to", clock).time).text)
                } ?? arguments["start"] ?? .string(subject.sample.start.text)
        }
        if lines(fields.values["note"]) != lines(was["note"]) { arguments["note"] = .string(lines(sent["note"])) }
        guard arguments.count > seen.count else {
            throw EntryError("Nothing was changed, so there is nothing to save.", field: "hub")
        }
        arguments["reason"] = sent["reason"].map(SettingValue.string)
        return arguments
    }

    private func doubts(about answer: ManualAnswer, _ subject: Subject) -> [HTML] {
        answer.entries.flatMap { entry in
            // A member may belong to another person by now; the page does not mention it.
            entry.record.flatMap { subject.choice.viewer.maySee($0) ? $0 : nil }.map { record in
                TypoCheck.about(
                    record, last: subject.group.first { $0.number == record.number }, now: parts.hub.clock.now(),
                    for: subject.choice.reader)
            } ?? []
        }.map { "\($0)." }
    }

    private static func notice(_ answer: ManualAnswer, _ subject: Subject) -> HTML {
        let changed = answer.entries.compactMap(\.record)
        guard let after = changed.first(where: { $0.number == subject.record.number }) ?? changed.first else {
            return "Nothing was changed: it was like this already."
        }
        let undone = changed.first { $0.number == subject.record.number } ?? subject.record
        // One undo removes all edits of a record.
        let label: HTML = subject.record.isEdited(with: subject.group) ? "Undo all edits" : "Undo"
        let undo = UndoForm.html("edit", undone, label)
        return "\(RecordLine.line(after, subject.choice.reader)): saved. \(undo)"
    }

    /// Confirms an implausible value by entering the same value by hand.
    func confirm(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (sent, viewer) = try await WebForm.read(request, visit)
        let subject = try await subject(request, visit)
        let (record, sample) = (subject.record, subject.sample)
        try sent.demandVersion(of: record)
        var arguments = subject.asSeen
        if record.implausible.contains(.value), case .quantity(let value, let unit) = sample.value {
            ValueArgument.quantity(value, unit: unit).add(to: &arguments)
        }
        if record.implausible.contains(.start) { arguments["start"] = .string(sample.start.text) }
        if record.implausible.contains(.end) { arguments["end"] = .string(sample.end.text) }
        guard arguments.count > subject.asSeen.count else {
            throw RequestRefusal(.conflict, "Record \(record.number) looks true", "There is nothing to confirm.")
        }
        let done = try await parts.hand.runAll(.edit, arguments, for: viewer)
        parts.notices.put(Self.notice(done, subject), for: viewer)
        return PageAnswer.redirect(to: viewer.isOwner ? InboxPage.path : RecordDetailPage.path(record.number))
    }
}
