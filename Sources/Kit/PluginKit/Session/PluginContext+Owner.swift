import Foundation
public import HubWire
public import Samples
import Synchronization

/// A question with the owner's rights; the plugin's manifest must request it (`owner`), and `hub.conf` must grant it.
public enum OwnerQuestion: String, Hashable, Sendable, CaseIterable {
    /// The state of the hub, its plugins, sinks, devices and sessions, as `hub status --json` prints it.
    case status
    /// The plugins according to `hub.conf` and the manifests, as `hub plugins --json` prints them.
    case plugins
    /// The persons whose records this instance may read, with their data.
    case persons
    /// The records that each instance gave, and their results.
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

/// Owner's questions for a plugin that has been granted them.
///
/// The answers about records and persons are limited to those that this instance may read.
extension PluginContext {
    /// The owner's rights that this instance has, as of the hub's last WELCOME; empty before the first one.
    ///
    /// A changed grant in `hub.conf` begins another session (``untilSession(beyond:)``).
    public var ownerRights: Set<OwnerRight> {
        Set(link.terms.withLock { $0.rights }.compactMap(OwnerRight.init))
    }

    /// Asks the hub and returns the answer in the form that Docs/Schemas/answers describe.
    ///
    /// Waits for the hub while it is away.
    /// - Throws: ``AskError``, whose `error` has the code `forbidden` if `hub.conf` does not grant the question; `CancellationError`.
    public func ask(_ question: OwnerQuestion) async throws -> RawJSON {
        try await link.ownersAnswer(QueryRequest(id: 0, want: question.subject))
    }

    /// Asks the hub and decodes the answer into a type that has the needed members.
    ///
    /// - Throws: the errors of ``ask(_:)``; a `DecodingError`.
    public func ask<Answer: Decodable>(_ question: OwnerQuestion, as type: Answer.Type) async throws -> Answer {
        try JSONDecoder().decode(type, from: Data(try await ask(question).bytes))
    }

    /// The last lines of a plugin's log, oldest first: the output of the plugin, and the hub's notes about its process.
    ///
    /// - Parameters:
    ///   - instance: the name of the instance in `hub.conf`.
    ///   - limit: the maximum number of lines, at most 1,000; the default is 200.
    ///   - start: excludes earlier lines, by the machine's clock.
    /// - Throws: the errors of ``ask(_:)``; the code of `error` is `field` if the instance does not exist.
    public func logs(of instance: String, limit: Int? = nil, from start: Timestamp? = nil) async throws -> LogPage {
        var query = QueryRequest(id: 0, want: .logs, limit: limit.map { Int64($0) })
        (query.instance, query.filter.from) = (instance, start)
        return try JSONDecoder().decode(LogPage.self, from: Data(try await link.ownersAnswer(query).bytes))
    }

    /// A page of the history of a record: its versions, its deliveries, and the days computed from it.
    ///
    /// Parts that this instance may not read are left out; a record that it may not read is treated as missing.
    /// - Parameters:
    ///   - number: the hub's number of the record.
    ///   - limit: the number of versions in the page.
    ///   - next: the member `next` of the previous page.
    /// - Throws: ``AskError``, whose `error` has the code `query` if the record does not exist; `CancellationError`.
    public func trace(_ number: Int64, limit: Int64? = nil, next: String? = nil) async throws -> RawJSON {
        var query = QueryRequest(id: 0, want: .trace, limit: limit, next: next)
        query.number = number
        return try await link.ownersAnswer(query)
    }

    /// A page of the history of a record, decoded into a type that has the needed members.
    ///
    /// - Parameters:
    ///   - number: the hub's number of the record.
    ///   - limit: the number of versions in the page.
    ///   - next: the member `next` of the previous page.
    ///   - type: the type to decode.
    /// - Throws: the errors of ``trace(_:limit:next:)``; a `DecodingError`.
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
