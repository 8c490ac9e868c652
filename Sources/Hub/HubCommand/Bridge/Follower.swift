package import HubClient
package import HubWire
import JSON
package import PluginKit
package import Samples
import Synchronization

/// `hub bridge follow`: writes each version of each record once, as a line, in the order in which the hub stored them.
package final class Follower: Sendable {
    package enum Start: Sendable, Hashable {
        /// The place where the last run ended; the beginning if there was no last run.
        case last
        case now
        case beginning
        case after(Cursor)

        package init?(_ text: String) {
            switch text {
            case "last": self = .last
            case "now": self = .now
            case "beginning": self = .beginning
            default:
                guard let cursor = Cursor(text) else { return nil }
                self = .after(cursor)
            }
        }
    }

    private let filter: QueryRequest.Filter
    private let start: Start
    private let place: FollowCursorFile?
    private let output: LineWriter
    private let state: Mutex<(failure: Failure?, left: Int)>
    /// How long the follower waits for the feed before it asks the hub; how often it asks if there is no feed.
    private static let (patience, pause) = (Duration.seconds(30), Duration.seconds(2))

    /// - Parameters:
    ///   - place: where the follower saves its progress.
    ///   - count: the number of records after which the follower ends.
    package init(
        _ filter: QueryRequest.Filter, from start: Start, _ place: FollowCursorFile?, _ output: LineWriter, count: Int?
    ) {
        (self.filter, self.start, self.place, self.output) = (filter, start, place, output)
        state = Mutex((nil, count ?? .max))
    }

    /// Why the follower ended, if it was not asked to.
    package var failure: Failure? { state.withLock(\.failure) }

    package func run(_ link: HubLink) async throws {
        do { try await follow(link) } catch let failure as Failure {
            state.withLock { $0.failure = failure }
        } catch is OutputClosed {}
    }

    private func follow(_ link: HubLink) async throws {
        guard let welcome = await link.welcome() else { return }
        var cursor = try begin(welcome)
        try place?.save(cursor)
        let bell = FeedNotifier(beside: link)
        let result: Result<Void, any Error>
        do {
            try await follow(link, from: &cursor, bell, welcome.feed)
            result = .success(())
        } catch { result = .failure(error) }
        // Closed here in every case, because a socket must be closed on the loop that uses it.
        await bell.close()
        try result.get()
    }

    private func follow(_ link: HubLink, from cursor: inout Cursor, _ bell: FeedNotifier, _ feed: String) async throws {
        if !feed.isEmpty { try await bell.listen(at: feed, prefixes) }
        let watch = Task {
            // The new session may be with another hub, which may have lost or gained records.
            while true {
                try await link.untilSession(beyond: link.sessionCount)
                bell.ring()
            }
        }
        defer { watch.cancel() }
        while !Task.isCancelled {
            try await catchUp(&cursor, link)
            if state.withLock({ $0.left <= 0 }) { break }
            await bell.next(within: feed.isEmpty ? Self.pause : Self.patience)
        }
    }

    private func begin(_ welcome: Welcome) throws(Failure) -> Cursor {
        let beginning = Cursor(epoch: welcome.epoch, sequence: 0)
        switch start {
        case .last: return try place?.last() ?? beginning
        case .now: return Cursor(epoch: welcome.epoch, sequence: welcome.head)
        case .beginning: return beginning
        case .after(let cursor): return cursor
        }
    }

    /// The topics that the follower subscribes to; the pulse arrives without a subscription.
    private var prefixes: [String] {
        let roots = ["sample/"] + (filter.kinds?.contains(.day) == true ? ["day/"] : []) + ["retraction/"]
        return filter.types.map { types in roots.flatMap { root in types.map { "\(root)\($0)/" } } } ?? roots
    }

    /// Writes everything since the cursor, page by page.
    private func catchUp(_ cursor: inout Cursor, _ link: HubLink) async throws {
        var query = QueryRequest(id: 0, filter: filter, since: cursor)
        while !Task.isCancelled {
            let result: QueryResult
            do { result = try await link.ask(query) } catch let error as AskError {
                if error.code == .stopping { return }
                try await recover(from: error, &query, &cursor)
                continue
            } catch is CancellationError { return }
            guard case .records(let records, let next, let end) = result.content else {
                throw Failure(.dialogue, "the hub answered a question about records without records")
            }
            let left = state.withLock(\.left)
            try await write(records.prefix(left), &cursor)
            // If only a part of the page was written, the cursor stays at the last line written.
            if records.count <= left, let end { cursor = end }
            try place?.save(cursor)
            state.withLock { $0.left -= min(records.count, left) }
            guard let next, records.count < left else { return }
            query.next = next
        }
    }

    private func write(_ records: some Sequence<ArraySlice<UInt8>>, _ cursor: inout Cursor) async throws {
        var lines: [[UInt8]] = []
        for record in records {
            let sequence = record.withUnsafeBytes { (try? ScannedObject($0))?.integer("seq") }
            guard let sequence else { throw Failure(.dialogue, "the hub sent a record without seq") }
            cursor.sequence = sequence
            lines.append(Array(#"{"cursor":"\#(cursor)","record":"#.utf8) + record + [UInt8(ascii: "}")])
        }
        try await output.write(raw: lines)
    }

    /// Continues after a refusal if that is possible, and throws otherwise.
    private func recover(from error: AskError, _ query: inout QueryRequest, _ cursor: inout Cursor) async throws {
        switch error.error?.code {
        case .epoch?:
            // A restored store, or one that lost its latest records: read it from its beginning (Protocol R8.3, R8.38).
            cursor = Cursor(epoch: error.error?.epoch ?? cursor.epoch, sequence: 0)
            try await output.write([.object([.init("restored", .text(cursor.description))])])
            try place?.save(cursor)
            query = QueryRequest(id: 0, filter: filter, since: cursor)
        case .cursor? where query.next != nil: query = QueryRequest(id: 0, filter: filter, since: cursor)
        case .store?, .busy?, .internal?:
            try await Task.sleep(for: .seconds(1))
            query = QueryRequest(id: 0, filter: filter, since: cursor)
        case .forbidden?: throw Failure(.forbidden, error.message)
        default: throw Failure(.usage, error.message)
        }
    }
}
