// The compiler assigns `stat` to this module or to Glibc, depending on which one it reads first.
import CDispatch
import Glibc
import NIOSSL
import Platform
public import PluginKit

/// The two files for HTTPS: the certificate with its chain, and its private key.
public struct CertificateFiles: Sendable, Hashable {
    public let certificate: String
    public let key: String

    public init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }

    /// Larger than any chain or key.
    private static let maximumBytes = 1 << 20

    /// The contents of both files.
    public struct Pair: Sendable {
        let chain: [NIOSSLCertificate]
        let key: NIOSSLPrivateKey
        /// The earliest expiry in the chain, in microseconds since 1970.
        public let end: Int64

        var configuration: TLSConfiguration {
            var tls = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            tls.minimumTLSVersion = .tlsv12
            return tls
        }

        /// The same configuration for a single connection, as an override of the one the server was opened with.
        var override: NIOSSLContextConfigurationOverride {
            var override = NIOSSLContextConfigurationOverride()
            override.certificateChain = chain.map { .certificate($0) }
            override.privateKey = .privateKey(key)
            return override
        }
    }

    /// Reads both files and checks that they belong together.
    ///
    /// - Throws: `PluginFailure` with the setting and the remedy.
    public func read() throws(PluginFailure) -> Pair {
        let (chain, key) = try PluginSettings.all(readCertificate, readKey)
        let end = chain.map { Int64($0.notValidAfter) }.min() ?? 0
        let pair = Pair(chain: chain, key: key, end: end.multipliedReportingOverflow(by: 1_000_000).partialValue)
        do {
            _ = try NIOSSLContext(configuration: pair.configuration)
        } catch {
            throw PluginFailure(
                .settings,
                "setting key: \(self.key) is not the key of the first certificate in \(certificate); that file begins with "
                    + "the hub's own certificate, and both come from one renewal")
        }
        return pair
    }

    private func readCertificate() throws -> [NIOSSLCertificate] {
        let (bytes, _) = try Self.bytes(of: "certificate", certificate)
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(bytes), !chain.isEmpty else {
            throw PluginFailure(
                .settings,
                "setting certificate: \(certificate) is not a certificate in PEM form, which begins with "
                    + "-----BEGIN CERTIFICATE-----; often it is called fullchain.pem")
        }
        return chain
    }

    private func readKey() throws -> NIOSSLPrivateKey {
        let (bytes, mode) = try Self.bytes(of: "key", key)
        // The owner and a group may read it, as with Debian's ssl-cert; only the owner may change it.
        guard mode & 0o027 == 0 else {
            throw PluginFailure(
                .settings,
                "setting key: other users may read or change \(key) (mode \(String(mode & 0o777, radix: 8))); type: "
                    + "chmod 600 \(key), or 640 if a group must read it")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard !text.contains("ENCRYPTED") else {
            throw PluginFailure(
                .settings,
                "setting key: \(key) has a password, and the plugin cannot ask for it; openssl pkey -in \(key) -out NEW "
                    + "takes it off"
            )
        }
        do {
            return try NIOSSLPrivateKey(bytes: bytes, format: .pem)
        } catch {
            throw PluginFailure(
                .settings,
                "setting key: \(key) is not a private key in PEM form, which begins with -----BEGIN PRIVATE KEY-----; "
                    + "often it is called privkey.pem")
        }
    }

    private static func bytes(of setting: String, _ path: String) throws -> (bytes: [UInt8], mode: mode_t) {
        do throws(FileError) {
            // Do not block on something other than a file, such as a pipe.
            let file = try Descriptor(path, O_RDONLY | O_NONBLOCK)
            var status = stat()
            guard fstat(file.number, &status) == 0 else { throw FileError("examine", path) }
            guard status.st_mode & S_IFMT == S_IFREG else {
                throw FileError("read", path, code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
            }
            guard status.st_size <= maximumBytes else { throw FileError("read", path, code: EFBIG) }
            return (try file.read(upTo: maximumBytes), status.st_mode)
        } catch {
            throw PluginFailure(
                .settings,
                "setting \(setting): \(error); it names the file of the "
                    + (setting == "key" ? "certificate's private key" : "certificate and of those above it")
                    + ", which the hub's user must be able to read")
        }
    }

    /// The date of an instant in UTC: `2026-03-15`.
    public static func date(_ microseconds: Int64) -> String {
        String(Timestamp(microseconds: microseconds).text.prefix { $0 != "T" })
    }

    /// The identity and state of both files, to detect changes.
    var stamp: [Int64] { [certificate, key].flatMap(Self.stamp) }

    private static func stamp(_ path: String) -> [Int64] {
        var status = stat()
        guard stat(path, &status) == 0 else { return [Int64(errno)] }
        return [
            Int64(truncatingIfNeeded: status.st_dev), Int64(truncatingIfNeeded: status.st_ino), Int64(status.st_size),
            Int64(status.st_mtim.tv_sec), Int64(status.st_mtim.tv_nsec), Int64(status.st_ctim.tv_sec),
            Int64(status.st_ctim.tv_nsec),
        ]
    }
}
