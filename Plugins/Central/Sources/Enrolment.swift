import Crypto
import Foundation
import Glibc
import JSON
import Platform
import PluginKit
import PostgreSQL
import SwiftASN1
import X509

/// The enrolment of this hub at the centre, and its certificate and key: files in the state directory that only the owner can read.
actor Enrolment {
    /// The state between runs.
    private struct Record: Codable {
        /// Set until the certificate has arrived.
        var invitation: String?
        /// The certificate request for the centre; each attempt sends the same.
        var request: String?
        /// The key of that request, until its certificate replaces the former one.
        var key: String?
        var hosts: [String] = []
        var database: String?
    }

    enum State: Hashable, Sendable {
        case notBegun
        /// The centre has the request but has not signed it.
        case waiting
        /// The hub logs in with this role.
        case enrolled(login: String)
    }

    private let settings: CentralSettings
    private let directory: String
    private var record: Record

    /// - Throws: ``PluginFailure`` if the files cannot be read.
    init(_ settings: CentralSettings, in directory: String) throws {
        (self.settings, self.directory) = (settings, directory)
        do {
            let bytes = try PrivateFile.read(Self.path(directory), upTo: 65_536)
            record = try bytes.map { try JSONDecoder().decode(Record.self, from: Data($0)) } ?? Record()
        } catch {
            throw PluginFailure(.state, "reading \(Self.path(directory)): \(error)")
        }
    }

    private static func path(_ directory: String) -> String { directory + "/enrolment.json" }

    private func save() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        try PrivateFile.write(Array(try encoder.encode(record)), to: Self.path(directory))
    }

    // MARK: - Present state

    private var files: IdentityFiles { settings.files ?? IdentityFiles(in: directory) }

    var state: State {
        get throws {
            if record.invitation != nil { return .waiting }
            guard access(files.certificate, R_OK) == 0 else {
                guard settings.files == nil else {
                    throw CentreError(
                        .person, "\(files.certificate) cannot be read: \(String(cString: strerror(errno)))")
                }
                return .notBegun
            }
            return .enrolled(login: try login)
        }
    }

    private var login: String {
        get throws {
            if let login = settings.login { return login }
            return try Self.name(in: try Self.certificate(files.certificate), files.certificate)
        }
    }

    /// When the certificate ends; nil if there is none.
    var end: Date? {
        guard settings.files == nil, access(files.certificate, R_OK) == 0 else { return nil }
        return try? Self.certificate(files.certificate).notValidAfter
    }

    /// The remedy if the hub's own certificate has expired; nil otherwise.
    var advice: String? {
        guard let end, end < .now else { return nil }
        return
            "this hub's certificate ended on \(end.formatted(.iso8601.year().month().day())): ask the desk for an invitation with --replaces, remove hub.pem in \(directory), and enrol by it"
    }

    /// Options for a connection to the centre.
    ///
    /// - Throws: ``CentreError`` if this hub is not enrolled.
    func options() throws -> ConnectionOptions {
        guard case .enrolled(let login) = try state else { throw CentreError(.person, Self.next) }
        let hosts =
            settings.hosts.isEmpty ? record.hosts.compactMap { ConnectionOptions.Host(parsing: $0) } : settings.hosts
        guard !hosts.isEmpty else { throw CentreError(.person, "the centre's hosts are not known: set hosts") }
        var options = ConnectionOptions(
            hosts: hosts, database: settings.database ?? record.database ?? "central", user: login,
            security: .certificate(authority: files.authority, own: files.certificate, key: files.key),
            applicationName: "hub-central")
        options.patience = min(settings.patience, .seconds(5))
        return options
    }

    static let next =
        "this hub is not enrolled: ask the desk of the centre for an invitation, then hub do NAME enrol invite=…"

    private static func certificate(_ path: String) throws -> Certificate {
        guard let bytes = try PrivateFile.read(path, upTo: 65_536) else {
            throw CentreError(.person, "\(path) is not there")
        }
        do { return try Certificate(pemEncoded: String(decoding: bytes, as: UTF8.self)) } catch {
            throw CentreError(.person, "\(path): expected a certificate in PEM")
        }
    }

    private static func name(in certificate: Certificate, _ path: String) throws -> String {
        for part in certificate.subject {
            for attribute in part where attribute.type == .RDNAttributeType.commonName {
                if let name = String(attribute.value) { return name }
            }
        }
        throw CentreError(.person, "\(path): expected a common name, which is the role")
    }

    // MARK: - Enrolling

    /// Saves an invitation and makes a key and a request; the same invitation again changes nothing.
    func begin(_ invitation: Invitation) throws {
        guard settings.files == nil else {
            throw CommandFailure(
                "settings", "the settings name certificate, key and authority: without these enrolment makes its own")
        }
        if record.invitation == invitation.text { return }
        if case .enrolled(let login) = try state, access(IdentityFiles(in: directory).certificate, R_OK) == 0 {
            throw CommandFailure(
                "enrolled",
                "this hub is enrolled as \(login): remove hub.pem in \(directory) first, if you mean another centre or log-in"
            )
        }
        (record.hosts, record.database) = (invitation.hosts.map(\.description), invitation.database)
        record.invitation = invitation.text
        try makeRequest()
    }

    private func makeRequest() throws {
        let key = P256.Signing.PrivateKey()
        // The centre replaces it with the name of the invitation.
        let name = try DistinguishedName { CommonName("hub") }
        let request = try CertificateSigningRequest(
            version: .v1, subject: name, privateKey: Certificate.PrivateKey(key), attributes: .init(),
            signatureAlgorithm: .ecdsaWithSHA256)
        (record.key, record.request) = (key.pemRepresentation, try request.serializeAsPEM().pemString)
        try save()
    }

    /// Asks the centre for the certificate of a pending request.
    func goOn(_ hubID: String, patience: Duration) async throws {
        guard let text = record.invitation, let invitation = Invitation(text), let request = record.request else {
            return
        }
        var options = ConnectionOptions(
            hosts: invitation.hosts, database: invitation.database, user: invitation.role,
            security: .password(invitation.token),
            applicationName: "hub-central")
        options.patience = min(patience, .seconds(5))
        let answer = try await Centre.once(
            options, "SELECT central.enrol_v1($1, $2) AS answer", [request, hubID], "enrol", patience)
        try take(answer)
    }

    /// Requests a successor for a certificate that ends soon; `ask` calls the centre.
    func renew(_ ask: @Sendable (_ request: String) async throws -> JSONTree) async throws {
        if record.request == nil { try makeRequest() }
        guard let request = record.request else { return }
        try take(try await ask(request))
    }

    /// Saves a new certificate, its key, and the authority's certificate.
    private func take(_ answer: JSONTree) throws {
        guard answer["state"]?.text == "signed" else { return }
        guard let certificate = answer["certificate"]?.text, let authority = answer["ca"]?.text, let key = record.key
        else {
            throw CentreError(.person, "the centre has signed and gives no certificate")
        }
        let own = try P256.Signing.PrivateKey(pemRepresentation: key).publicKey
        guard let read = try? Certificate(pemEncoded: certificate), read.publicKey == Certificate.PublicKey(own) else {
            throw CentreError(
                .person, "the centre gives a certificate of another key: ask the desk who used the invitation")
        }
        _ = try Self.name(in: read, "the certificate")
        let files = IdentityFiles(in: directory)
        // Write the certificate last, because it shows that the others exist. A program that is killed here asks again.
        try PrivateFile.write(Array(authority.utf8), to: files.authority)
        try PrivateFile.write(Array(key.utf8), to: files.key)
        try PrivateFile.write(Array(certificate.utf8), to: files.certificate)
        (record.invitation, record.request, record.key) = (nil, nil, nil)
        try save()
    }
}
