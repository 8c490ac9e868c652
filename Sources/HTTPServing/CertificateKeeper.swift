import NIOCore
import NIOSSL
import PluginKit
import Synchronization

/// The certificate that each connection is shown: the one that is on the disk when it comes.
///
/// A renewal that cannot be used, such as one of the two files alone, changes nothing until it is whole.
final class CertificateKeeper: Sendable {
    /// What happened that people are to know.
    enum Notice: Sendable, Hashable {
        case renewed
        case unusable(String)
        case ends(at: Int64)

        /// What people have to do something about.
        ///
        /// - Parameter visitors: who sees the certificate, in the plural.
        func warning(at now: Int64, to visitors: String) -> String? {
            switch self {
            case .renewed: nil
            case .unusable(let reason):
                "the certificate was changed and cannot be used; \(visitors) see the one of before: \(reason)"
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

    /// So long before its end people are told, once a day.
    private static let notice: Int64 = 14 * day
    private static let day: Int64 = 86_400_000_000

    /// - Parameter now: microseconds since 1970.
    /// - Throws: `PluginFailure` where they cannot be used.
    init(
        _ files: CertificateFiles, now: @escaping @Sendable () -> Int64, tell: @escaping @Sendable (Notice) -> Void
    ) throws(PluginFailure) {
        (self.files, self.now, self.tell) = (files, now, tell)
        // Taken first: what is renewed while it is read is read again.
        let stamp = files.stamp
        state = Mutex(State(pair: try files.read(), stamp: stamp))
        if let notice = state.withLock({ Self.warning(&$0, now()) }) { tell(notice) }
    }

    /// For the door, which asks again at each connection.
    var configuration: TLSConfiguration {
        var tls = state.withLock { $0.pair.configuration }
        // Not on the connection's thread: what BoringSSL notes there of a file that it cannot read would end the connection.
        tls.sslContextCallback = { [self] _, promise in promise.completeWithTask { self.current() } }
        return tls
    }

    /// What a connection that comes now is shown.
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
