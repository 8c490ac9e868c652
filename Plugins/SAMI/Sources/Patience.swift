import CloudClient
import PluginKit

/// Does what needs the service, again until it succeeds, and says in `hub status` what keeps it.
struct Patience: Sendable {
    let hub: PluginContext
    let account: Account

    /// Waits longer after each failure, up to five minutes; where nobody is logged in, until somebody is.
    ///
    /// - Throws: what cannot pass by itself.
    func until<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        let pace = Pace(hub)
        var (hasFailed, backOff) = (false, BackOff(first: .seconds(5), longest: .seconds(300)))
        while true {
            do {
                let value = try await body()
                if hasFailed { await hub.event(try DeviceEvent("error", isResolved: true)) }
                return value
            } catch let error where Self.mayPass(error) {
                try Task.checkCancellation()
                hub.logger.warning("the service cannot be used", metadata: ["reason": "\(error)"])
                // One line of hub status: what is wrong, and the command that repairs it.
                await hub.event(try DeviceEvent("error", severity: .warning, text: "\(error)"))
                hasFailed = true
                if Self.needsLogIn(error) {
                    var waiting = account
                    waiting.waits = true
                    _ = try? await waiting.token()
                    try Task.checkCancellation()
                } else {
                    try await pace.wait(backOff.step(pace))
                }
            }
        }
    }

    /// Whether it is worth another try.
    static func mayPass(_ error: any Error) -> Bool {
        if let error = error as? GiveError { return error.code != .stopping }
        return error is CloudError || error is CommandFailure || error is TokenError
    }

    private static func needsLogIn(_ error: any Error) -> Bool { (error as? TokenError)?.needsLogIn ?? false }
}
