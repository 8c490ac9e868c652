import ArgumentParser
import Foundation
import HealthText
import HubClient
import HubWire
import Samples

struct TapCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tap", abstract: "Print the hub's messages as it publishes them.",
        discussion: """
            Topics are sample/TYPE/PERSON/PLUGIN/, day/TYPE/PERSON/SERIES/,
            retraction/TYPE/PERSON/PLUGIN/, live/TYPE/PERSON/PLUGIN/, device/PLUGIN/EVENT/
            and hub/pulse/, hub/inbox/, hub/person/, hub/plugin/, hub/notice/. Give any
            beginning of a topic; without one, all messages but the pulse are shown.
            Values and dates are as their person reads them; --json has every digit.

            Examples:
              hub tap sample/weight/
              hub tap sample/weight/ --count 3 --json
              hub tap live/ device/
              hub tap sample/ --since k7qz2m5a-1042 --json   nothing missed, then live

            If the hub ends meanwhile, tap says so on stderr and waits for it. Without
            --since it also says when it has missed messages.

            Exit codes: 0 after --count messages; 64 no such topic.
            """)

    @Argument(help: ArgumentHelp("Beginnings of topics.", valueName: "topic")) var topics: [String] = []
    @Option(help: ArgumentHelp("End after n messages.", valueName: "n")) var count: Int?
    @Option(
        help: ArgumentHelp(
            "First everything that changed after this cursor, as the hub prints it (epoch-sequence), or 0 for all.",
            valueName: "cursor"))
    var since: String?
    @Flag(help: "Each body as it came, a line each.") var json = false
    @Flag(help: "Lines {\"topic\",\"seq\",\"previous\",\"epoch\",\"body\"}.") var frames = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: ArgumentHelp("End when stdin does: for a program that starts it.", visibility: .hidden))
    var untilEof = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a number from 1.") }
        if json, frames { throw ValidationError("--json and --frames exclude each other.") }
        if let since, since != "0", Cursor(since) == nil {
            throw ValidationError("--since takes a cursor such as k7qz2m5a-1042, or 0.")
        }
    }

    func run() throws {
        if untilEof {
            Thread {
                while !FileHandle.standardInput.availableData.isEmpty {}
                Foundation.exit(HubExit.success.rawValue)
            }.start()
        }
        let prefixes = try topics.map { try TopicArgument.prefix($0) { Terminal.complain($0) } }
        let endpoints = try options.endpoints()
        let follower = try follower(prefixes.isEmpty ? TopicArgument.all : prefixes, endpoints)
        var printer = TapPrinter(form: json ? .body : frames ? .frames : .text(options.readingUnits()))
        var left = count ?? .max
        var output = Output()
        while left > 0 {
            guard let event = try follower.next(upTo: .milliseconds(500)) else { continue }
            switch event {
            case .message(let topic, let place, let body):
                switch printer.line(topic: topic, place: place, body: body) {
                case .text(let line): try output.line(line)
                case .json(let bytes): try output.json(bytes)
                }
                try output.flush()
                left -= 1
            case .gap(let topic, let after, let before):
                Terminal.complain("missed something on \(topic) between \(after) and \(before); --since misses nothing")
            case .away: Terminal.complain("no hub at \(endpoints.feed); waiting for it")
            case .back: if printer.wasDisconnected { Terminal.complain("the hub is there") }
            case .restored: Terminal.complain("the hub's store was restored from a backup; reading it again")
            }
            if case .away = event { printer.wasDisconnected = true }
            if case .back = event { printer.wasDisconnected = false }
        }
    }

    private func follower(_ prefixes: [String], _ endpoints: OwnerEndpoints) throws -> FeedFollower {
        guard let since else { return try FeedFollower(feed: endpoints.feed, prefixes: prefixes) }
        let door = { try DoorClient(endpoint: endpoints.door, command: "tap") }
        let cursor = try Cursor(since) ?? Cursor(epoch: try door().open().epoch, sequence: 0)
        return try FeedFollower(feed: endpoints.feed, prefixes: prefixes, since: cursor, door: door)
    }
}

/// A topic prefix as people type it.
enum TopicArgument {
    /// The first segments of all topics.
    static let roots = ["sample", "day", "retraction", "live", "device", "hub"]
    /// The prefixes shown by default: everything except the pulse, which comes all the time.
    static let all = [
        "sample/", "day/", "retraction/", "live/", "device/", "hub/inbox/", "hub/person/", "hub/plugin/", "hub/notice/",
    ]

