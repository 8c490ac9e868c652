import HubWire
import ZeroMQ

extension PluginRunner {
    /// Opens a session that gives no records, passes its terms and a token look-up to `body`, and says BYE.
    /// - Throws: ``PluginFailure`` `unavailable` if no hub answers in time or the hub rejects this plugin.
    func withSession<Value: Sendable>(
        waiting limit: Duration = .seconds(10), _ body: (Welcome, @escaping CheckContext.Tokens) async throws -> Value
    ) async throws -> Value {
        let loop = try PollLoop(name: "hub-link")
        try loop.start()
        defer { loop.stop() }
        let link = HubLink(hello: hello, address: address, state: nil, logger: logger, loop: loop, context: context)
        do {
            try await link.open()
        } catch {
            throw PluginFailure(.usage, "\(address.door): \(error)")
        }
        let patience = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            await link.giveUp()
        }
        let welcome = await link.welcome()
        patience.cancel()
        guard let welcome else {
            let reason = await link.refusal.map { "the hub refuses: \($0)" } ?? "no hub answers at \(address.door)"
            await link.close(draining: false, within: .zero)
            throw PluginFailure(.unavailable, reason)
        }
        do {
            let value = try await body(welcome) { try await link.storedToken(of: $0) }
            await link.close(draining: false, within: .seconds(2))
            return value
        } catch {
            await link.close(draining: false, within: .seconds(2))
            throw error
        }
    }
}

extension HubLink {
    /// The token that the hub stores for an account, or `nil` if it stores none.
    fileprivate func storedToken(of account: String) async throws -> OAuthToken? {
        let request = TokenRequest(id: 0, account: account, purpose: .use, failure: nil)
        guard case .token(let json, _, _) = try await token(request).content else { return nil }
        return try TokenKeeper.read(json)
    }
}
