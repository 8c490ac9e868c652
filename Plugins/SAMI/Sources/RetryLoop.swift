import CloudClient
import PluginKit

/// Does what needs the service, again until it succeeds, and says in `hub status` what keeps it.
struct RetryLoop: Sendable {
    let hub: PluginContext
    let account: Account
    let troubles: StatusReporter

    /// Waits longer after each failure, up to five minutes; where there is no log-in, until there is one.
    ///
    /// - Throws: what cannot pass by itself.
    func until<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        let pace = Pace(hub)
        var backOff = BackOff(first: .seconds(5), longest: .seconds(300))
        while true {
            do {
                let value = try await body()
                await troubles.end(.service)
                return value
            } catch let error where Self.mayPass(error) {
                try Task.checkCancellation()
                await troubles.tell(.service, words(error))
                if Self.needsLogIn(error) {
                    var waiting = account
                    waiting.waits = true
                    _ = try? await waiting.token()
                    try Task.checkCancellation()
                } else {
                    try await pace.wait(backOff.next())
                }
            }
        }
    }

    /// One line: what is wrong, and the command that repairs it.
    private func words(_ error: any Error) -> String {
        guard error is CloudError else { return "\(error)" }
        return "\(error); it is tried again by itself, hub refresh \(hub.instance) tries now"
    }

    /// Whether it is worth another try.
    static func mayPass(_ error: any Error) -> Bool {
        if let error = error as? GiveError { return error.code != .stopping }
        return error is CloudError || error is CommandFailure || error is TokenError
    }

    private static func needsLogIn(_ error: any Error) -> Bool { (error as? TokenError)?.needsLogIn ?? false }
}
