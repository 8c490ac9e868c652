import Foundation
import JSON
import NIOCore
import PluginKit

/// Sends the hub's events to all listeners, with one reader of the feed for any number of them.
///
/// Records come from the hub's door, complete and in order. The feed says when to query, and carries passing values.
actor EventFeed {
    /// Interval of checks of the connections, and of heartbeats to listeners.
    static let heartbeat = Duration.seconds(15)
    /// Disconnect listeners that accept no data for this long.
    private static let patience = Duration.seconds(30)
    /// Query the hub if the feed is silent for this long.
    private static let silence = Duration.seconds(30)
    /// Number of records in one page of missed ones.
    private static let page: Int64 = 500
    /// Number of these that are written at a time.
    private static let part = 50
    /// Maximum number of passing values that wait.
    private static let passing = 256

    private let hub: PluginContext
    private let access: AccessStore
    private let preferences: PreferenceStore
    private let bell: FeedNotifier
    private var channels: [String?: EventChannel] = [:]
    private var lastSerial = 0
    private var streams: [ObjectIdentifier: EventStream] = [:]
    private var plugins = PluginWatch()
    /// Only one listener catches up at a time, so that pages find the hub free.
    private let turn = AsyncLock()

    init(_ hub: PluginContext, _ access: AccessStore, _ preferences: PreferenceStore) {
        (self.hub, self.access, self.preferences) = (hub, access, preferences)
        bell = FeedNotifier(beside: hub.link)
    }

    // MARK: - Reading the feed

    /// Reads the feed until the task is cancelled.
    func run() async throws {
        guard let welcome = await hub.link.welcome() else { return }
        let (values, tell) = AsyncStream.makeStream(
            of: FeedMessage.self, bufferingPolicy: .bufferingNewest(Self.passing))
        try await bell.listen(
            at: welcome.feed, ["sample/", "retraction/", Topic.inbox.text], passing: ["live/"]
        ) { tell.yield($0) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.follow() }
            group.addTask { for await value in values { await self.pass(value) } }
            group.addTask { await self.ringForSessions() }
            group.addTask { await self.maintainConnections() }
            group.addTask { await self.watchPlugins() }
        }
        for stream in streams.values { stream.end() }
        await bell.close()
    }

    private func follow() async {
        while !Task.isCancelled {
            for person in Array(channels.keys) { await read(person) }
            await bell.next(within: Self.silence)
        }
    }

    /// A new session may belong to a hub that was restored.
    private func ringForSessions() async {
        while (try? await hub.untilSession(beyond: hub.sessionCount)) != nil { bell.ring() }
    }

    /// Reads all records that a channel has not sent.
    private func read(_ person: String?) async {
        while let channel = channels[person], !Task.isCancelled {
            do {
                let page = try await self.page(of: person, types: nil, since: channel.cursor, limit: nil)
                // All listeners may have left meanwhile, and others with another position may have come.
                guard channels[person]?.serial == channel.serial else { continue }
                channels[person]?.take(page.events, upTo: page.cursor)
                if page.isLast { return }
            } catch let error as AskError where error.error?.code == .store || error.error?.code == .busy {
                return  // The hub's pulse tells when it works again.
            } catch {
                if !(error is CancellationError), (error as? AskError)?.code != .stopping {
                    hub.logger.warning("listeners are sent away to come again", metadata: ["error": "\(error)"])
                }
                let left = channels.removeValue(forKey: person)?.streams ?? [:]
                for stream in left.values { stream.end() }
                return
            }
        }
    }

    private struct Page {
        var events: [RecordEvent]
        var cursor: Cursor?
        var isLast: Bool
    }

    private nonisolated func page(
        of person: String?, types: [String]?, since cursor: Cursor, limit: Int64?
    ) async throws -> Page {
        var query = QueryRequest(id: 0, since: cursor, limit: limit)
        (query.filter.persons, query.filter.types) = (person.map { [$0] }, types)
        let (records, next, end) = try await hub.records(query)
        let cut = person.map(RecordRedaction.init)
        return Page(
            // Limit records to those parts that the person of the channel may read.
            events: try records.map { try RecordEvent(cut?.record($0) ?? $0, epoch: cursor.epoch) }, cursor: end,
            isLast: next == nil && limit.map { records.count < $0 } ?? true)
    }

    /// The hub's present position.
    private nonisolated func head() async throws -> Cursor {
        var query = QueryRequest(id: 0)
        query.filter.numbers = [0]
        guard let cursor = try await hub.records(query).cursor else { throw RecordEvent.EventError() }
        return cursor
    }

    private func pass(_ message: FeedMessage) {
        guard !streams.isEmpty, let value = PassingValue(message, hub.persons.map(preferences.applied)) else { return }
        for stream in streams.values
        where (stream.person == nil || stream.person == value.person) && stream.types?.contains(value.type) ?? true {
            stream.pass(value.bytes, topic: message.topic.text)
        }
    }

    private func watchPlugins() async {
        while (try? await Task.sleep(for: PluginWatch.interval)) != nil {
            let owners = streams.values.filter { $0.person == nil && $0.viewer.isOwner }
            guard !owners.isEmpty else {
                plugins = PluginWatch()
                continue
            }
            // Without the grant no changes are sent.
            guard let status = try? await hub.ask(.status) else { continue }
            for change in plugins.changes(status) {
                for stream in owners { stream.pass(change.bytes, topic: "plugin/\(change.name)") }
            }
        }
    }

    private func maintainConnections() async {
        while (try? await Task.sleep(for: Self.heartbeat)) != nil {
            let limit = ContinuousClock.now - Self.patience
            for person in Array(channels.keys) { channels[person]?.mark() }
            for stream in streams.values {
                stream.endIfStuck(since: limit)
                guard (try? await access.isKnown(stream.viewer, at: HubClock.system.now())) == true else {
                    stream.end()
                    continue
                }
                stream.pass(EventText.heartbeat, topic: "heartbeat")
            }
        }
    }

    /// Ends the streams of a session or token that has ended.
    func end(_ hash: String) { for stream in streams.values where stream.viewer.session.hash == hash { stream.end() } }

    // MARK: - Serving a listener

    private func join(_ stream: EventStream, at cursor: Cursor) -> Bool {
        if channels[stream.person] == nil {
            lastSerial += 1
            channels[stream.person] = EventChannel(lastSerial, from: cursor)
            bell.ring()
        }
        return channels[stream.person]?.join(stream, at: cursor) ?? false
    }

    private func leave(_ stream: EventStream) {
        streams[ObjectIdentifier(stream)] = nil
        channels[stream.person]?.streams[ObjectIdentifier(stream)] = nil
        if channels[stream.person]?.streams.isEmpty == true { channels[stream.person] = nil }
    }

    private func enter(_ stream: EventStream) { streams[ObjectIdentifier(stream)] = stream }

    /// Sends all new events to a listener until it disconnects or ``EventStream/end()``.
    ///
    /// - Parameter start: the listener's position; nil for the present one.
    nonisolated func serve(_ stream: EventStream, after start: Cursor?) async throws {
        await enter(stream)
        do { try await tell(stream, after: start) } catch {
            await leave(stream)
            throw error
        }
        await leave(stream)
    }

    private nonisolated func tell(_ stream: EventStream, after start: Cursor?) async throws {
        var cursor: Cursor
        if let start { cursor = start } else { cursor = try await head() }
        await stream.write([EventText.opening(at: cursor)])
        // A given position may belong to another store, which only the hub can say.
        var isKnown = start == nil
        while try await catchUp(stream, &cursor, isKnown: &isKnown) {
            guard case .behind(let sequence) = await stream.pause() else { return }
            cursor.sequence = max(cursor.sequence, sequence)
        }
    }

    /// Sends missed records as fast as the listener accepts them, until it can join a channel.
    ///
    /// - Parameter isKnown: whether the hub has accepted the position, so that it belongs to this store.
    /// - Returns: false if the stream is over.
    private nonisolated func catchUp(
        _ stream: EventStream, _ cursor: inout Cursor, isKnown: inout Bool
    ) async throws -> Bool {
        // The hub may not know a plugin's type yet.
        let known = stream.types.flatMap { $0.contains { $0.hasPrefix("x.") } ? nil : $0.sorted() }
        var isLast = false
        while !stream.isOver {
            if isKnown, await join(stream, at: cursor) { return true }
            // At the end of the records nothing is missed, except after a change of epoch, which the next query shows.
            if isLast, isKnown { try await Task.sleep(for: .milliseconds(50)) }
            do {
                let since = cursor
                let page: Page = try await turn.withLock {
                    try await self.page(of: stream.person, types: known, since: since, limit: Self.page)
                }
                let told = page.events.filter { stream.types?.contains($0.type) ?? true }
                // Write a few at a time, so that a slow listener does not count as stuck.
                for start in stride(from: 0, to: told.count, by: Self.part) where !stream.isOver {
                    await stream.write(told[start..<min(start + Self.part, told.count)].map(\.bytes))
                }
                let read = max(page.events.last?.sequence ?? 0, page.cursor?.sequence ?? 0)
                (cursor.sequence, isLast, isKnown) = (max(cursor.sequence, read), page.isLast, true)
            } catch let error as AskError {
                switch error.error?.code {
                case .epoch?:
                    cursor = try await head()
                    let text = Array(#"{"cursor":"\#(cursor)"}"#.utf8)
                    await stream.write([EventText.event("reset", id: cursor, data: text)])
                case .store?, .busy?, .internal?: try await Task.sleep(for: .seconds(1))
                default: return false
                }
            }
        }
        return false
    }
}
