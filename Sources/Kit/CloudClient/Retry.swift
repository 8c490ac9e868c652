public import PluginKit

/// The limits on repeating a request.
public struct Retry: Sendable {
    /// Including the first attempt.
    public var attempts: Int
    public var backOff: BackOff
    /// Maximum wait for another attempt, by the hub's clock.
    ///
    /// If the service requests a longer wait, the answer goes to the caller.
    public var patience: Duration

    public init(attempts: Int = 4, backOff: BackOff = BackOff(), patience: Duration = .seconds(120)) {
        (self.attempts, self.backOff, self.patience) = (max(1, attempts), backOff, patience)
    }
}

extension CloudClient {
    /// Sends a request, and repeats it after temporary failures as long as that is harmless.
    ///
    /// Repeats after temporary errors, 429, 500, 502, 503 and 504. If the service has certainly done nothing (no connection, 429), any request
    /// is repeated; otherwise only one that is ``CloudRequest/isRepeatable``. Waits as long as the back-off requires, or longer if
    /// `Retry-After` does.
    /// - Returns: the last answer, which may still be a refusal.
    /// - Throws: the last ``CloudError``; `CancellationError`.
    public func send(_ request: CloudRequest, retrying retry: Retry) async throws -> CloudAnswer {
        var backOff = retry.backOff
        for attempt in 1... {
            let isLast = attempt >= retry.attempts
            let wait: Duration
            do {
                let answer = try await send(request)
                guard !isLast, Self.mayRepeat(request, after: answer.status) else { return answer }
                wait = max(backOff.next(pace), answer.retryAfter(at: pace.now()) ?? .zero)
                guard wait <= retry.patience else { return answer }
            } catch let error as CloudError {
                guard !isLast, error.mayPass, request.isRepeatable || !error.mayHaveHadEffect else { throw error }
                wait = max(backOff.next(pace), error.retryAfter ?? .zero)
                guard wait <= retry.patience else { throw error }
            }
            await limiter?.noteWait(wait)
            try await pace.wait(wait)
        }
        preconditionFailure("the last attempt returns or throws")
    }

    private static func mayRepeat(_ request: CloudRequest, after status: Int) -> Bool {
        status == 429 || ([500, 502, 503, 504].contains(status) && request.isRepeatable)
    }
}
