import HealthText
import HTMLText
import HTTPTypes
import HubWords
import Hummingbird
import PluginKit

/// The story of one record: what the source said, what was done by hand, which sinks have it, and the days that are made of it.
///
/// What `hub trace` prints; for a person it is cut to what is their own, without words that were written about others.
struct StoryPage: Sendable {
    /// Versions of a page; older ones are behind a link.
    private static let most: Int64 = 50

    let parts: WebParts

    func response(_ request: Request, _ number: String?, _ visit: Visit) async throws -> Response {
        let choice = try Choice(request, visit, parts)
        guard let number = number.flatMap({ Int64($0) }), number > 0 else { throw NoSuchPage() }
        let viewer = choice.viewer
        // The first page says whose record it is; an older one is shown only to who may see that.
        let first = try await page(number, next: nil)
        guard let current = first.current, viewer.maySee(current) else { throw NoSuchPage() }
        let next = request.uri.queryParameters["next"].map(String.init)
        let story = next == nil ? first : try await page(number, next: next)
        let readers = Dictionary(parts.hub.persons.map { ($0.name, $0.reader) }) { first, _ in first }
        let writer = StoryWriter(viewer: viewer) { person in person.flatMap { readers[$0] } ?? Reader() }
        let more: HTML? = story.next.map { next in
            let address = "/records/\(number)/story?" + FormText.write([(name: "next", value: next)])
            return "<p>\(story.rest ?? ""): <a href=\"\(url: address)\">show more</a></p>"
        }
        return PageAnswer.page(
            Frame(title: "Record \(number)", choice: choice).html(
                (next == nil ? writer.facts(story) : HTML()) + writer.versions(story)
                    + (next == nil ? writer.deliveries(story) : HTML()) + writer.days(story) + (more ?? HTML())))
    }

    private func page(_ number: Int64, next: String?) async throws -> RecordStory {
        let (hub, most) = (parts.hub, Self.most)
        let answer: RawJSON
        do {
            answer = try await Deadline.run(.seconds(10)) { try await hub.trace(number, limit: most, next: next) }
        } catch let error as AskError where error.error?.code == .query || error.error?.code == .cursor {
            throw NoSuchPage()
        }
        do { return try RecordStory(answer) } catch {
            throw Refusal(.badGateway, "The hub's answer cannot be read", error.reason)
        }
    }
}

/// A story as markup.
struct StoryWriter {
    let viewer: Viewer
    let readers: (String?) -> Reader

    func facts(_ story: RecordStory) -> HTML {
        // What a person wrote when it was taken back stands in its state, and may be about others.
        let shown = story.facts(readers).filter { viewer.isOwner || $0.name != "state" }
        let facts = HTML.each(shown) { name, text in
            "<dt>\(name.prefix(1).uppercased() + name.dropFirst())</dt><dd>\(text)</dd>"
        }
        return "<dl>\(facts)</dl>"
    }

    func versions(_ story: RecordStory) -> HTML {
        var table = HTMLTable(
            caption: "Versions, the oldest first", columns: ["Version", "Stored", "Time", "Value", "Person", "How"])
        for version in story.versions where viewer.maySee(version.record) {
            let text = HubWords.RecordText(version.record, readers)
            table.rows.append([
                "\(version.record.sequence)", "\(version.stored ?? "–")", "\(text.time)",
                "\(value(of: version.record) ?? text.value)", "\(text.person)",
                "\(viewer.isOwner ? version.how : version.deed ?? "")",
            ])
        }
        return table.rows.isEmpty ? HTML() : table.html
    }

    /// `nil`: as everyone sees it.
    private func value(of stored: StoredRecord) -> String? {
        guard !viewer.isOwner, case .retraction(let retraction) = stored.record else { return nil }
        return retraction.author == .person ? "taken back by hand" : "taken back by its source"
    }

    func deliveries(_ story: RecordStory) -> HTML {
        guard !story.deliveries.isEmpty else { return "<p>No sink wants it.</p>" }
        var table = HTMLTable(caption: "Where it went", columns: ["Sink", "State", "Version", "Since", "Details"])
        for delivery in story.deliveries {
            table.rows.append([
                viewer.isOwner ? DeliveriesPage.link(delivery.sink) : "\(delivery.sink)", state(delivery.state),
                "\(delivery.seq)", "\(delivery.since ?? "–")", "\(viewer.isOwner ? delivery.details : "")",
            ])
        }
        return table.html
    }

    func days(_ story: RecordStory) -> HTML {
        let days = story.days.filter { viewer.person == nil || $0.value.person == viewer.person }
        guard !days.isEmpty else { return HTML() }
        var table = HTMLTable(
            caption: "Days made of it", columns: ["Day", "Series", "Value", "How", "Number", "Where it went"])
        for day in days {
            let reader = readers(day.value.person)
            let sinks = day.deliveries.map { "\($0.sink): \($0.state)" }.joined(separator: ", ")
            table.rows.append([
                "\(reader.date(day.value.date))", "\(day.value.series)", "\(day.text(reader))",
                "\(DayWords.how(day.value, reader))",
                "<a href=\"\(url: "/records/\(day.number)/story")\">\(day.number)</a>", "\(sinks)",
            ])
        }
        return table.html
    }

    private func state(_ state: String) -> HTML {
        switch state {
        case "delivered": "<span class=\"good\">\(state)</span>"
        case "refused", "unauthorized": "<span class=\"bad\">\(state)</span>"
        default: "\(state)"
        }
    }
}
