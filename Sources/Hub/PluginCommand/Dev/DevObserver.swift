import Foundation
import HealthText
import HubClient
import HubCore
import HubWire
import Samples
import Synchronization

/// Watches a plugin and its hub and shows the plugin's log, its state, and the results of its records and deliveries.
///
/// Everything except ``DevView`` runs on a separate thread.
final class DevObserver: Sendable {
    /// The point up to which everything has been shown; kept with the store.
    struct Shown: Codable {
        var cursor: String?
        var account: HubStatus.AccountStatus?
        var sinks: [SinkStatus] = []
    }

    private let instance: String
    private let endpoints: OwnerEndpoints
    private let logs: PluginLogFiles
    private let view: DevView
    private let begun: String
    private let isOver = Mutex(false)
    private let isHubGone = Mutex(false)
    private let wantsMadeUp = Mutex(true)
    private let state: Mutex<Shown>
    /// Whether the last look at the status is done, and whether everything is over.
    private let end = AwaitableValue((hasLooked: false, isOver: false))

    /// - Parameters:
    ///   - data: the data folder of the hub.
    ///   - shown: the point that an earlier run reached.
    init(_ instance: String, _ endpoints: OwnerEndpoints, data: String, shown: Shown, _ view: DevView) {
        (self.instance, self.endpoints, self.view) = (instance, endpoints, view)
        logs = PluginLogFiles(data: data)
        begun = LogLine.time(Int64(Date().timeIntervalSince1970 * 1_000_000))
        state = Mutex(shown)
    }

    var shown: Shown { state.withLock(\.self) }

    /// Gives made-up records to a sink as soon as it asks for records.
    func sendGenerated() { wantsMadeUp.withLock { $0 = true } }

    func start() {
        Thread { [self] in
            run()
            end.change { $0 = (true, true) }
        }.start()
    }

    /// Looks at the hub one last time before it ends.
    func finish() async {
        isOver.withLock { $0 = true }
        await end.wait(upTo: .seconds(1)) { $0.hasLooked }
    }

    /// Returns when the whole log is shown, after the hub has ended.
    func close() async {
        isHubGone.withLock { $0 = true }
        await end.wait(upTo: .seconds(1)) { $0.isOver }
    }

    private static let pause = Duration.milliseconds(400)

    private func run() {
        var reader = LogReader(files: logs, instance: instance)
        var (asked, word): (ContinuousClock.Instant?, String?) = (nil, nil)
        var (follower, door): (FeedFollower?, DoorClient?) = (nil, nil)
        while !isOver.withLock(\.self) {
            do {
                let feed = try follower ?? self.follower()
                follower = feed
                var patience = Duration.milliseconds(100)
                while let event = try feed.next(upTo: patience) {
                    note(event)
                    patience = .zero
                }
                if view.json { state.withLock { $0.cursor = feed.cursor?.description ?? $0.cursor } }
            } catch { usleep(100_000) }
            show(&reader)
            guard asked.map({ ContinuousClock.now - $0 > Self.pause }) ?? true else { continue }
            do {
                let client = try door ?? DoorClient(endpoint: endpoints.door, command: "dev")
                door = client
                look(try client.ask(.status, as: HubStatus.self), &word)
            } catch {
                // The hub is starting or ending.
                door = nil
            }
            asked = .now
        }
        if let status = try? door?.ask(.status, as: HubStatus.self) { look(status, &word) }
        end.change { $0.hasLooked = true }
        while !isHubGone.withLock(\.self) { usleep(20_000) }
        show(&reader)
    }

    private func show(_ reader: inout LogReader) {
        for line in reader.read() where line.time >= begun && !line.text.hasPrefix("hub-confine: process ") {
            view.log(line)
        }
    }

    // MARK: - The feed

    /// Follows the feed; without `--json`, `hub tap` shows the records in words.
    private func follower() throws -> FeedFollower {
        let others = ["hub/plugin/", "hub/notice/"]
        guard view.json else { return try FeedFollower(feed: endpoints.feed, prefixes: others) }
        let door = { [endpoints] in try DoorClient(endpoint: endpoints.door, command: "dev") }
        return try FeedFollower(
            feed: endpoints.feed, prefixes: Self.topics + others,
            since: try shown.cursor.flatMap(Cursor.init) ?? Cursor(epoch: try door().open().epoch, sequence: 0),
            door: door)
    }

    static let topics = ["sample/", "day/", "retraction/", "live/", "device/", "hub/inbox/"]

    private struct News: Decodable {
        var instance, event, subject, level: String?
        var text: String
    }

