package import HubWire

/// Questions and subscriptions in their wire form, for a program that relays those of others.
extension HubLink {
    /// Asks a question and returns the answer; repeats it across restarts of the hub.
    ///
    /// - Throws: ``AskError``; `CancellationError`.
    package func ask(_ query: QueryRequest) async throws -> QueryResult {
        let answer = try await ask(repeats: true) { number in
            var query = query
            query.id = number
            return .query(query)
        }
        guard case .result(let result) = answer else {
            throw AskError(.refused, "the hub answered a question with \(answer.verb.rawValue)")
        }
        return result
    }

    /// Asks the hub for a token; repeats the request across restarts of the hub.
    ///
    /// - Throws: ``AskError``; `CancellationError`.
    package func token(_ request: TokenRequest) async throws -> TokenAnswer {
        try Self.token(
            try await ask(repeats: true) { number in
                var request = request
                request.id = number
                return .token(request)
            })
    }

    /// Sends a token to the hub; returns when the hub has it on its disk.
    ///
    /// - Throws: ``AskError``, with the code `lost` if the session ended before the answer; `CancellationError`.
    package func put(_ put: TokenPut) async throws -> TokenAnswer {
        try Self.token(
            try await ask(repeats: false) { number in
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

    /// The number of sessions that hubs have opened with this process (WELCOME).
    package nonisolated var sessionCount: Int { openings.count }

    /// Returns when session number `known` + 1 or a later one is open.
    ///
    /// - Throws: `CancellationError`.
    package nonisolated func untilSession(beyond known: Int) async throws { try await openings.wait(beyond: known) }

    /// Passes the deliveries of these subscriptions to `deliver`, one delivery at a time for each.
    ///
    /// It returns after ``finishDeliveries(within:)``; with `untilCaughtUp` also when no deliverable record is left.
    /// - Parameter deliver: returns a result per record. If all records are to be retried, the subscription pauses for the shortest of their
    ///   delays.
    /// - Throws: ``PluginFailure`` if the hub refuses a subscription.
    package func serve(
        _ requests: [WantRequest], untilCaughtUp: Bool,
        _ deliver: @escaping @Sendable ([DeliveredRecord]) async -> [DeliveryResult]
    ) async throws(PluginFailure) {
        do {
            try await serve({ requests }, width: 1, untilCaughtUp: untilCaughtUp) { _, records in
                let results = await deliver(records)
                let waits = results.compactMap { if case .retry(let after, _) = $0 { after } else { nil } }
                return DeliveryOutcome(results: results, pause: waits.count == results.count ? waits.min() : nil)
            }
        } catch {
            throw error as? PluginFailure ?? PluginFailure(.failed, "\(error)")
        }
    }

    /// Passes the hub's commands to `body`; its task is cancelled if the caller no longer wants the command.
    package func serveCommands(_ body: @escaping @Sendable (WireCommand) async -> CommandOutcome.Content) {
        startServing { [weak self] request, ticket in
            guard let self, case .run(_, let name, let arguments, let isDryRun, _) = request.content else {
                return .cancelled
            }
            let teller = LatestProgress { teller in
                Task { await self.tell(teller, ticket) }
            }
            return await body(
                WireCommand(name: name, arguments: arguments, isDryRun: isDryRun) { done, total, text in
                    teller.tell(
                        CommandProgress(id: ticket.id, done: Int64(done), total: total.map { Int64($0) }, text: text))
                })
        }
    }
}

/// A command in its wire form.
package struct WireCommand: Sendable {
    package typealias Teller = @Sendable (_ done: Int, _ total: Int?, _ text: String?) -> Void

    package let name: String
    /// A JSON object.
    package let arguments: RawJSON
    package let isDryRun: Bool
    /// Reports progress to the caller.
    package let tell: Teller
}
