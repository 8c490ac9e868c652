import Foundation
import HubProcess
import HubSettings
import HubWire
import JSON
import PhonePayloads
import Platform
import PluginKit
import PluginTesting
import Testing

@testable import HTTPIngest

/// Tokens and settings.
@Suite(.timeLimit(.minutes(1)), .serialized) struct TokenTests {
    @Test func `A token is shown once, kept as a hash, valid after a restart, and invalid once revoked`() async throws {
        let place = try TestPlace()
        let secret: String
        do {
            let state = try PluginState(directory: place.state)
            let store = TokenStore(state, declared: [])
            let (token, text) = try await store.add(
                name: "anna-iphone", person: "anna", formats: ["hae"], at: 1_000_000)
            secret = text
            #expect(try await store.owner(of: text, at: 0) == token)
            #expect(try await store.owner(of: text + "x", at: 0) == nil)
            await #expect(throws: CommandFailure.self) {
                try await store.add(name: "anna-iphone", person: nil, formats: [], at: 0)
            }
            try state.close()
        }
        let bytes = try Data(contentsOf: URL(filePath: place.state + "/state.db"))
        #expect(bytes.range(of: Data(secret.split(separator: ".")[1].utf8)) == nil)
        let state = try PluginState(directory: place.state)
        let store = TokenStore(state, declared: [])
        let token = try #require(try await store.owner(of: secret, at: 0))
        #expect(token.person == "anna" && token.formats == ["hae"])
        try await store.revoke("anna-iphone")
        #expect(try await store.owner(of: secret, at: 0) == nil)
        #expect(try await store.isGood(token) == false)
        await #expect(throws: CommandFailure.self) { try await store.revoke("anna-iphone") }
        try state.close()
    }

    @Test func `Apps are separate sources from the beginning unless there were tokens before`() async throws {
        for hadTokens in [false, true] {
            let place = try TestPlace()
            let state = try PluginState(directory: place.state)
            let store = TokenStore(state, declared: [])
            if hadTokens { _ = try await store.add(name: "a", person: nil, formats: [], at: 0) }
            let memory = IntakeState(state)
            try await memory.begin(hasTokens: hadTokens, now: 5)
            // A second call changes nothing.
            try await IntakeState(state).begin(hasTokens: true, now: 7)
            #expect(try await memory.appsSince == (hadTokens ? 5 : 0))
            try state.close()
        }
    }

    @Test func `The openScale ledger holds decades of measurements, and deleted ones are gone`() async throws {
        let place = try TestPlace()
        let memory = IntakeState(try PluginState(directory: place.state))
        let token = PhoneToken(name: "a", id: "0badcafe", hash: [], person: nil, made: 0)
        var ledger = OpenScaleLedger()
        for number in 0..<25_000 {
            ledger.apply(
                .has(user: "1", time: "T\(number)", types: ["weight", "bodyFatPercentage", "hc.boneMass", "x"]))
        }
        #expect(ledger.text.utf8.count > 1 << 20)
        try await memory.keep(ledger, of: token)
        #expect(try await memory.ledger(of: token) == ledger)
        ledger.apply(.cleared(user: "1"))
        ledger.apply(.has(user: "1", time: "T1", types: ["weight"]))
        try await memory.keep(ledger, of: token)
        #expect(try await memory.ledger(of: token) == ledger)
    }

    @Test func `Tokens are all different, and each secret proves only its own`() {
        let tokens = (0..<100).map { PhoneToken.make(name: "\($0)", person: nil, formats: [], at: 0) }
        #expect(Set(tokens.map(\.text)).count == 100)
        for (token, text) in tokens {
            let secret = String(text.drop { $0 != "." }.dropFirst())
            #expect(token.isProved(by: secret) && secret.utf8.count == 43)
            #expect(tokens.count { $0.token.isProved(by: secret) } == 1)
            #expect(PhoneToken(kept: token.kept) == token)
        }
    }

    @Test(
        arguments: [
            (["me"], "kitchen", "me", "the only one"), (["me"], "me-phone", "me", nil),
            (["ben", "carl"], "anna-iphone", nil, "it has ben, carl"), (["ben", "carl"], "ben.phone", "ben", nil),
            ([], "anna-iphone", nil, "it has none"), (["Anna", "ben"], "anna-iphone", "Anna", nil),
            (["anna", "anna-maria"], "ANNA-MARIA.phone", "anna-maria", nil),
        ] as [([String], String, String?, String?)])
    func `A new token shows its person, with a note if its name does not begin with the person's`(
        persons: [String], name: String, person: String?, note: String?
    ) async throws {
        let scene = try await Scene { $0.persons = persons.map { .init(name: $0, zone: "Europe/Berlin") } }
        try await scene.run { () async throws in
            let made = try await scene.newToken(#"{"name":"\#(name)"}"#)
            #expect(made["person"]?.text == person)
            #expect(note.map { made["note"]?.text?.contains($0) == true } ?? (made["note"] == nil), "\(made.json)")
        }
    }

    @Test(arguments: [
        ("annas-phone", "anna"), ("anna_phone", "anna"), ("ana-phone", "anna"), ("jurgen-phone", "juergen"),
        ("Jürgens-phone", "juergen"), ("kitchen", nil), ("a", nil),
    ]) func `A name that almost begins with a person's name suggests that person`(_ name: String, _ meant: String?) {
        let persons: [Welcome.PersonEntry] = [
            .init(name: "anna"), .init(name: "juergen", displayName: "Jürgen"), .init(name: "ben"),
        ]
        #expect(TokenOwner.named(by: name, persons) == nil)
        #expect(TokenOwner.meant(by: name, persons) == meant)
    }

    @Test func `A token's person may be given in any case and by display name, and posts may do the same`() async throws
    {
        let scene = try await Scene {
            $0.persons = [.init(name: "juergen", displayName: "Jürgen", zone: "Europe/Berlin"), .init(name: "ben")]
        }
        try await scene.run { () async throws in
            let made = try await scene.newToken(#"{"name":"kitchen","person":"JÜRGEN"}"#)
            #expect(made["person"]?.text == "juergen" && made["displayName"]?.text == "Jürgen")
            let token = try #require(made["token"]?.text)
            for (said, status) in [("jürgen", 200), ("Juergen", 200), ("ben", 403)] {
                let body = #"{"weight":80,"start":"2026-03-01T06:00:00Z","person":"\#(said)"}"#
                let answer = try await scene.send("POST", "/ingest/plain", Array(body.utf8), token: token)
                #expect(answer.status == status, "\(said): \(answer)")
            }
            let unknown = await scene.hub.command(
                "new", RawJSON(trusted: Array(#"{"name":"hall","person":"jurgen"}"#.utf8)))
            guard case .failed(_, let reason) = unknown else { return #expect(Bool(false), "\(unknown)") }
            #expect(reason.contains("did you mean"), "\(reason)")
        }
    }

    @Test func `A token limited to a format opens no other, and a revoked one ends the post in progress`() async throws
    {
        let scene = try await Scene { $0.answers = false }
        try await scene.run { () async throws in
            let made = try await scene.newToken(#"{"name":"kitchen","formats":["ble-scale-sync"]}"#)
            let token = try #require(made["token"]?.text)
            #expect(made["person"]?.text == "me" && made["qr"] == nil)
            let other = try await scene.send("POST", "/ingest/plain", Array(#"{"weight":80}"#.utf8), token: token)
            #expect(other.status == 403)
            let listed = await scene.hub.command("list", .emptyObject)
            guard case .done(let list?) = listed else { return #expect(Bool(false)) }
            #expect(list.text.contains("kitchen") && list.text.contains("phone") && !list.text.contains(token))
            let revoked = await scene.hub.command("revoke", RawJSON(trusted: Array(#"{"name":"kitchen"}"#.utf8)))
            #expect("\(revoked)".contains("done"))
            let late = try await scene.send(
                "POST", "/ingest/ble-scale-sync", Array(#"{"weight":80}"#.utf8), token: token)
            #expect(late.status == 401)
        }
    }

    @Test(
        arguments: [
            (["listen": "0.0.0.0:7780"], "unencrypted"), (["listen": "127.0.0.1:99999"], "port"),
            (["certificate": "/x.pem"], "come together"), (["workout_names": ["Laufen=ranning"]], "workout_names"),
            (["tokens": ["phone:1:2"]], "tokens"),
        ] as [([String: any Sendable], String)])
    func `Wrong or unsafe settings are refused with a remedy`(
        change: [String: any Sendable], words: String
    ) throws {
        var values = Scene.settings()
        _ = try IngestSettings(PluginSettings(values))
        for (name, value) in change {
            values[name] =
                (value as? String).map(SettingValue.string)
                ?? .list((value as? [String] ?? []).map(SettingValue.string))
        }
        let failure = #expect(throws: PluginFailure.self) { try IngestSettings(PluginSettings(values)) }
        #expect(failure?.message.contains(words) == true, "\(failure?.message ?? "")")
    }

    @Test func `The manifest is sound, and sample.conf matches it`() throws {
        #expect(HTTPIngest.fullManifest.faults == [])
        let rendered = SampleConfiguration.render(
            instance: HTTPIngest.manifest.name, declarations: HTTPIngest.manifest.settings)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../sample.conf")
        let found = try? String(contentsOf: file.standardizedFileURL, encoding: .utf8)
        #expect(found == rendered, "\(rendered)")
    }

    @Test func `A QR code is square, has the size of its version, and three finder patterns`() throws {
        let code = try #require(QRCode("com.HealthExport://automation?url=https%3A%2F%2Fhub.example.org"))
        let isSquare = code.rows.allSatisfy { $0.count == code.rows.count }
        #expect(isSquare && (code.rows.count - 17) % 4 == 0)
        let last = code.rows.count - 7
        for (row, column) in [(0, 0), (0, last), (last, 0)] {
            let isDark = (0..<7).allSatisfy { code.rows[row][column + $0] && code.rows[row + 6][column + $0] }
            let isLight = (1..<6).allSatisfy { !code.rows[row + 1][column + $0] }
            #expect(isDark && isLight)
        }
        #expect(QRCode("") == nil && QRCode(String(repeating: "x", count: 5_000)) == nil)
        #expect(code.lines.count == (code.rows.count + 5) / 2)
    }
}
