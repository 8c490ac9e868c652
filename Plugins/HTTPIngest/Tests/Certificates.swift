import Foundation
import HubProcess
import HubWire

/// A certificate authority for one test, and certificates in files, made by openssl.
final class Certificates: Sendable {
    let folder: TemporaryFolder

    init() async throws {
        folder = try TemporaryFolder()
        try await Self.make(["-subj", "/CN=An authority", "-keyout", "\(folder.path)/authority.key", "-out", authority])
    }

    var authority: String { "\(folder.path)/authority.pem" }
    var certificate: String { "\(folder.path)/fullchain.pem" }
    var key: String { "\(folder.path)/privkey.pem" }

    var settings: [String: SettingValue] { ["certificate": .string(certificate), "key": .string(key)] }

    /// Makes a certificate and a key for this machine, by default in the files of `settings`.
    func issue(_ certificate: String? = nil, _ key: String? = nil, days: Int = 30) async throws {
        let key = key ?? self.key
        try await Self.make([
            "-CA", authority, "-CAkey", "\(folder.path)/authority.key", "-subj", "/CN=localhost", "-days", "\(days)",
            "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-addext", "basicConstraints=critical,CA:FALSE",
            "-keyout", key, "-out", certificate ?? self.certificate,
        ])
        chmod(key, 0o600)
    }

    struct Failed: Error { let said: String }

    private static func make(_ arguments: [String]) async throws {
        try await openssl(
            ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"] + arguments)
    }

    static func openssl(_ arguments: [String]) async throws {
        let result = try await ChildProcess("/usr/bin/env", ["openssl"] + arguments).result()
        guard result.code == 0 else { throw Failed(said: result.errors) }
    }
}

/// One call of curl, as a person or a shortcut makes it.
struct Curl {
    /// The exit status of curl: 0, or why there is no answer, such as 60 for an untrusted certificate.
    var code: Int32
    var status: Int?
    var body: String
    var errors: String

    /// - Parameter body: posted with the scene's token, if there is one.
    init(_ url: String, _ body: String? = nil, token: String = Scene.secret, options: [String] = []) async throws {
        var arguments = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "20"]
        arguments += ["--write-out", "\n%{http_code}\n"] + options
        if let body {
            arguments += ["-H", "Authorization: Bearer \(token)", "-H", "Content-Type: application/json"]
            arguments += ["--data-binary", body]
        }
        let child = try ChildProcess("/usr/bin/env", arguments + [url])
        let result = await child.result()
        let lines = child.lines
        (code, errors) = (result.code, result.errors)
        (status, self.body) = (lines.last.flatMap { Int($0) }, lines.dropLast().joined(separator: "\n"))
    }
}
