import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import PluginKit
import Synchronization

/// A single request in progress; translates the libraries' errors.
final class HTTPExchange: Sendable {
    /// Whether the request may change something at the service.
    let hasEffect: Bool
    private let hasBody: Bool
    private let host: String
    /// `GET exist.io/api/2/…`.
    let what: String
    private let hasBegun = Mutex(false)
    private let hasHead = Mutex(false)

    init(_ request: CloudRequest, at address: ServiceAddress) {
        (hasEffect, hasBody, host) = (request.hasEffect, request.body != nil, address.host)
        // Drop a query written into the path, because queries are private.
        what = "\(request.method) \(address.host)\(request.path.prefix { $0 != "?" }.prefix(200))"
    }

    /// Notes that the request's head was sent.
    func noteBegin() { hasBegun.withLock { $0 = true } }

    /// Notes that the answer's head was received.
    func noteHead() { hasHead.withLock { $0 = true } }

    func error(_ code: CloudError.Code, _ words: String) -> CloudError {
        // Without a body, there is no event when the request is sent.
        let mayHaveBegun = hasBody ? hasBegun.withLock { $0 } : true
        let neverLeaves: Set<CloudError.Code> = [.tls, .request, .throttled]
        return CloudError(
            code, "\(what): \(words)",
            mayHaveHadEffect: hasEffect && mayHaveBegun && !neverLeaves.contains(code))
    }

    /// Translates a library's error.
    ///
    /// The original text may contain an address and its query.
    func read(_ error: any Error) -> any Error {
        switch error {
        case let error as CloudError: error
        case is CancellationError: CancellationError()
        case let error as HTTPClientError: read(error)
        case let error as NIOConnectionError: unreachable(Self.words(error))
        case let error as ChannelError:
            if case .connectTimeout = error { timedOutConnecting } else { cut }
        case NIOSSLError.uncleanShutdown: cut
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            hasHead.withLock { $0 }
                ? cut
                : self.error(
                    .tls,
                    "no safe connection: the service shows a certificate that this machine does not trust or that is not "
                        + "its own, or it does not speak TLS; compare address, port and clock")
        case let error as IOError: read(error)
        case HTTPParserError.invalidEOFState: cut
        default: self.error(.malformed, "the service's answer is not HTTP")
        }
    }

    /// Translates the system's errors at the beginning or the end of a connection.
    private func read(_ error: IOError) -> CloudError {
        let words = "\(host) cannot be reached: \(String(cString: strerror(error.errnoCode)))"
        switch error.errnoCode {
        case ECONNREFUSED: return unreachable(words)
        // These errors can also end an open connection.
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EADDRNOTAVAIL: return self.error(.unreachable, words)
        default: return cut
        }
    }

    private func read(_ error: HTTPClientError) -> any Error {
        switch error {
        case .cancelled: CancellationError()
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout: timedOutConnecting
        case .readTimeout, .deadlineExceeded, .writeTimeout: timedOut
        case .remoteConnectionClosed, .requestStreamCancelled, .uncleanShutdown: cut
        case .bodyLengthMismatch: self.error(.malformed, "the service contradicts itself about the answer's length")
        default: self.error(.request, "the request cannot be sent (\(error.shortDescription))")
        }
    }

    var timedOut: CloudError {
        error(
            .timedOut,
            hasHead.withLock { $0 }
                ? "the service began to answer and did not end in time" : "the service did not answer in time")
    }

    private func unreachable(_ words: String) -> CloudError {
        CloudError(.unreachable, "\(what): \(words)", mayHaveHadEffect: false)
    }

    private var timedOutConnecting: CloudError {
        CloudError(.timedOut, "\(what): the connection was not accepted in time", mayHaveHadEffect: false)
    }

    private var cut: CloudError {
        error(
            .cut,
            hasHead.withLock { $0 }
                ? "the connection ended in the middle of the answer" : "the connection ended before an answer")
    }

    /// The system's error texts, such as "Connection refused", each once.
    private static func words(_ error: NIOConnectionError) -> String {
        let reasons = error.connectionErrors.map { failure in
            switch failure.error {
            case let error as IOError: String(cString: strerror(error.errnoCode))
            case is ChannelError: "no answer in time"
            default: "no connection"
            }
        }
        guard let first = reasons.first else {
            return "the name \(error.host) cannot be looked up; is the network there?"
        }
        let others = Set(reasons).subtracting([first]).sorted()
        return "\(error.host):\(error.port) cannot be reached: \(([first] + others).joined(separator: ", "))"
    }
}
