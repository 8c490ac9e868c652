import Glibc
public import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
public import PluginKit

/// The HTTP server of a plugin, with HTTPS if it has a certificate.
public struct PluginHTTPServer<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> & RequestContext {
    private let listening: ListenSettings
    private let hub: PluginContext
    private let responder: Responder
    private let patience: TimeoutLimits
    private let book: ConnectionLimiter
    private let hosts: [String]
    private let socket: String?
    /// The requests that are not completely answered yet.
    public let open = OpenRequests()

    /// - Parameters:
    ///   - listening: the address and the certificate.
    ///   - hub: gets events about problems of the certificate.
    ///   - connections: maximum number of simultaneous connections. At the limit, a connection without a request is closed to make room for a
    ///     new one. One address may use at most three quarters of them.
    ///   - ofBothLoopbacks: whether to listen at both `127.0.0.1` and `::1` if the settings name one of them. Browsers try both
    ///     for a name below `localhost`, and no other program must get hold of the other one.
    ///   - socket: the path of a Unix socket at which to listen as well, by plain HTTP, for a proxy of this machine; `nil` for none. The
    ///     permissions of its folder decide which users connect; the group of the socket is the folder's if the folder has the set-group-ID bit.
    public init(
        _ listening: ListenSettings, hub: PluginContext, responder: Responder, patience: TimeoutLimits,
        connections: Int, ofBothLoopbacks: Bool = false, socket: String? = nil
    ) {
        (self.listening, self.hub, self.responder) = (listening, hub, responder)
        (self.patience, book, self.socket) = (patience, ConnectionLimiter(most: connections), socket)
        let isBoth = ofBothLoopbacks && listening.isLoopback && listening.port != 0
        hosts =
            !isBoth ? [listening.host] : listening.host == "::1" ? ["::1", "127.0.0.1"] : ["127.0.0.1", "::1"]
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called with the actual port.
    /// - Throws: `PluginFailure` if the certificate cannot be read or the server cannot listen at the address or the socket.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        // The library's log messages would contain addresses and paths, so suppress them.
        var quiet = Logger(label: "door")
        quiet.logLevel = .critical
        let (patience, open, book) = (patience, open, book)
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [TimeoutHandler(patience, open, book)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))
        let plain = HTTPServerBuilder.http1(configuration: channel)
        var server = plain
        if let files = listening.certificate {
            // Resolve the certificate problem of the previous process, because the files are checked again now.
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
            if let socket { group.addTask { try await serve(plain, atSocket: socket, logger) } }
            // Waits for the first error, which ends the others.
            for try await _ in group {}
        }
    }

    private func application(
        _ server: HTTPServerBuilder, at address: BindAddress, _ logger: Logger,
        onListening: @escaping @Sendable (any Channel) async -> Void
    ) -> Application<Responder> {
        Application(
            responder: responder, server: server,
            configuration: ApplicationConfiguration(address: address, serverName: nil, reuseAddress: true),
            onServerRunning: onListening, logger: logger)
    }

    private func serve(_ server: HTTPServerBuilder, atSocket path: String, _ logger: Logger) async throws {
        let application = application(server, at: .unixDomainSocket(path: path), logger) { _ in
            // Until now only this user could connect, because of the mask of new files.
            chmod(path, 0o660)
        }
        do {
            try await application.run()
        } catch {
            if error is CancellationError { throw error }
            throw PluginFailure(
                .unavailable,
                "setting socket: cannot listen at \(path): \(error); its folder must exist, and the hub's user must be able "
                    + "to write there")
        }
    }

    private func serve(
        _ server: HTTPServerBuilder, at host: String, _ logger: Logger,
        onListening: @escaping @Sendable (Int) async -> Void
    ) async throws {
        let port = listening.port
        let application = application(server, at: .hostname(host, port: port), logger) {
            await onListening($0.localAddress?.port ?? port)
        }
        do {
            try await application.run()
        } catch let error as IOError {
            // On a machine without IPv6, no other program can use that address either.
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
