import Foundation
import HubClient
import HubCore
import HubWire
import Synchronization

/// The output of `hub plugin dev`: one line for each event, in words or as a JSON object.
final class DevView: Sendable {
    /// The kind of event, which is the first word of its line.
    enum Word: String {
        case hub, plugin, log, record, gave, took, state, refused, notice, saved, build, restart, simulator, end
        case madeUp = "made up"
    }

    /// Figures and facts for programs; absent ones are left out.
    struct Facts: Encodable {
        var event = ""
        var text = ""
        var time, level, from, state: String?
        var files: [String]?
        var received, new, changed, retracted, already, rejected: Int64?
        var sink: String?
        var delivered, refused, retrying: Int64?
        var door, feed, configuration: String?
    }

    let json: Bool
    private let colours: Bool
    /// The number of records that came on the feed or that a sink has taken.
    private let seen = Mutex(0)
    private let most: Int?
    private let isEnough: @Sendable () -> Void

    /// - Parameters:
    ///   - most: the number of records after which ``isEnough`` is called.
    ///   - isEnough: also called when the reader of the output has gone.
    init(json: Bool, most: Int?, isEnough: @escaping @Sendable () -> Void) {
        (self.json, self.most, self.isEnough) = (json, most, isEnough)
        colours = !json && Terminal.hasColours
    }

    /// The number of records that were seen.
    var count: Int { seen.withLock(\.self) }

    func say(_ word: Word, _ text: String, _ shade: StatusColour? = nil, _ facts: Facts = Facts()) {
        var facts = facts
        (facts.event, facts.text) = (word.rawValue, text)
        write {
            if json { return try Output.json(try JSON.line(facts)) }
            let label = word.rawValue.padding(toLength: 10, withPad: " ", startingAt: 0)
            let text = shade?.paint(text, colours) ?? text
            try Output.print((word == .record ? label : StatusColour.faint.paint(label, colours)) + text)
        }
    }

    /// Shows a line of the plugin's log.
    func log(_ line: LogLine) {
        let shade: StatusColour? = StatusColour(level: line.level) ?? (line.from == .hub ? .faint : nil)
        var facts = Facts()
        (facts.time, facts.level, facts.from) = (line.time, line.level, line.from.rawValue)
        let text =
            json ? line.text : "\(line.from.rawValue): \(line.level == "info" ? "" : "\(line.level): ")\(line.text)"
        say(line.from == .hub ? .plugin : .log, line.from == .hub && !json ? line.text : text, shade, facts)
    }

    /// Shows a message of the feed, in the words of `hub tap`.
    func record(_ line: String) {
        say(.record, line)
        add(1)
    }

    /// Shows a message of the feed as JSON.
    func record(_ topic: String, _ body: [UInt8]) {
        let name = RawJSON.string(topic).text
        write {
            try Output.json(
                "{\"event\":\"record\",\"record\":\(String(decoding: body, as: UTF8.self)),\"topic\":\(name)}")
        }
        add(1)
    }

    /// Adds to the number of records that were seen.
    func add(_ count: Int) {
        let isReached = seen.withLock { seen in
            seen += count
            return most.map { seen >= $0 } ?? false
        }
        if isReached { isEnough() }
    }

    private static let pen = Mutex(())

    private func write(_ body: () throws -> Void) {
        do { try Self.pen.withLock { _ in try body() } } catch { isEnough() }
    }
}
