import CloudClient
import PluginKit

/// Repeats work that needs the service until it succeeds, and shows the reason for a failure in `hub status`.
struct RetryLoop: Sendable {
    let hub: PluginContext
    let account: RenewingServiceCalls
    let troubles: StatusReporter

    /// Waits longer after each failure, up to five minutes; without a log-in, waits until there is one.
    ///
    /// - Throws: errors that a retry cannot fix.
    func until<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        let pace = ClientClock(hub)
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
                    try? await account.waitForLogIn()
                    try Task.checkCancellation()
                } else {
                    try await pace.wait(backOff.next())
                }
            }
        }
    }

    /// One line: the problem, and the command that fixes it.
    private func words(_ error: any Error) -> String {
        guard error is CloudError else { return "\(error)" }
        return "\(error); it is retried automatically, and hub refresh \(hub.instance) tries now"
    }

    /// Whether a retry may succeed.
    static func mayPass(_ error: any Error) -> Bool {
        if let error = error as? GiveError { return error.code != .stopping }
        return error is CloudError || error is CommandFailure || error is TokenError
    }

    private static func needsLogIn(_ error: any Error) -> Bool { (error as? TokenError)?.needsLogIn ?? false }
}
