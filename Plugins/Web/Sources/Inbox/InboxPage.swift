import HealthText
import Hummingbird
import PluginKit
import Samples

/// The page Inbox: records without a person, and values that look wrong.
struct InboxPage: Sendable {
    static let path = "/inbox"
    /// Maximum number of samples in each part; with more, a person should fix the rule or the source.
    private static let most: Int64 = 200

    let parts: WebParts

    func show(_ choice: SelectedPerson) async throws -> Response {
        let (unassigned, moreUnassigned) = try await newest { $0.isOfNoPerson = true }
        let waiting = PendingWeighing.all(of: unassigned)
        let (implausible, moreImplausible) = try await newest { $0.isImplausible = true }
        let frame = PageFrame(title: "Inbox", choice: choice, path: Self.path)
        guard !waiting.isEmpty || !implausible.isEmpty else {
            return frame.page("<p>The inbox is empty: no record waits for a person, and no value looks wrong.</p>")
        }
        let advice = parts.grants.shown(.assign, to: "Saying whose it is") { HTML() }
        let cards = HTML.each(waiting.reversed()) { card($0, choice) }
        return frame.page(
            (waiting.isEmpty
                ? HTML() : "<h2>Whose is it?</h2>\(advice)\(moreUnassigned)<ul class=\"boxes\">\(cards)</ul>")
                + (implausible.isEmpty ? HTML() : doubtful(implausible.reversed(), choice) + moreImplausible))
    }

    /// The newest records, in order of time, and a note if there are more.
    private func newest(_ narrow: (inout QueryRequest.Filter) -> Void) async throws -> ([StoredRecord], HTML) {
        var filter = QueryRequest.Filter()
        // A guest's readings need no assignment.
        filter.isGuest = false
        narrow(&filter)
        let found = try await parts.hub.query(filter, order: .newestFirst, limit: Self.most + 1).records
        let hasMore = found.count > Self.most
        return (
            found.prefix(Int(Self.most)).reversed(),
            hasMore ? "<p class=\"hint\">The newest \(Self.most); older ones come as these go.</p>" : HTML()
        )
    }

    /// Sorts systolic before diastolic, and keeps the order of the others.
    private static func place(_ record: StoredRecord) -> Int { record.type == .bloodPressureDiastolic ? 1 : 0 }

    private func card(_ weighing: PendingWeighing, _ choice: SelectedPerson) -> HTML {
        let reader = choice.withoutPerson.reader
        let first = weighing.records.first
        let values = weighing.records.filter { record in
            if case .sample(let sample) = record.record { return sample.value != .correlation }
            return true
        }.sorted { Self.place($0) < Self.place($1) }
        let lines = HTML.each(values) { record in
            "<li>\(NameWords.type(record.type)) <strong>\(ValueText.marked(record, for: reader))</strong> (\(RecordDetailPage.link(record.number)))</li>"
        }
        let source = first.map { RecordText.source($0.record.source) } ?? ""
        return """
            <li class="box"><h3>\(first.map { RecordLine.when($0, reader) } ?? "")</h3><ul>\(lines)</ul>
            <p>From \(source). \(weighing.why(choice.shownName))</p>
            <div class="deeds">\(AssignForm.candidates(weighing, choice, parts.grants))</div></li>
            """
    }

    private func doubtful(_ records: [StoredRecord], _ choice: SelectedPerson) -> HTML {
        let columns = ["Number", "Type", "Value", "When", "Whose", "Why", "What to do"]
        let caption = "Edit wrong values; saving a value unchanged confirms it; delete values that are not real"
        let table = HTML.table(caption, columns, records) { record in
            var plain = record
            plain.implausible = []
            let reader = choice.with(record).reader
            return [
                RecordDetailPage.link(record.number), "\(NameWords.type(record.type))",
                "\(ValueText.marked(plain, for: reader))", "\(RecordLine.when(record, reader))",
                "\(choice.owner(record) ?? "no one's yet")",
                "\(PlausibilityWarnings.of(record, for: reader).joined(separator: "; "))",
                """
                <div class="deeds">\(ConfirmForm.html(record, choice, parts.grants))
                <a class="button" href="\(url: "\(RecordDetailPage.path(record.number))/edit")">Edit</a>
                <a class="button" href="\(url: "\(RecordDetailPage.path(record.number))/delete")">Delete</a></div>
                """,
            ]
        }
        return "<h2>Looks wrong</h2>\(table)"
    }
}
