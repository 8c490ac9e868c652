import Files
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import HTTPTypes
import Logging
import NIOCore
import PluginKit

/// The socket that phones come to.
struct Door: Sendable {
    let settings: IngestSettings
    let desk: Desk
    let patience: PatienceHandler.Limits
    let open = OpenRequests()
    /// Connections at a time; who comes then waits until one ends.
    private static let connections = 32

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: told the port that it is.
    /// - Throws: ``PluginFailure`` where a certificate cannot be read or the address not be listened on.
    func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        // Nothing of the library's own is said: it would say addresses and paths.
        var quiet = Logger(label: "door")
        quiet.logLevel = .critical
        let (patience, open) = (patience, open)
        let channel = HTTP1Channel.Configuration(
            additionalChannelHandlers: [PatienceHandler(patience, open)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: 16_384, maxHeaderListSize: 32_768, maxHeaderFieldCount: 100))
        var server = HTTPServerBuilder.http1(configuration: channel)
        if let files = settings.certificate {
            // What the process before this one told of them is looked at again now.
            if let event = try? DeviceEvent("error", device: "https", isResolved: true) {
                await desk.intake.hub.event(event)
            }
            server = try .tls(server, tlsConfiguration: keeper(files).configuration)
        }
        let port = settings.port
        let application = Application(
            responder: desk, server: server,
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: port), serverName: nil, reuseAddress: true,
                availableConnectionsDelegate: MaximumAvailableConnections(Self.connections, logger: quiet)),
            onServerRunning: { await onListening($0.localAddress?.port ?? port) }, logger: quiet)
        do {
            try await application.run()
        } catch let error as IOError {
            throw PluginFailure(
                .unavailable,
                "cannot listen at \(settings.host):\(port): \(error.description); another listen may be free")
        }
    }

    private func keeper(_ files: CertificateFiles) throws(PluginFailure) -> CertificateKeeper {
        let hub = desk.intake.hub
        return try CertificateKeeper(files, now: { hub.clock.now() }) { notice in
            let event: DeviceEvent?
            if let text = notice.warning(at: hub.clock.now()) {
                hub.logger.warning("\(text)")
                event = try? DeviceEvent("error", device: "https", severity: .warning, text: text)
            } else {
                hub.logger.info("phones are shown a new certificate")
                event = try? DeviceEvent("error", device: "https", isResolved: true)
            }
            if let event { Task { await hub.event(event) } }
        }
    }
}
