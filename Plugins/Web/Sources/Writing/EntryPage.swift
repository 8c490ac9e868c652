import HealthText
import Hummingbird
import Platform
import PluginKit
import Samples

/// The page Add: a value of any type that can be entered by hand, with its time and a note.
struct EntryPage: Sendable {
    private static let path = "/add"

    let parts: WebParts

    /// The address of the form for a person.
    static func path(of person: String, _ type: TypeID? = nil) -> String {
        let members = [(name: "person", value: person)] + (type.map { [(name: "type", value: $0.rawValue)] } ?? [])
        return "\(path)?" + FormText.write(members)
    }

    /// A link from the page of a type; empty for types that cannot be entered by hand.
    static func link(_ type: TypeID, _ person: String) -> HTML {
        guard TypeRegistry.standard.type(type).flatMap(EntryForm.init) != nil else { return HTML() }
        return "<p><a class=\"button\" href=\"\(url: path(of: person, type))\">Add one</a></p>"
    }

    // MARK: - Showing the form

    func show(_ request: Request, _ visit: WebRequestContext) throws -> Response {
        let choice = try SelectedPerson(request, visit, parts)
        guard let person = choice.person else { throw noSuchPage }
        guard let name = request.uri.queryParameters["type"].map(String.init) else { return types(choice, person) }
        let form = try Self.form(of: name)
        var fields = FormFields()
        fields.values["unit"] = form.unit(for: person.reader)
        fields.values["facts"] = form.neededFacts
        return page(form, fields, choice, person)
    }

    private static func form(of name: String) throws -> EntryForm {
        guard let type = EverydayNames.type(name), let form = EntryForm(type) else { throw noSuchPage }
        return form
    }

    /// The choice of a type.
    private func types(_ choice: SelectedPerson, _ person: Welcome.PersonEntry) -> Response {
        let common = HTML.each(EntryForm.common.filter { TypeRegistry.standard.type($0) != nil }) { type in
            "<li><a class=\"button\" href=\"\(url: Self.path(of: person.name, type))\">\(NameWords.type(type))</a></li>"
        }
        let all = TypeRegistry.standard.all.filter { EntryForm($0) != nil }
        let groups = Dictionary(grouping: all) { $0.group ?? "other" }.sorted { $0.key < $1.key }
        let options = HTML.each(groups) { group, types in
            let options = types.map { FormOption(value: $0.id.rawValue, text: $0.displayName) }
                .sorted { $0.text < $1.text }
            return "<optgroup label=\"\(NameWords.text(group))\">\(FormFields.options(options, chosen: nil))</optgroup>"
        }
        let title = choice.persons.count > 1 ? "Add for \(person.shownName)" : "Add"
        return PageFrame(title: title, choice: choice, path: Self.path).page(
            """
            \(parts.grants.shown(.log, to: "Adding values") { HTML() })
            <ul class="tiles">\(common)</ul>
            <form class="entry" method="get" action="\(url: Self.path)">\(FormFields.hidden("person", person.name))
            <div class="field"><label for="type">Another type</label><select id="type" name="type">\(options)</select></div>
            <p><button>Go on</button></p></form>
            """)
    }

    private func page(
        _ form: EntryForm, _ fields: FormFields, _ choice: SelectedPerson, _ person: Welcome.PersonEntry,
        doubts: HTML = HTML(), sure: String? = nil
    ) -> Response {
        var fields = fields
        if fields.values["entry"] == nil { fields.values["entry"] = EntryKey(at: parts.hub.clock.now()).text }
        let shown = form.names + TimeFields.names + ["note", "facts"]
        let frame = PageFrame(
            title: "Add \(NameWords.lowered(NameWords.type(form.type.id))) for \(person.shownName)", choice: choice,
            path: Self.path)
        if let denial = frame.denial(.log, parts.grants, to: "Adding values") { return denial }
        return frame.page(
            """
            \(fields.summary(besides: shown))\(doubts)
            <form class="entry" method="post" action="\(url: Self.path(of: person.name, form.type.id))">\
            \(fields.hidden("entry"))\
            \(sure.map { FormFields.hidden("sure", $0) } ?? HTML())
            \(form.html(fields, for: person.reader))
            \(TimeFields.html(fields))
            \(fields.line("note", "Note"))
            <details \("open", if: !(fields.values["facts"] ?? "").isEmpty)><summary>More about it</summary>
            \(fields.area("facts", "Facts", hint: "One in a line: its name, = and its value, such as Insulin delivery reason=bolus."))</details>
            <p><button class="main">\(sure == nil ? "Save" : "Save anyway")</button>
            <a href="\(url: "/types/\(form.type.id.rawValue)?" + FormText.write([(name: "person", value: person.name)]))">Not now</a></p>
            </form>
            """, fields.faults.isEmpty ? .ok : .unprocessableContent)
    }

    // MARK: - Saving

