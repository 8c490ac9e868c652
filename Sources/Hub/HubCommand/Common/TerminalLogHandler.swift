import Foundation
import HubClient
import HubWire
import Logging

/// Log lines for people, on stderr: `07:30:05 info    hub: ready  records=17`.
struct TerminalLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level = .info
    private let label: String

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        all.merge(metadataProvider?.get() ?? [:]) { _, new in new }
        all.merge(event.metadata ?? [:]) { _, new in new }
        Terminal.say(
            TerminalLogHandler.line(
                time: Date(), level: event.level, label: label, message: event.message.description, metadata: all))
    }

    /// One line, whatever the message contains: a line break in it could forge another entry.
    static func line(
        time: Date, level: Logger.Level, label: String, message: String, metadata: Logger.Metadata,
        zone: TimeZone = .current
    ) -> String {
        let second = Int(time.timeIntervalSince1970.rounded(.down)) + zone.secondsFromGMT(for: time)
        let ofDay = ((second % 86_400) + 86_400) % 86_400
        let clock = [ofDay / 3_600, ofDay / 60 % 60, ofDay % 60].map { $0 < 10 ? "0\($0)" : "\($0)" }
        let word = level.rawValue + String(repeating: " ", count: max(0, 8 - level.rawValue.count))
        let facts = metadata.sorted { $0.key < $1.key }.map { "\($0.key)=\(value("\($0.value)"))" }
        let text = "\(clock.joined(separator: ":")) \(word) \(label): \(PlainText.escaped(message))"
        return facts.isEmpty ? text : text + "  " + facts.joined(separator: " ")
    }

    private static func value(_ text: String) -> String {
        let text = PlainText.escaped(text)
        guard text.isEmpty || text.contains(" ") || text.contains("\"") else { return text }
        return "\"\(text.replacing("\"", with: "\\\""))\""
    }
}
