import Foundation
import HTTPTypes
import HealthText
import PluginKit

/// The story of a record, as in `hub trace`, in parts of its page; limited to the parts that the viewer may see.
struct StoryTables: Sendable {
    /// Number of versions on a page; older ones are behind a link.
    private static let most: Int64 = 50

    private let story: RecordStory
    private let viewer: Viewer
    private let persons: [String: DisplayPreferences]
    private let number: Int64
    /// Whether it is the first page, which has more than versions and days.
    private let isFirst: Bool

    /// - Parameters:
    ///   - record: a record that the viewer may see.
    ///   - next: the position in an address of ``more``.
    /// - Throws: ``noSuchPage`` for an unknown `next`; ``RequestRefusal``.
    init(of record: StoredRecord, next: String?, _ viewer: Viewer, _ parts: WebParts) async throws {
        let hub = parts.hub
        let answer: RawJSON
        do {
            answer = try await HubTimeLimit.run(.seconds(10)) {
                try await hub.trace(record.number, limit: Self.most, next: next)
            }
        } catch let error as AskError where error.error?.code == .query || error.error?.code == .cursor {
            throw noSuchPage
        }
        do { story = try RecordStory(viewer.cut(story: answer)) } catch let error as UnreadableResult {
            throw RequestRefusal(.badGateway, "The hub's answer cannot be read", error.description)
        }
        persons = Dictionary(parts.persons.map { ($0.name, $0.reader) }) { first, _ in first }
        (self.viewer, number, isFirst) = (viewer, record.number, next == nil)
    }

    private func readers(_ person: String?) -> DisplayPreferences {
        person.flatMap { persons[$0] } ?? DisplayPreferences(zone: .current)
    }

    /// Facts that appear nowhere else on the page.
    var facts: [(String, HTML)] {
        story.facts(readers).filter(\.isOnPage)
            .map { ($0.name.prefix(1).uppercased() + $0.name.dropFirst(), "\($0.text)") }
    }

    var html: HTML { versions + (isFirst ? deliveries : HTML()) + days + more }

    private var more: HTML {
        guard let next = story.next else { return HTML() }
        let address = "\(RecordDetailPage.path(number))?" + FormText.write([(name: "next", value: next)])
        return "<p>\(story.rest ?? ""): <a href=\"\(url: address)\">show more</a></p>"
    }

    private var versions: HTML {
        guard !story.versions.isEmpty else { return HTML() }
        let columns = ["Version", "Stored", "Time", "Value", "Person", "How"]
        return HTML.table("Versions, the oldest first", columns, story.versions) { version in
            let text = RecordText(version.record, readers)
            return [
                "\(version.record.sequence)",
                "\(version.stored(readers(version.record.assignment.person?.name)) ?? "–")", "\(text.time)",
                "\(text.value)", "\(text.person)", "\(version.how)",
            ]
        }
    }

    private var deliveries: HTML {
        guard !story.deliveries.isEmpty else { return "<p>No sink wants it.</p>" }
        let reader = readers(story.current?.assignment.person?.name)
        let columns = ["Sink", "State", "Version", "Since", "Details"]
        return HTML.table("Where it went", columns, story.deliveries) { delivery in
            [
                viewer.isOwner ? DeliveriesPage.link(delivery.sink) : "\(delivery.sink)", state(delivery.state),
                "\(delivery.seq)", "\(delivery.since(reader) ?? "–")", "\(delivery.details(reader))",
            ]
        }
    }

    private var days: HTML {
        guard !story.days.isEmpty else { return HTML() }
        let columns = ["Day", "Series", "Value", "How", "Number", "Where it went"]
        return HTML.table("Days made of it", columns, story.days) { day in
            let reader = readers(day.value.person)
            let sinks = day.deliveries.map { "\($0.sink): \($0.state)" }.joined(separator: ", ")
            return [
                "\(reader.date(day.value.date))", "\(day.value.series)", "\(day.text(reader))",
                "\(DayWords.how(day.value, reader))", RecordDetailPage.link(day.number), "\(sinks)",
            ]
        }
    }

    private func state(_ state: String) -> HTML {
        switch state {
        case "delivered": "<span class=\"good\">\(state)</span>"
        case "refused", "unauthorized": "<span class=\"bad\">\(state)</span>"
        default: "\(state)"
        }
    }
}
