import AsyncHTTPClient
import NIOCore
import Synchronization

/// The shared HTTP client of the process, with its connections; closed when the last ``CloudClient`` that uses it is released.
///
/// Clients with different time limits use different transports, because the library ties the limits to the connections.
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
        // A redirect could send the token to another host. If a service moves, people must change `base`.
        configuration.redirectConfiguration = .disallow
        configuration.timeout = .init(connect: TimeAmount(times.connect), read: TimeAmount(times.silence))
        configuration.timeout.write = TimeAmount(times.silence)
        // Shorter than the servers' idle timeout. If a server closes the connection just as a POST starts, its effect is unknown.
        configuration.connectionPool.idleTimeout = .seconds(10)
        // Report each failure; the caller decides about retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.httpVersion = .http1Only
        http = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    }

    deinit {
        // The library keeps the client alive until its connections are closed.
        http.shutdown { _ in }
    }
}
