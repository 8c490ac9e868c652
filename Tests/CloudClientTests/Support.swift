import CloudClient
import Foundation
import PluginKit
import Synchronization
import Testing

extension TestPace {
    var pace: ClientClock {
        ClientClock(
            now: { self.shown }, steady: { self.time.withLock { $0 } },
            pause: { time in
                try Task.checkCancellation()
                self.pauses.withLock { $0.append(time) }
                let parts = time.components
                self.time.withLock { $0 += parts.seconds * 1_000_000 + parts.attoseconds / 1_000_000_000_000 }
            }, chance: { self.chance })
    }
}

/// A client, and the stand-in that must exist at least as long.
struct Visitor: Sendable {
    let client: CloudClient
    let service: StandIn

    func send(_ request: CloudRequest) async throws -> CloudAnswer {
        defer { withExtendedLifetime(service) {} }
        return try await client.send(request)
    }

    func send(_ request: CloudRequest, retrying retry: Retry) async throws -> CloudAnswer {
        defer { withExtendedLifetime(service) {} }
        return try await client.send(request, retrying: retry)
    }
}

/// A client of a stand-in, with the limits of a test.
func client(
    _ service: StandIn, _ pace: TestPace = TestPace(), limiter: RateLimiter? = nil,
    _ change: (inout CloudClient.Limits) -> Void = { _ in }
) throws -> Visitor {
    var limits = CloudClient.Limits()
    change(&limits)
    let address = try ServiceAddress(service.base)
    return Visitor(client: CloudClient(address, pace: pace.pace, limits: limits, limiter: limiter), service: service)
}

/// The error of a request that must fail.
func failure(_ body: () async throws -> CloudAnswer) async throws -> CloudError {
    try await #require(throws: CloudError.self) { try await body() }
}

/// A secret that must never be visible, and a request that has it everywhere.
let hidden = "s3cret"
func secretRequest(_ method: CloudRequest.Method) -> CloudRequest {
    var request = CloudRequest.form("/data", [("client_secret", hidden)], method: method)
    request.query = [("access_token", hidden)]
    request.headers = [("X-Key", hidden)]
    request.authorize(Secret(hidden))
    return request
}
