import ArgumentParser
import Crypto
import Foundation
import Platform
import SwiftASN1
import X509

/// The centre's certificate authority: a key that never leaves the desk, and the certificate that hosts and hubs trust.
struct Authority {
    /// The certificate in PEM, as hubs get it.
    let pem: String
    private let certificate: Certificate
    private let key: Certificate.PrivateKey

    /// - Throws: an error if a file is missing or invalid, or if the two do not match.
    init(certificate certificatePath: String, key keyPath: String) throws {
        guard let certificateBytes = try PrivateFile.read(certificatePath, upTo: 65_536),
            let keyBytes = try PrivateFile.read(keyPath, upTo: 65_536)
        else {
            throw AdminError("there is no \(certificatePath) or no \(keyPath): hub-central-admin ca new makes both")
        }
        pem = String(decoding: certificateBytes, as: UTF8.self)
        certificate = try Certificate(pemEncoded: pem)
        key = try Certificate.PrivateKey(pemEncoded: String(decoding: keyBytes, as: UTF8.self))
        guard key.publicKey == certificate.publicKey else {
            throw AdminError("\(keyPath) is not the key of \(certificatePath)")
        }
    }

    /// Makes both files; fails if one of them exists.
    static func make(certificate certificatePath: String, key keyPath: String, name: String, days: Int) throws {
        let key = P256.Signing.PrivateKey()
        let subject = try DistinguishedName { CommonName(name) }
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
        }
        let certificate = try issue(
            P256Key(key.publicKey), subject: subject, days: days, extensions, issuer: subject, by: .init(key))
        guard try PrivateFile.write(Array(key.pemRepresentation.utf8), to: keyPath, replacing: false),
            try PrivateFile.write(Array(certificate.utf8), to: certificatePath, replacing: false, mode: 0o644)
        else {
            throw AdminError(
                "there is a \(keyPath) or a \(certificatePath) already; an authority is not replaced by accident")
        }
    }

    /// Signs a hub's request: its key, with the name of the invitation instead of the request's name.
    ///
    /// - Throws: ``AdminError`` if the request does not prove possession of the key, or the key is of another kind.
    func sign(_ request: String, as login: String, days: Int) throws -> String {
        let csr: CertificateSigningRequest
        do { csr = try CertificateSigningRequest(pemEncoded: request) } catch {
            throw AdminError("not a request: \(error)")
        }
        guard let publicKey = P256.Signing.PublicKey(csr.publicKey) else { throw AdminError("not a key of P-256") }
        guard csr.publicKey.isValidSignature(csr.signature, for: csr) else {
            throw AdminError("not signed by its own key")
        }
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.clientAuth])
        }
        return try Self.issue(
            P256Key(publicKey), subject: DistinguishedName { CommonName(login) }, days: days, extensions,
            issuer: certificate.subject, by: key)
    }

    /// Makes a host's certificate for these names and addresses.
    func signHost(_ publicKey: P256.Signing.PublicKey, names: [String], days: Int) throws -> String {
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.notCertificateAuthority)
            Critical(KeyUsage(digitalSignature: true))
            try ExtendedKeyUsage([.serverAuth, .clientAuth])
            SubjectAlternativeNames(names.map(Self.name))
        }
        return try Self.issue(
            P256Key(publicKey), subject: DistinguishedName { CommonName(names[0]) }, days: days, extensions,
            issuer: certificate.subject, by: key)
    }

    private static func name(_ text: String) -> GeneralName {
        var four = in_addr()
        guard inet_pton(AF_INET, text, &four) == 1 else { return .dnsName(text) }
        return .ipAddress(ASN1OctetString(contentBytes: ArraySlice(withUnsafeBytes(of: four.s_addr) { Array($0) })))
    }

    private typealias P256Key = Certificate.PublicKey

    private static func issue(
        _ key: Certificate.PublicKey, subject: DistinguishedName, days: Int, _ extensions: Certificate.Extensions,
        issuer: DistinguishedName, by issuerKey: Certificate.PrivateKey
    ) throws -> String {
        let now = Date()
        let certificate = try Certificate(
            version: .v3, serialNumber: .init(), publicKey: key,
            // The clocks of hubs may be slow.
            notValidBefore: now.addingTimeInterval(-86_400),
            notValidAfter: now.addingTimeInterval(Double(days) * 86_400),
            issuer: issuer, subject: subject, signatureAlgorithm: .ecdsaWithSHA256, extensions: extensions,
            issuerPrivateKey: issuerKey)
        return try certificate.serializeAsPEM().pemString + "\n"
    }
}

/// Paths of the authority's two files.
struct AuthorityFiles: ParsableArguments {
    @Option(name: .customLong("ca"), help: ArgumentHelp("The authority's certificate.", valueName: "file"))
    var certificate = "central-ca.crt"
    @Option(name: .customLong("ca-key"), help: ArgumentHelp("Its key, which stays at the desk.", valueName: "file"))
    var key = "central-ca.key"
}

struct AuthorityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ca", abstract: "The centre's authority: make it, and certificates of hosts.",
        discussion: """
            Examples:
              hub-central-admin ca new
              hub-central-admin ca host db1 db1.example.org 10.0.0.1
              hub-central-admin ca host replicator
            """, subcommands: [New.self, Host.self])

    struct New: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make an authority: two files; the key stays at the desk.")
        @OptionGroup var files: AuthorityFiles
        @Option(help: "The name of the authority.") var name = "central-ca"
        @Option(help: "How long it lasts.") var days = 3_650
        @Flag(help: "One JSON document.") var json = false
        func run() async throws {
            try Authority.make(certificate: files.certificate, key: files.key, name: name, days: days)
            try say(
                "Made \(files.certificate), for all hosts (ssl_ca_file), and \(files.key), mode 0600.",
                json: [("certificate", files.certificate), ("key", files.key)], if: json)
        }
    }

    struct Host: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a key and a certificate for a host, or for replicator, rewind or a person of the desk.",
            discussion: "Writes NAME.key, mode 0600, and NAME.crt for the first of the names.")
        @OptionGroup var files: AuthorityFiles
        @Argument(help: "What hubs call the host: names, and IPv4 addresses.") var names: [String]
        @Option(help: "How long it lasts.") var days = 825
        @Flag(help: "One JSON document.") var json = false
        func run() async throws {
            guard let name = names.first else { throw ValidationError("expected a name") }
            let authority = try Authority(certificate: files.certificate, key: files.key)
            let key = P256.Signing.PrivateKey()
            let certificate = try authority.signHost(key.publicKey, names: names, days: days)
            guard try PrivateFile.write(Array(key.pemRepresentation.utf8), to: name + ".key", replacing: false),
                try PrivateFile.write(Array(certificate.utf8), to: name + ".crt", mode: 0o644)
            else { throw AdminError("there is a \(name).key already") }
            try say(
                "Made \(name).key, mode 0600, and \(name).crt.",
                json: [("certificate", name + ".crt"), ("key", name + ".key")], if: json)
        }
    }
}
