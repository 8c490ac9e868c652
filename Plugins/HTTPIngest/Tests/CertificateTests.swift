import Foundation
import HubProcess
import HubWire
import JSON
import Logging
import NIOCore
import PluginKit
import PluginTesting
import Synchronization
import Testing

@testable import HTTPIngest
@testable import HTTPServing

/// HTTPS with certificate files: openssl makes the certificates, and curl is given the ones to trust.
@Suite(.timeLimit(.minutes(1)), .serialized, .enabled(if: Need.https.isMet, Comment(rawValue: Need.https.reason)))
struct CertificateTests {
    private let weight = #"{"type":"weight","value":80.4,"start":"2026-02-10T06:31:02+01:00"}"#

    @Test func `A phone that trusts the certificate posts by HTTPS, and one that does not sends nothing`() async throws
    {
        let certificates = try await Certificates()
        try await certificates.issue()
        let scene = try await Scene(settings: certificates.settings)
        let trust = ["--cacert", certificates.authority]
        try await scene.run { () async throws in
            let made = try await scene.newToken(#"{"name":"anna-iphone"}"#)
            let address = try #require(made["address"]?.text)
            #expect(address == "https://127.0.0.1:\(scene.port)")
            let link = try #require(made["link"]?.text)
            #expect(link.contains("https%3A%2F%2F127.0.0.1%3A\(scene.port)%2Fingest%2Fhae"))

            let stranger = try await Curl("\(address)/ingest/plain", weight)
            #expect(stranger.code == 60 && stranger.status == 0, "\(stranger)")
            // curl would accept TLS 1.1; the server refuses it.
            let weak = ["--tlsv1.0", "--tls-max", "1.1", "--ciphers", "DEFAULT@SECLEVEL=0"]
            let old = try await Curl("\(address)/ingest/plain", weight, options: trust + weak)
            #expect(old.code == 35 && old.errors.contains("alert protocol version"), "\(old)")
            #expect(await scene.hub.held.count == 0)

            let token = try #require(made["token"]?.text)
            let phone = try await Curl("\(address)/ingest/plain", weight, token: token, options: trust)
            #expect(phone.code == 0 && phone.status == 200, "\(phone)")
            #expect(await scene.hub.heldText() == ["weight 80.4 kg"])
            let page = try await Curl("https://localhost:\(scene.port)/", options: trust)
            #expect(page.status == 200 && page.body.contains("\(address)/ingest/hae"))
        }
    }

    @Test func `HTTPS receives long bodies whole, and a refused sender reads the reason although its body is not read`()
        async throws
    {
        let certificates = try await Certificates()
        try await certificates.issue()
        let scene = try await Scene(settings: certificates.settings)
        let (trust, address) = (["--cacert", certificates.authority], "https://localhost:\(scene.port)/ingest/plain")
        let blank = String(repeating: " ", count: 900_000)
        let (long, huge) = (
            try certificates.folder.write(blank + weight, to: "long.json"),
            try certificates.folder.write(blank + blank, to: "huge.json")
        )
        try await scene.run { () async throws in
            let taken = try await Curl(address, "@\(long)", options: trust)
            #expect(taken.status == 200, "\(taken)")
            let wrong = try await Curl(address, "@\(huge)", token: "0badcafe.wrong", options: trust)
            #expect(wrong.status == 401, "\(wrong)")
            let large = try await Curl(address, "@\(huge)", options: trust)
            #expect(large.status == 413, "\(large)")
            #expect(await scene.hub.heldText() == ["weight 80.4 kg"])
        }
    }

    @Test
    func `HTTP and noise on the HTTPS port store nothing, hold no connection, and do not harm others`() async throws {
        let certificates = try await Certificates()
        try await certificates.issue()
        var limits = IngestLimits()
        limits.connection.head = .seconds(3)
        let scene = try await Scene(settings: certificates.settings, limits: limits)
        let body = weight
        try await scene.run { () async throws in
            let port = scene.port
            // More connections than there are places, so the waiting ones must be closed by their time limits.
            let others = Task {
                try await onThread {
                    let post = Scene.head("POST", "/ingest/plain", length: body.utf8.count) + body
                    let noise = [post, "", "\u{16}\u{3}\u{1}\u{2}", "\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}", "\0\0\0\0"]
                    let connections = try (0..<40).map { number in
                        let connection = try RawConnection(port)
                        connection.send(noise[number % noise.count])
                        return connection
                    }
                    return try connections.map { String(decoding: try $0.takeAll(within: 20), as: UTF8.self) }
                }
            }
            let answers = try await others.value
            #expect(answers.count == 40)
            #expect(!answers.contains { $0.hasPrefix("HTTP/1.1 2") })
            #expect(await scene.hub.held.count == 0)
            let phone = try await Curl(
                "https://127.0.0.1:\(port)/ingest/plain", body, options: ["--cacert", certificates.authority])
            #expect(phone.status == 200, "\(phone)")
        }
        #expect(await scene.hub.held.count == 1)
    }

    @Test func `A renewed certificate is used for the next phone once both files are there`() async throws {
        let (old, new) = (try await Certificates(), try await Certificates())
        try await old.issue()
        try await new.issue()
        let scene = try await Scene(settings: old.settings)
        func sees(_ certificates: Certificates) async throws -> Bool {
            let trust = ["--cacert", certificates.authority]
            let page = try await Curl("https://localhost:\(scene.port)/", options: trust)
            #expect(page.code == 0 || page.code == 60, "\(page)")
            return page.status == 200
        }
        func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(filePath: path)) }
        try await scene.run { () async throws in
            var (isOld, isNew) = (try await sees(old), try await sees(new))
            #expect(isOld && !isNew)
            // Overwritten, as by cp; the key follows later.
            let file = try FileHandle(forWritingTo: URL(filePath: old.certificate))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes(new.certificate))
            try file.close()
            (isOld, isNew) = (try await sees(old), try await sees(new))
            #expect(isOld && !isNew)
            await scene.hub.wait {
                $0.events.contains { $0.device == "https" && $0.text?.contains("setting key") == true }
            }
            // Replaced, as by mv.
            try bytes(new.key).write(to: URL(filePath: old.key), options: .atomic)
            chmod(old.key, 0o600)
            (isOld, isNew) = (try await sees(old), try await sees(new))
            #expect(!isOld && isNew)
            await scene.hub.wait { $0.events.contains { $0.device == "https" && $0.isResolved } }
            // The file is gone, but phones can still connect.
            try FileManager.default.removeItem(atPath: old.certificate)
            #expect(try await sees(new))
        }
        let text = await scene.hub.events.compactMap(\.text).joined()
        #expect(text.contains("cannot open \(old.certificate)") && !text.contains("PRIVATE KEY-----\nM"))
    }

    @Test
    func `A certificate's end is reported once a day from two weeks before, until there is a new one`() async throws {
        let certificates = try await Certificates()
        try await certificates.issue(days: 30)
        let files = CertificateFiles(certificate: certificates.certificate, key: certificates.key)
        let day: Int64 = 86_400_000_000
        let end = try files.read().end
        #expect(abs(end - HubClock.system.now() - 30 * day) < day)
        let now = Mutex(end - 15 * day)
        let told = Mutex<[CertificateKeeper.Notice]>([])
        let keeper = try CertificateKeeper(files, now: { now.withLock { $0 } }) { notice in
            told.withLock { $0.append(notice) }
        }
        _ = keeper.current()
        #expect(told.withLock { $0 } == [])
        for time in [end - 13 * day, end - 13 * day + 1, end - 12 * day, end + day] {
            now.withLock { $0 = time }
            _ = keeper.current()
        }
        #expect(told.withLock { $0 } == [.ends(at: end), .ends(at: end), .ends(at: end)])
        #expect(
            CertificateKeeper.Notice.ends(at: end).warning(at: end + 1, to: "phones")?.contains("ended on 20") == true)
        try await certificates.issue(days: 300)
        _ = keeper.current()
        _ = keeper.current()
        #expect(told.withLock { $0 }.suffix(1) == [.renewed])
    }

    @Test func `The check shows how long the certificate is valid, and fails if it has expired`() async throws {
        let certificates = try await Certificates()
        try await certificates.issue(days: 30)
        let values = Scene.settings(certificates.settings)
        func check(_ clock: HubClock) async throws -> String {
            let context = CheckContext(
                instance: "http-ingest", settings: PluginSettings(values), clock: clock,
                logger: Logger(label: "check"))
            return try await HTTPIngest().check(context)
        }
        let files = CertificateFiles(certificate: certificates.certificate, key: certificates.key)
        let date = CertificateFiles.date(try files.read().end)
        let said = try await check(.system)
        #expect(said.contains("https://127.0.0.1:7780") && said.contains(date))
        let later = try #require(HubClock("2199-01-01T00:00:00Z@1"))
        let failure = await #expect(throws: PluginFailure.self) { try await check(later) }
        #expect(failure?.message.contains("ended on \(date)") == true, "\(failure?.message ?? "")")
    }

    // MARK: - Settings

    private func reasons(_ change: [String: SettingValue]) -> [String] {
        let values = Scene.settings(change)
        do {
            _ = try IngestSettings(PluginSettings(values))
            return []
        } catch {
            return (error as? PluginFailure)?.reasons ?? ["\(error)"]
        }
    }

    @Test func `All mistakes about a broker are reported at once`() {
        let found = reasons([
            "mqtt": .string("mqtt://broker.home.example:1883"),
            "mqtt_topics": .list([.string("a/#=nothing:x"), .string("b")]), "workout_names": .list([.string("Laufen")]),
        ])
        #expect(found.count == 4, "\(found)")
        #expect(found.contains { $0.hasPrefix("setting mqtt: the connection to another machine is not") }, "\(found)")
        #expect(found.count { $0.hasPrefix("setting mqtt_topics: ") } == 2, "\(found)")
    }

    @Test func `An unusable file is reported with its setting and a remedy`() async throws {
        let certificates = try await Certificates()
        let (certificate, key, folder) = (certificates.certificate, certificates.key, certificates.folder.path)
        try await certificates.issue()
        try await certificates.issue("\(folder)/other.pem", "\(folder)/other.key")
        try await Certificates.openssl(
            ["pkey", "-in", key, "-aes256", "-passout", "pass:x", "-out", "\(folder)/locked.key"])
        chmod("\(folder)/locked.key", 0o600)
        try certificates.folder.write("", to: "empty")
        chmod("\(folder)/empty", 0o600)
        mkfifo("\(folder)/pipe", 0o600)
        func expect(_ words: [String], _ certificate: String?, _ key: String?) {
            var change: [String: SettingValue] = [:]
            change["certificate"] = certificate.map(SettingValue.string)
            change["key"] = key.map(SettingValue.string)
            let found = reasons(change)
            let isSaid = zip(found, words).allSatisfy { reason, word in
                let parts = word.split(separator: "|")
                return reason.hasPrefix("setting \(parts[0]): ") && parts.dropFirst().allSatisfy(reason.contains)
            }
            #expect(found.count == words.count && isSaid, "\(found)")
        }
        expect([], certificate, key)
        expect(["certificate|\(folder)/none|No such file"], "\(folder)/none", key)
        expect(["key|\(folder)/none|No such file|private key"], certificate, "\(folder)/none")
        expect(["certificate|none", "key|none"], "\(folder)/none", "\(folder)/none")
        expect(["certificate|key|come together"], nil, key)
        expect(["key|certificate|come together"], certificate, nil)
        expect(["certificate|directory"], folder, key)
        expect(["certificate|pipe", "key|pipe"], "\(folder)/pipe", "\(folder)/pipe")
        expect(["certificate|BEGIN CERTIFICATE", "key|BEGIN PRIVATE KEY"], "\(folder)/empty", "\(folder)/empty")
        // The two files exchanged: the file given as certificate must not be readable by all.
        chmod(certificate, 0o600)
        expect(["certificate|BEGIN CERTIFICATE", "key|BEGIN PRIVATE KEY"], key, certificate)
        expect(["key|is not the key of|\(certificate)"], certificate, "\(folder)/other.key")
        expect(["key|password|openssl pkey"], certificate, "\(folder)/locked.key")
        for mode: mode_t in [0o644, 0o604, 0o660, 0o601, 0o602] {
            chmod(key, mode)
            expect(["key|mode \(String(mode, radix: 8))|chmod 600 \(key)"], certificate, key)
        }
        for mode: mode_t in [0o400, 0o600, 0o640, 0o440] {
            chmod(key, mode)
            expect([], certificate, key)
        }
    }

    @Test
    func `The address shown to phones must be reachable for them, and HTTPS if there is a certificate`() async throws {
        let certificates = try await Certificates()
        try await certificates.issue()
        let files = certificates.settings
        func reasons(_ more: [String: SettingValue]) -> [String] { self.reasons(files.merging(more) { $1 }) }
        let everywhere = SettingValue.string("0.0.0.0:7780")
        let nowhere = reasons(["listen": everywhere])
        #expect(nowhere.count == 1 && nowhere[0].hasPrefix("setting address: phones cannot call 0.0.0.0"))
        #expect(nowhere[0].hasSuffix("https://hub.home.example:7780"))
        #expect(reasons(["listen": .string("[::]:7780")]).first?.hasPrefix("setting address: ") == true)
        #expect(reasons(["listen": everywhere, "address": .string("https://hub.example:7780")]) == [])
        let plain = reasons(["listen": everywhere, "address": .string("http://hub.example:7780")])
        #expect(plain.count == 1 && plain[0].hasPrefix("setting address: it begins with https://"))
        // Without a certificate. A name may begin like an address of this machine.
        for host in ["0.0.0.0", "[::]", "192.168.1.2", "127.example.org", "hub.local"] {
            let found = self.reasons([
                "listen": .string("\(host):7780"), "address": .string("http://hub.example:7780"),
            ])
            #expect(found.count == 1 && found[0].contains("setting listen") && found[0].contains("unencrypted"))
        }
        for host in ["127.0.0.1", "127.8.0.1", "[::1]", "localhost"] {
            #expect(self.reasons(["listen": .string("\(host):7780")]) == [])
            func address(_ text: String) -> [String] {
                self.reasons(["listen": .string("\(host):7780"), "address": .string(text)])
            }
            let closed = address("http://192.168.1.20:7780")
            #expect(
                closed.count == 1 && closed[0].hasPrefix("setting address: no other machine reaches it"), "\(closed)")
            #expect(address("https://hub.example") == [] && address("http://hub.example") == [])
            let passedOn: [String: SettingValue] = [
                "listen": .string("\(host):7780"), "address": .string("http://192.168.1.20:7780"),
                "plain_http": .boolean(true),
            ]
            #expect(self.reasons(passedOn) == [])
            #expect(address("http://localhost:7780") == [] && address("http://hub.localhost:7780") == [])
        }
    }

    @Test func `Without a certificate only this machine can connect, unless plain_http is set`() async throws {
        // All of 127/8 is this machine, so another of its addresses stands for a remote one.
        for (host, isOpen) in [("127.0.0.1", false), ("0.0.0.0", true)] {
            let port = try FreePort.next()
            let scene = try await Scene(settings: [
                "listen": .string("\(host):\(port)"), "plain_http": .boolean(isOpen),
                "address": .string("http://hub.example"),
            ])
            try await scene.run { () async throws in
                #expect(try await Curl("http://127.0.0.1:\(port)/ingest/plain", weight).status == 200)
                let other = try await Curl("http://127.0.0.2:\(port)/ingest/plain", weight)
                #expect(other.code == (isOpen ? 0 : 7), "\(other)")
            }
        }
    }

    @Test func `hub check reports a bad certificate at its line of hub.conf`() async throws {
        let certificates = try await Certificates()
        try await certificates.issue()
        chmod(certificates.key, 0o644)
        let host = try HubHost(
            plugins: """
                [plugin.http-ingest]
                enabled = true
                listen = "0.0.0.0:7780"
                address = "https://hub.example:7780"
                certificate = "\(certificates.certificate)"
                key = "\(certificates.key)"
                """)
        let refused = try await host.command("check")
        let said = (refused.lines + refused.errors).joined(separator: "\n")
        let text = try String(contentsOfFile: host.configuration, encoding: .utf8)
        let line = try #require(text.components(separatedBy: "\n").firstIndex { $0.hasPrefix("key = ") }) + 1
        #expect(refused.status != 0 && said.contains("hub.conf:\(line):") && said.contains("chmod 600"), "\(said)")
        chmod(certificates.key, 0o600)
        let good = try await host.command("check")
        #expect(good.status == 0, "\(good)")
    }
}
