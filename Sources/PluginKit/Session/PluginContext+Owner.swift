import Foundation
public import HubSettings
public import HubWire
public import Samples
import Synchronization

/// A question that is the owner's: asked by a plugin whose manifest asks for it (`owner`) and to which `hub.conf` grants it.
public enum OwnerQuestion: String, Hashable, Sendable, CaseIterable {
    /// How the hub, its plugins, sinks, devices and sessions are: what `hub status --json` prints.
    case status
    /// What `hub.conf` and the manifests say of the plugins: what `hub plugins --json` prints.
    case plugins
    /// The persons that this instance may read, and what is known of them.
    case persons
    /// What each instance gave, and what became of it.
    case accounts

    fileprivate var subject: QueryRequest.Subject {
        switch self {
        case .status: .status
        case .plugins: .plugins
        case .persons: .persons
        case .accounts: .accounts
        }
    }
}

/// What only the owner may ask, for a plugin that is granted it.
///
/// What concerns records and persons stays within what this instance may read.
extension PluginContext {
    /// What of the owner's this instance may, as of the hub's last WELCOME; empty before the first.
    ///
    /// Another grant in `hub.conf` begins another session (``untilSession(beyond:)``).
    public var ownerRights: Set<OwnerRight> {
        Set(link.terms.withLock { $0.rights }.compactMap(OwnerRight.init))
    }

    /// Asks the hub, and returns the answer as Docs/Schemas/answers describe it.
    ///
    /// Waits for the hub while it is away.
    /// - Throws: ``AskError``, of which `error` has the code `forbidden` where `hub.conf` does not grant it; `CancellationError`.
    public func ask(_ question: OwnerQuestion) async throws -> RawJSON {
        try await link.ownersAnswer(QueryRequest(id: 0, want: question.subject))
    }

    /// Asks the hub, and reads the answer into a type that has the members that are wanted of it.
    ///
    /// - Throws: as ``ask(_:)``; a `DecodingError`.
    public func ask<Answer: Decodable>(_ question: OwnerQuestion, as type: Answer.Type) async throws -> Answer {
        try JSONDecoder().decode(type, from: Data(try await ask(question).bytes))
    }

    /// The last lines of a plugin's log, oldest first: what it has printed, and what the hub did with its process.
    ///
    /// - Parameters:
    ///   - instance: as `hub.conf` names it.
    ///   - limit: at most so many lines, of 1,000 at most; 200 if not given.
    ///   - start: only lines from then on, by the machine's clock.
    /// - Throws: as ``ask(_:)``; of `error` the code is `field` where there is no such instance.
    public func logs(of instance: String, limit: Int? = nil, from start: Timestamp? = nil) async throws -> LogPage {
        var query = QueryRequest(id: 0, want: .logs, limit: limit.map { Int64($0) })
        (query.instance, query.filter.from) = (instance, start)
        return try JSONDecoder().decode(LogPage.self, from: Data(try await link.ownersAnswer(query).bytes))
    }

    /// A page of the story of a record: its versions, where it was delivered, the days that are made of it.
    ///
    /// What this instance may not read of it is left out; a record that it may not read is as if it did not exist.
    /// - Parameters:
    ///   - number: the hub's of the record.
    ///   - limit: versions of the page.
    ///   - next: the member of that name of the page before.
    /// - Throws: ``AskError``, of which `error` has the code `query` where there is no such record; `CancellationError`.
    public func trace(_ number: Int64, limit: Int64? = nil, next: String? = nil) async throws -> RawJSON {
        var query = QueryRequest(id: 0, want: .trace, limit: limit, next: next)
        query.number = number
        return try await link.ownersAnswer(query)
    }

    /// A page of the story of a record, read into a type that has the members that are wanted of it.
    ///
    /// - Parameters:
    ///   - number: the hub's of the record.
    ///   - limit: versions of the page.
    ///   - next: the member of that name of the page before.
    ///   - type: with the members that are wanted.
    /// - Throws: as ``trace(_:limit:next:)``; a `DecodingError`.
    public func trace<Story: Decodable>(
        _ number: Int64, limit: Int64? = nil, next: String? = nil, as type: Story.Type
    ) async throws -> Story {
        try JSONDecoder().decode(type, from: Data(try await trace(number, limit: limit, next: next).bytes))
    }
}

extension HubLink {
    /// - Throws: ``AskError``; `CancellationError`.
    fileprivate nonisolated func ownersAnswer(_ query: QueryRequest) async throws -> RawJSON {
        guard case .answer(query.want, let answer) = try await ask(query).content else {
            throw AskError(.refused, "the hub answered a question about \(query.want.rawValue) with another answer")
        }
        return answer
    }
}