    /// The prefix to subscribe to: it ends in `/` and has the type's id.
    ///
    /// - Throws: ``HubExit/usage`` for a text with which no topic begins.
    static func prefix(_ text: String, warn: (String) -> Void = { _ in }) throws(Failure) -> String {
        let prefix = text.hasSuffix("/") ? text : text + "/"
        var parts = prefix.dropLast().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard Topic.isPrefix(prefix), let root = parts.first, roots.contains(root) else {
            throw Failure(
                .usage,
                "\(text): no topic begins so; topics begin with \(roots.map { $0 + "/" }.joined(separator: ", "))")
        }
        guard parts.count > 1, root != "device", root != "hub" else { return prefix }
        if let type = TypeArgument.resolved(parts[1]) {
            parts[1] = type
        } else {
            let nearest = TypeRegistry.standard.suggestion(for: parts[1]).map { "; did you mean \($0)?" } ?? ""
            warn("\(parts[1]) is not a known type\(nearest); waiting anyway, because a plugin may declare it")
        }
        return parts.joined(separator: "/") + "/"
    }
}

/// A type name as people type it.
enum TypeArgument {
    /// The id for `text`; `nil` if it is neither a type of the registry nor one that a plugin could declare.
    static func resolved(_ text: String) -> String? {
        if let type = EverydayNames.type(text) { return type.id.rawValue }
        guard let id = try? TypeID(text) else { return nil }
        return id.rawValue.hasPrefix("hc.") || id.rawValue.hasPrefix("x.")
            || SampleKind(healthKitIdentifier: text) != nil ? id.rawValue : nil
    }

    /// The ids for `texts`.
    ///
    /// Call it from `run`: an error thrown in `validate` prints the usage too, although only one word is wrong.
    static func resolved(_ texts: [String]) throws(Failure) -> [String] {
        try texts.map { text throws(Failure) in
            guard let id = resolved(text) else { throw Failure(.usage, unknown(text)) }
            return id
        }
    }

    /// The error for a `text` that is not a type, with the type that was probably meant.
    static func unknown(_ text: String) -> String {
        if Int64(text) != nil {
            return "there is no type \(Terminal.cut(text)); hub trace \(text) shows the record of this number"
        }
        let registry = TypeRegistry.standard
        let meant = registry.suggestion(for: text).map { [$0.rawValue] } ?? []
        // `energy` is no misspelling, but the types that it may mean are clear.
        let word = text.lowercased()
        let part = word.hasSuffix("s") && word.utf8.count > 3 ? String(word.dropLast()) : word
        let parts = registry.all.map(\.id.rawValue).filter { $0.lowercased().contains(part) }
        let longer =
            (3...TypeID.maximumLength).contains(text.utf8.count)
            ? parts.filter { $0.lowercased().hasPrefix(part) } + parts.filter { !$0.lowercased().hasPrefix(part) } : []
        let names = meant.isEmpty ? longer.prefix(4).joined(separator: ", ") : meant[0]
        return "there is no type \(Terminal.cut(text))" + (names.isEmpty ? "" : "; did you mean \(names)?")
            + (names.isEmpty ? "; hub types lists them" : " hub types lists all")
    }
}

/// Prints messages of the feed.
struct TapPrinter: ~Copyable {
    /// The contents of a line.
    enum Form { case body, frames, text(ReadingUnits) }

    /// One line of output.
    enum Line {
        case text(String)
        case json(ArraySlice<UInt8>)
    }

    let form: Form
    var wasDisconnected = false
    private var reader = RecordReader()

    init(form: Form) { self.form = form }

    mutating func line(topic: Topic, place: FeedPosition, body: [UInt8]) -> Line {
        switch form {
        case .body: return .json(body[...])
        case .frames:
            let name = RawJSON.string(topic.text).text
            let head =
                "{\"topic\":\(name),\"seq\":\(place.sequence),\"previous\":\(place.previous),\"epoch\":\"\(place.epoch)\",\"body\":"
            return .json((Array(head.utf8) + body + [UInt8(ascii: "}")])[...])
        case .text(let units): return .text(text(topic, place, body, units))
        }
    }

    private mutating func text(_ topic: Topic, _ place: FeedPosition, _ body: [UInt8], _ units: ReadingUnits) -> String
    {
        if place.sequence > 0, let stored = try? reader.record(body[...]) {
            let record = RecordText(stored, units)
            return [record.time, record.person, record.type, record.value, record.source, "#\(record.number)"]
                .filter { !$0.isEmpty }.joined(separator: "  ")
        }
        let live = topic.segments.first == "live" ? try? JSON.decode(LiveValue.self, from: body) : nil
        let said = ["type", "value", "unit", "person", "personId"]
        let rest = ResultText().singleLine(RawJSON(trusted: body), without: live == nil ? [] : said)
        return [topic.text, live?.text(units) ?? "", rest].filter { !$0.isEmpty }.joined(separator: "  ")
    }

    /// The parts of a LIVE quantity that are shown.
    private struct LiveValue: Decodable {
        var type, unit: String
        var value: Double
        var person: String?

        func text(_ units: ReadingUnits) -> String {
            units.format(unit, of: try? TypeID(type), for: person).text(value)
        }
    }
}
