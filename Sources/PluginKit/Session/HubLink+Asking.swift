package import HubWire

/// Questions and subscriptions as the wire has them, for a program that passes on what others write.
extension HubLink {
    /// Asks, through restarts of the hub, and returns the answer.
    ///
    /// - Throws: ``AskError``; `CancellationError`.
    package nonisolated func ask(_ query: QueryRequest) async throws -> QueryResult {
        let answer = try await questions.ask(repeats: true) { number in
            var query = query
            query.id = number
            return .query(query)
        }
        guard case .result(let result) = answer else {
            throw AskError(.refused, "the hub answered a question with \(answer.verb.rawValue)")
        }
        return result
    }

    /// Asks the hub for a token, through its restarts.
    ///
    /// - Throws: ``AskError``; `CancellationError`.
    package nonisolated func token(_ request: TokenRequest) async throws -> TokenAnswer {
        try Self.token(
            try await questions.ask(repeats: true) { number in
                var request = request
                request.id = number
                return .token(request)
            })
    }

    /// Hands the hub a token; returns when it is on its disk.
    ///
    /// - Throws: ``AskError``, with the code `lost` if the session ended before the answer; `CancellationError`.
    package nonisolated func put(_ put: TokenPut) async throws -> TokenAnswer {
        try Self.token(
            try await questions.ask(repeats: false) { number in
                var put = put
                put.id = number
                return .tokenPut(put)
            })
    }

    private static func token(_ answer: HubMessage) throws -> TokenAnswer {
        guard case .token(let token) = answer else {
            throw AskError(.refused, "the hub answered a question about a token with \(answer.verb.rawValue)")
        }
        return token
    }

    /// How often a hub has said WELCOME to this process.
    package nonisolated var sessionCount: Int { openings.count }

    /// Returns when a session beyond that one is open.
    ///
    /// - Throws: `CancellationError`.
    package nonisolated func untilSession(beyond known: Int) async throws { try await openings.wait(beyond: known) }

    /// Has `deliver` work on what the hub delivers to these subscriptions, one delivery at a time of each.
    ///
    /// Returns after ``finishDeliveries(within:)``; with `untilCaughtUp` also when nothing is left that could be delivered now.
    /// - Parameter deliver: gives a result per record. Where all are to be tried later, the subscription rests as long as the first of them.
    /// - Throws: ``PluginFailure`` when the hub refuses a subscription.
    package nonisolated func serve(
        _ requests: [WantRequest], untilCaughtUp: Bool,
        _ deliver: @escaping @Sendable ([DeliveredRecord]) async -> [DeliveryResult]
    ) async throws(PluginFailure) {
        do {
            try await sink.serve({ requests }, width: 1, untilCaughtUp: untilCaughtUp) { _, records in
                let results = await deliver(records)
                let waits = results.compactMap { if case .retry(let after, _) = $0 { after } else { nil } }
                return DeliveryOutcome(results: results, pause: waits.count == results.count ? waits.min() : nil)
            }
        } catch {
            throw error as? PluginFailure ?? PluginFailure(.failed, "\(error)")
        }
    }

    /// Begins no delivery any more; what takes longer than `limit` is cancelled.
    package nonisolated func finishDeliveries(within limit: Duration) async { await sink.finish(within: limit) }

    /// Has `body` carry out what the hub asks this program to do; its task is cancelled where the asker does not want it any more.
    package nonisolated func serveCommands(
        _ body: @escaping @Sendable (PassedCommand) async -> CommandOutcome.Content
    ) async {
        await commands.serve { [weak commands] request, ticket in
            guard let commands, case .run(_, let name, let arguments, let isDryRun, _) = request.content else {
                return .cancelled
            }
            let teller = LatestProgress { teller in
                Task { await commands.tell(teller, ticket) }
            }
            return await body(
                PassedCommand(name: name, arguments: arguments, isDryRun: isDryRun) { done, total, text in
                    teller.tell(
                        CommandProgress(id: ticket.id, done: Int64(done), total: total.map { Int64($0) }, text: text))
                })
        }
    }
}

/// A command as the wire has it.
package struct PassedCommand: Sendable {
    package typealias Teller = @Sendable (_ done: Int, _ total: Int?, _ text: String?) -> Void

    package let name: String
    /// A JSON object.
    package let arguments: RawJSON
    package let isDryRun: Bool
    /// Tells the asker how far it is.
    package let tell: Teller
}
