import Foundation
import HubProcess
import JSON
import Testing

/// How a hub gets its certificate and the next one, and its report if it has no valid one.
@Suite(.enabled(if: Need.postgresql.isMet, Comment(rawValue: Need.postgresql.reason)), .timeLimit(.minutes(5)))
struct CertificateTests {
    private let token = "a-token-for-once-only"

    /// A hub that is not enrolled, and the line of its invitation.
    private func invited() async throws -> (scene: CentralScene, line: String) {
        let scene = try await CentralScene(login: nil)
        try await scene.sql(
            """
            CREATE ROLE invite_3fa9 LOGIN PASSWORD '\(token)' IN ROLE invited;
            INSERT INTO central.invite (role, login, studies, until) VALUES ('invite_3fa9', 'hub_house', '{1}', now() + interval '1 day')
            """)
        return (scene, "central://127.0.0.1:\(scene.server.port)/central?invite=3fa9.\(token)")
    }

    /// Signs the pending request as the desk does, with the name of the invitation.
    ///
    /// - Returns: the certificate, in PEM.
    @discardableResult private func sign(_ scene: CentralScene, days: Int) async throws -> String {
        let waiting = "FROM central.request WHERE signed IS NULL"
        try await scene.until("SELECT count(*) \(waiting)", is: ["1"])
        let request = try await scene.sql("SELECT csr \(waiting)").joined(separator: "\n")
        let folder = try TemporaryFolder()
        let file = try folder.write(request + "\n", to: "request.pem")
        let signed = "\(folder.path)/signed.pem"
        let result = try await ChildProcess(
            "/usr/bin/env",
            [
                "openssl", "x509", "-req", "-in", file, "-CA", scene.server.authority, "-CAkey",
                scene.server.authorityKey, "-days", "\(days)", "-subj", "/CN=hub_house", "-out", signed,
            ]
        ).result()
        try #require(result.code == 0, "\(result.errors)")
        let certificate = try String(contentsOfFile: signed, encoding: .utf8)
        let authority = try String(contentsOfFile: scene.server.authority, encoding: .utf8)
        try await scene.sql(
            "UPDATE central.request SET signed = now(), certificate = '\(certificate)', ca = '\(authority)' WHERE signed IS NULL"
        )
        return certificate
    }

    /// The content of a file of the plugin's state.
    private func state(_ scene: CentralScene, _ name: String) throws -> String {
        let folder = scene.host.folder.path
        let file = try #require(
            FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String }.first {
                $0.hasSuffix("/\(name)")
            })
        return try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
    }

    @Test func `an invitation gives a certificate for the hub's own key and is worthless after that`() async throws {
        let (scene, line) = try await invited()
        let wrong = try await scene.refusal("enrol", "invite=\(line.replacing("once", with: "0nce"))")
        #expect(wrong.contains("28P01") && !wrong.contains("0nce"), "\(wrong)")
        #expect(try await scene.ask("enrol", "invite=\(line)")["state"]?.text == "waiting")
        try await sign(scene, days: 400)
        let enrolled = try await scene.ask("enrol")
        #expect(enrolled["state"]?.text == "enrolled" && enrolled["login"]?.text == "hub_house")
        #expect(try await scene.ask("studies").list?.first?["study"]?.text == "heart")
        try await scene.consent()
        _ = try await scene.receipt(try await scene.log("70 kg"))
        #expect(try await scene.refusal("enrol", "invite=\(line)").contains("is enrolled as hub_house"))
        // It is valid for long, so no other is requested.
        #expect(try await scene.sql("SELECT count(*) FROM central.request WHERE asker = 'hub_house'") == ["0"])
    }

    @Test func `a certificate that ends soon is replaced by one with a new key, and the hub continues with it`()
        async throws
    {
        let (scene, line) = try await invited()
        _ = try await scene.ask("enrol", "invite=\(line)")
        let first = try await sign(scene, days: 30)
        #expect(try await scene.ask("enrol")["state"]?.text == "enrolled")
        try await scene.consent()
        _ = try await scene.receipt(try await scene.log("70 kg"))
        let key = try state(scene, "hub.key")
        // The request comes without a command. Until it is signed, the hub uses the certificate that it has.
        try await scene.until("SELECT count(*) FROM central.request WHERE asker = 'hub_house'", is: ["1"])
        #expect(try state(scene, "hub.pem").trimmed == first.trimmed && (try state(scene, "hub.key")) == key)
        let second = try await sign(scene, days: 400)
        _ = try await scene.ask("enrol")
        try await eventually { try state(scene, "hub.pem").trimmed == second.trimmed }
        #expect(try state(scene, "hub.key") != key)

        // A new connection uses the new certificate, and no third one is requested.
        scene.server.kill()
        try await scene.server.start()
        _ = try await scene.receipt(try await scene.log("71 kg", at: "2026-03-16 07:30"))
        _ = try await scene.ask("enrol")
        #expect(try await scene.sql("SELECT count(*) FROM central.request WHERE signed IS NULL") == ["0"])
        #expect(try await scene.rows("value") == ["70", "71"])
    }

    @Test func `an expired certificate is refused, and the report shows since when and the remedy`() async throws {
        let (scene, line) = try await invited()
        _ = try await scene.ask("enrol", "invite=\(line)")
        try await sign(scene, days: -1)
        #expect(try await scene.ask("enrol")["state"]?.text == "enrolled")
        let said = try await scene.refusal("studies")
        #expect(said.contains("certificate expired"), "\(said)")
        #expect(said.contains("this hub's certificate ended on 2") && said.contains("--replaces"), "\(said)")
        _ = try await scene.fault(with: "this hub's certificate ended on 2")
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
