import AsyncHTTPClient
import NIOCore
import Synchronization

/// The one HTTP client of the process, and its connections; closed when the last ``CloudClient`` that uses it is gone.
///
/// Clients with other time limits have one of their own, because the library keeps those with the connections.
final class Transport: Sendable {
    struct Times: Hashable {
        var connect: Duration
        var silence: Duration
    }

    private struct Entry {
        weak var transport: Transport?
    }

    private static let current = Mutex<[Times: Entry]>([:])

    let http: HTTPClient

    static func shared(_ times: Times) -> Transport {
        current.withLock { entries in
            if let transport = entries[times]?.transport { return transport }
            let transport = Transport(times)
            entries[times] = Entry(transport: transport)
            return transport
        }
    }

    private init(_ times: Times) {
        var configuration = HTTPClient.Configuration()
        // A redirect could send the token to another host. A service that moves says so to people, who change `base`.
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: TimeAmount(times.connect), read: TimeAmount(times.silence))
        configuration.timeout.write = TimeAmount(times.silence)
        // Shorter than servers keep a silent connection: one that they close while a POST sets out costs a doubt.
        configuration.connectionPool.idleTimeout = .seconds(10)
        // Each failure is told; whether it is tried again is the caller's choice.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    deinit {
        // The library keeps itself until its connections are closed.
        http.shutdown { _ in }
    }
}