    func save(_ request: Request, _ visit: WebRequestContext) async throws -> Response {
        let (sent, viewer) = try await WebForm.read(request, visit)
        let choice = try SelectedPerson(request, visit, parts)
        guard let person = choice.person, let name = request.uri.queryParameters["type"].map(String.init) else {
            throw noSuchPage
        }
        let form = try Self.form(of: name)
        var fields = FormFields.typed(sent, form.names + TimeFields.names + ["note", "facts"])
        let key = EntryKey(sent["entry"]) ?? EntryKey(at: parts.hub.clock.now())
        fields.values["entry"] = key.text
        do {
            let now = parts.hub.clock.now()
            let content = key.content(fields)
            let arguments = try arguments(form, sent, person, now, key: content)
            let expected = try await parts.hand.plan(.log, arguments, for: viewer)
            if let rejected = expected.entries.first(where: \.isRejected) {
                throw CommandFailure(rejected.outcome, rejected.reason ?? rejected.outcome)
            }
            let doubts = doubts(about: expected, now, person.reader)
            if !doubts.isEmpty, sent["sure"] != content {
                return page(form, fields, choice, person, doubts: Self.question(doubts), sure: content)
            }
            let done = try await parts.hand.runAll(.log, arguments, for: viewer)
            parts.notices.put(Self.notice(done, person.reader), for: viewer)
            let type = done.entries.first?.record?.type ?? form.type.id
            return PageAnswer.redirect(
                to: "/types/\(type.rawValue)?" + FormText.write([(name: "person", value: person.name)]))
        } catch let fault as EntryError {
            fields.faults[fault.field ?? "value"] = fault.message
        } catch let failure as CommandFailure {
            fields.faults[Self.field(of: failure, form)] = failure.message
        }
        return page(form, fields, choice, person)
    }

    private func arguments(
        _ form: EntryForm, _ sent: WebForm, _ person: Welcome.PersonEntry, _ now: Int64, key: String
    ) throws -> [String: SettingValue] {
        let entry = try form.entry(sent)
        do throws(EntryError) {
            let clock = try PersonClock(zone: person.zone, now: now)
            let times = try TimeFields.read(sent, by: clock)
            return try entry.arguments(times, of: person.name, by: clock, note: sent["note"], key: key)
        } catch {
            throw error.inForm(orElse: form.type.kind == .workout ? "last" : "at")
        }
    }

    /// The field beside which a refusal of the hub is shown.
    private static func field(of failure: CommandFailure, _ form: EntryForm) -> String {
        switch failure.code {
        case "time": "at"
        case "metadata": failure.message.hasPrefix("note") ? "note" : "facts"
        case "value", "unit", "group": "value"
        default: "hub"
        }
    }

    private func doubts(about answer: ManualAnswer, _ now: Int64, _ reader: DisplayPreferences) -> [HTML] {
        let doubts: [HTML] = TypoCheck.about(answer, now: now) { _ in reader }.map { "\($0)." }
        guard let number = TypoCheck.repeated(in: answer) else { return doubts }
        return doubts + ["Record \(RecordDetailPage.link(number)) says the same; it can be corrected there."]
    }

    /// Asks for confirmation above the form.
    static func question(_ doubts: [HTML]) -> HTML {
        """
        <div class="doubt" role="alert"><p>Is that right?</p><ul>\(HTML.each(doubts) { "<li>\($0)</li>" })</ul>
        <p>Nothing was saved yet. Correct it, or save it anyway.</p></div>
        """
    }

    private static func notice(_ answer: ManualAnswer, _ reader: DisplayPreferences) -> HTML {
        guard let first = answer.entries.first else { return "The hub has stored nothing." }
        guard let record = first.record else {
            return "\(RecordDetailPage.link(first.number)) says so already: it was entered before."
        }
        return "\(RecordLine.line(record, reader)): saved. \(UndoForm.html("add", record))"
    }
}

/// Identifies an opened form, so that sending it twice makes one entry.
struct EntryKey: Sendable {
    /// When the form was opened, and a random number.
    let text: String

    /// - Parameter now: the time in microseconds since 1970.
    init(at now: Int64) { text = "\(Timestamp(microseconds: now).text) \(UInt64.random(in: 0..<1_000_000_000))" }

    /// Nil for a text that is not from such a form.
    init?(_ text: String?) {
        guard let text, text.utf8.count <= 40, (try? Timestamp(parsing: String(text.prefix { $0 != " " }))) != nil
        else { return nil }
        self.text = text
    }

    /// The record's key: from the form and its content, so that another value is another entry.
    func content(_ fields: FormFields) -> String {
        let all = fields.values.filter { $0.key != "entry" }.sorted { $0.key < $1.key }
        let sum = Digests.sha256("\(text)\n\(FormText.write(all.map { (name: $0.key, value: $0.value) }))".utf8)
        return "\(text.prefix { $0 != " " }) \(sum.hexadecimal.prefix(16))"
    }
}
