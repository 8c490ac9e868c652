import NIOCore
import NIOSSL
import PluginKit
import Synchronization

/// Provides each connection with the certificate that is on the disk at that time.
///
/// An unusable renewal, such as one of only one of the two files, has no effect until it is complete.
final class CertificateKeeper: Sendable {
    /// An event that people need to know about.
    enum Notice: Sendable, Hashable {
        case renewed
        case unusable(String)
        case ends(at: Int64)

        /// The warning for events that require action.
        ///
        /// - Parameter visitors: the clients that see the certificate, in the plural.
        func warning(at now: Int64, to visitors: String) -> String? {
            switch self {
            case .renewed: nil
            case .unusable(let reason):
                "the certificate was changed and cannot be used; \(visitors) see the former one: \(reason)"
            case .ends(let end) where end < now:
                "the certificate ended on \(CertificateFiles.date(end)), and \(visitors) refuse it: renew its file"
            case .ends(let end): "the certificate ends on \(CertificateFiles.date(end)): renew its file before"
            }
        }
    }

    private struct State {
        var pair: CertificateFiles.Pair
        var stamp: [Int64]
        var warned: Int64?
    }

    private let files: CertificateFiles
    private let now: @Sendable () -> Int64
    private let tell: @Sendable (Notice) -> Void
    private let state: Mutex<State>

    /// Warn daily from this long before the certificate expires.
    private static let notice: Int64 = 14 * day
    private static let day: Int64 = 86_400_000_000

    /// - Parameter now: microseconds since 1970.
    /// - Throws: `PluginFailure` if the files cannot be used.
    init(
        _ files: CertificateFiles, now: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (Notice) -> Void
    ) throws(PluginFailure) {
        (self.files, self.now, self.tell) = (files, now, tell)
        // Take the stamp first, so that a renewal during the reading is read again.
        let stamp = files.stamp
        state = Mutex(State(pair: try files.read(), stamp: stamp))
        if let notice = state.withLock({ Self.warning(&$0, now()) }) { tell(notice) }
    }

    /// The configuration for the server; it asks for the certificate again at each connection.
    var configuration: TLSConfiguration {
        var tls = state.withLock { $0.pair.configuration }
        // Run outside the connection's thread: there, BoringSSL would record an error for an unreadable file and end the connection.
        tls.sslContextCallback = { [self] _, promise in promise.completeWithTask { self.current() } }
        return tls
    }

    /// The configuration for a new connection.
    func current() -> NIOSSLContextConfigurationOverride {
        let now = now()
        let (override, notices) = state.withLock { state in
            var notices: [Notice] = []
            let stamp = files.stamp
            if stamp != state.stamp {
                state.stamp = stamp
                do throws(PluginFailure) {
                    state.pair = try files.read()
                    state.warned = nil
                    notices.append(.renewed)
                } catch {
                    notices.append(.unusable(error.message))
                }
            }
            if let warning = Self.warning(&state, now) { notices.append(warning) }
            return (state.pair.override, notices)
        }
        for notice in notices { tell(notice) }
        return override
    }

    private static func warning(_ state: inout State, _ now: Int64) -> Notice? {
        guard state.pair.end - now < notice, state.warned.map({ now - $0 >= day }) ?? true else { return nil }
        state.warned = now
        return .ends(at: state.pair.end)
    }
}
