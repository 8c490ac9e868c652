import Glibc
public import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
public import PluginKit

/// The socket that the visitors of a plugin come to by HTTP, or by HTTPS where it has a certificate.
public struct HTTPDoor<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> & RequestContext {
    private let listening: HTTPListening
    private let hub: PluginContext
    private let responder: Responder
    private let patience: PatienceLimits
    private let book: ConnectionBook
    private let hosts: [String]
    /// What is not answered to its end yet.
    public let open = OpenRequests()

    /// - Parameters:
    ///   - listening: where, and with which certificate.
    ///   - hub: is told of the certificate's faults.
    ///   - connections: at a time. At this limit a connection without a request under way makes room for a new one, and
    ///     one address has at most three quarters of them.
    ///   - ofBothLoopbacks: whether to listen at `127.0.0.1` and `::1` if the settings name one of them: browsers try both
    ///     for a name below `localhost`, and another program must not have the one that is left.
    public init(
        _ listening: HTTPListening, hub: PluginContext, responder: Responder, patience: PatienceLimits,
        connections: Int, ofBothLoopbacks: Bool = false
    ) {
        (self.listening, self.hub, self.responder) = (listening, hub, responder)
        (self.patience, book) = (patience, ConnectionBook(most: connections))
        let isBoth = ofBothLoopbacks && listening.isLoopback && listening.port != 0
        hosts =
            !isBoth ? [listening.host] : listening.host == "::1" ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: told the port that it is.
    /// - Throws: `PluginFailure` where a certificate cannot be read or the address not be listened on.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        // Nothing of the library's own is said: it would say addresses and paths.
        var quiet = Logger(label: "door")
        quiet.logLevel = .critical
        let (patience, open, book) = (patience, open, book)
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [PatienceHandler(patience, open, book)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))
        var server = HTTPServerBuilder.http1(configuration: channel)
        if let files = listening.certificate {
            // What the process before this one told of them is looked at again now.
            if let event = try? DeviceEvent("error", device: "https", isResolved: true) { await hub.event(event) }
            server = try .tls(server, tlsConfiguration: keeper(files).configuration)
        }
        let (first, builder, logger) = (hosts[0], server, quiet)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for host in hosts {
                group.addTask {
                    try await serve(builder, at: host, logger) { port in
                        if host == first { await onListening(port) }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private func serve(
        _ server: HTTPServerBuilder, at host: String, _ logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void
    ) async throws {
        let port = listening.port
        let application = Application(
            responder: responder, server: server,
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: port), serverName: nil, reuseAddress: true),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) }, logger: logger)
        do {
            try await application.run()
        } catch let error as IOError {
            // A machine without IPv6 has no such address for other programs, either.
            if host != hosts[0], [EADDRNOTAVAIL, EAFNOSUPPORT].contains(error.errnoCode) { return }
            throw PluginFailure(
                .unavailable,
                "setting listen: cannot listen at \(host.contains(":") ? "[\(host)]" : host):\(port): "
                    + "\(error.description); another port may be free")
        }
    }

    private func keeper(_ files: CertificateFiles) throws(PluginFailure) -> CertificateKeeper {
        let (hub, visitors) = (hub, listening.visitors)
        return try CertificateKeeper(files, now: { hub.clock.now() }) { notice in
            let event: DeviceEvent?
            if let text = notice.warning(at: hub.clock.now(), to: visitors) {
                hub.logger.warning("\(text)")
                event = try? DeviceEvent("error", device: "https", severity: .warning, text: text)
            } else {
                hub.logger.info("\(visitors) are shown a new certificate")
                event = try? DeviceEvent("error", device: "https", isResolved: true)
            }
            if let event { Task { await hub.event(event) } }
        }
    }
}