    private func note(_ event: FeedFollower.Event) {
        guard case .message(let topic, _, let body) = event else { return }
        guard topic.segments.first == "hub", topic != .inbox else { return view.record(topic.text, body) }
        guard let news = try? JSON.decode(News.self, from: body) else { return }
        if news.event == "refused" {
            let text = news.text.hasPrefix("\(instance) ") ? String(news.text.dropFirst(instance.count + 1)) : news.text
            view.say(.refused, text, .bad)
        } else if news.event == nil, news.subject != "plugin" {
            view.say(.notice, news.text, .doubtful)
        }  // Other events of a plugin are in its log.
    }

    // MARK: - Status

    private func look(_ status: HubStatus, _ word: inout String?) {
        if let plugin = status.plugins.first(where: { $0.name == instance }) { look(plugin, &word) }
        let before = shown
        if let account = status.accounts.first(where: { $0.instance == instance }) { look(account, before.account) }
        let sinks = status.sinks.filter { $0.instance == instance }
        for sink in sinks { look(sink, before.sinks.first { $0.name == sink.name }) }
        state.withLock { state in
            state.account = status.accounts.first { $0.instance == instance } ?? state.account
            state.sinks = sinks
            if !view.json { state.cursor = "\(status.epoch)-\(status.head)" }
        }
        // The former session stays open until the hub has seen the end of the process.
        guard sinks.contains(where: \.isOpen),
            wantsMadeUp.withLock({ wants in
                defer { wants = false }
                return wants
            })
        else { return }
        do { view.say(.madeUp, try GeneratedBatch.give(for: instance, endpoints)) } catch {
            view.say(.madeUp, "no records could be given to it: \(error)", .bad)
        }
    }

    private func look(_ plugin: PluginStatus, _ word: inout String?) {
        let fault = plugin.advice ?? plugin.lastError
        let now = [plugin.state.rawValue, plugin.lastError ?? "", fault == nil ? "" : "!"].joined(separator: "|")
        guard now != word else { return }
        word = now
        let shade: StatusColour? =
            switch plugin.state {
            case .running, .finished, .resting: fault == nil ? .good : .doubtful
            case .failed, .quarantined, .silent: .bad
            case .restarting: .doubtful
            default: nil
            }
        var facts = DevView.Facts()
        facts.state = plugin.state.rawValue
        view.say(.state, plugin.state.rawValue + (fault.map { ": \($0)" } ?? ""), shade, facts)
    }

    private func look(_ account: HubStatus.AccountStatus, _ before: HubStatus.AccountStatus?) {
        func more(_ path: KeyPath<HubStatus.AccountStatus, Int64>) -> Int64 {
            account[keyPath: path] - (before?[keyPath: path] ?? 0)
        }
        var facts = DevView.Facts()
        (facts.received, facts.new, facts.changed) = (more(\.received), more(\.stored), more(\.versions))
        (facts.retracted, facts.already, facts.rejected) = (more(\.retractions), more(\.duplicates), more(\.rejected))
        guard let received = facts.received, received > 0 else { return }
        let parts = [
            (facts.new, "new"), (facts.changed, "changed"), (facts.retracted, "taken back"),
            (facts.already, "already there"), (facts.rejected, "rejected"),
        ].compactMap { count, word in count.flatMap { $0 > 0 ? "\(NumberText.grouped($0)) \(word)" : nil } }
        view.say(
            .gave, "\(NumberText.count(received, "record")): \(parts.joined(separator: ", "))",
            facts.rejected == 0 ? nil : .doubtful, facts)
    }

    private func look(_ sink: SinkStatus, _ before: SinkStatus?) {
        func more(_ path: KeyPath<SinkStatus, Int64>) -> Int64 {
            max(0, sink[keyPath: path] - (before?[keyPath: path] ?? 0))
        }
        var facts = DevView.Facts()
        (facts.sink, facts.delivered, facts.refused) = (sink.name, more(\.delivered), more(\.refused))
        facts.retrying = more(\.retrying)
        let counts = [
            (facts.delivered, "delivered"), (facts.refused, "refused"), (facts.retrying, "to be tried again"),
        ]
        let parts = counts.compactMap { count, word in count.flatMap { $0 > 0 ? "\($0) \(word)" : nil } }
        let isBad = facts.refused != 0 || facts.retrying != 0
        if !parts.isEmpty {
            let reason = isBad ? sink.lastFailureReason.map { ": \($0)" } ?? "" : ""
            view.say(.took, "\(sink.name): \(parts.joined(separator: ", "))\(reason)", isBad ? .doubtful : .good, facts)
            view.add(Int(facts.delivered ?? 0))
        }
        if let note = sink.note, note != before?.note, !sink.isWell { view.say(.took, "\(sink.name): \(note)", .bad) }
    }
}
