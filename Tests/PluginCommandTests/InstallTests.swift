import Foundation
import HubCore
import HubProcess
import HubSettings
import HubWire
import Platform
import Testing

@testable import PluginCommand

@Suite(.timeLimit(.minutes(2))) struct InstallTests {
    private let host: HubHost

    init() throws { host = try HubHost() }

    private func run(_ arguments: String...) async throws -> (status: Int, lines: [String], errors: [String]) {
        try await host.command(["plugin"] + arguments)
    }

    private func configuration() throws -> String { try String(contentsOfFile: host.configuration, encoding: .utf8) }

    /// Packs a plugin with `hub plugin pack`; returns the path.
    private func pack(version: String = "1.0", reads: [String] = []) async throws -> String {
        let plugin = try SmallPlugin(version: version, reads: reads)
        let made = try await run("pack", plugin.folder.path, "--in", host.folder.path)
        try #require(made.status == 0, "\(made)")
        return "\(host.folder.path)/small-\(version).hubplugin"
    }

    @Test func `R16.8 R16.9 a pack's requests are shown before any of it runs, and a dry run installs nothing`()
        async throws
    {
        let pack = try await pack()
        let shown = try await run("install", pack, "--dry-run")
        #expect(shown.status == 0)
        for words in [
            "small 1.0", "signed   no", "writes   weight", "reads the path that the setting file names",
            "file (needed): What",
        ] { #expect(shown.lines.contains { $0.contains(words) }, "\(words): \(shown)") }
        #expect(access("\(host.folder.path)/data/programs", F_OK) != 0)
        let unasked = try await run("install", pack)
        #expect(unasked.status == 64)
        #expect(unasked.errors.last?.contains("--yes") == true)
    }

    @Test func `R16.10 R16.11 R16.20 after install, enable, update, undo and remove the file is as before`()
        async throws
    {
        let before = try configuration()
        #expect(try await run("install", try await pack(), "--yes").status == 0)
        let needing = try await run("enable", "small")
        #expect(needing.status == 65 && needing.errors.joined().contains("--set 'file ="), "\(needing)")
        let setting = "file = \"\(host.folder.path)/x\""
        let wrong = try await run("enable", "small", "--set", "file = 7")
        #expect(wrong.status == 65, "\(wrong)")
        #expect(try await run("enable", "small", "--set", setting, "--dry-run").status == 0)
        #expect(try configuration() == before)
        let enabled = try await run("enable", "small", "--set", setting)
        #expect(enabled.status == 0, "\(enabled)")
        #expect(try configuration().hasPrefix(before))
        #expect(try configuration().contains("grants = { read = [], write = [\"weight\"], reach = [] }"))
        let checked = try await host.command("check")
        #expect(checked.status == 0, "\(checked)")

        let update = try await run("install", try await pack(version: "1.1", reads: ["heartRate"]), "--yes")
        #expect(update.status == 0 && update.lines.contains { $0.contains("new      reads heartRate") }, "\(update)")
        let programs = InstalledPrograms(data: "\(host.folder.path)/data")
        #expect(try programs.account(of: "small")?.current?.version == "1.1")
        // R16.14: an older version needs --downgrade; --yes is not enough.
        let older = try await pack(version: "1.0.5")
        for words in [["--yes"], ["--dry-run"]] {
            let refused = try await host.command(["plugin", "install", older] + words)
            #expect(refused.status == 65 && refused.errors.joined().contains("1.0.5 is older than the installed 1.1"))
        }
        #expect(try programs.account(of: "small")?.current?.version == "1.1")
        #expect(try await run("install", older, "--yes", "--downgrade").status == 0)
        #expect(try programs.account(of: "small")?.current?.version == "1.0.5")
        #expect(try await run("install", "small", "--undo").status == 0)
        #expect(try programs.account(of: "small")?.current?.version == "1.1")
        #expect(try await host.command("check").status == 0)

        let refused = try await run("remove", "small")
        #expect(refused.status == 65 && refused.errors.joined().contains("disable small"))
        #expect(try await run("disable", "small").status == 0)
        #expect(try await run("enable", "small").status == 0)
        #expect(try await run("remove", "small", "--settings").status == 0)
        #expect(try configuration() == before)
        #expect(programs.program("hub-small") == nil)
        #expect(try await run("install", "small", "--undo").status == 0)
        #expect(programs.program("hub-small") != nil)
    }

    @Test func `R16.3 a program whose manifest differs from its pack is refused, and the installed one stays`()
        async throws
    {
        let inquiry = await ManifestInquiry(programPath: Programs.path("hub"), hidden: ["\(host.folder.path)/data"])
        let installer = try ProgramInstaller(data: "\(host.folder.path)/data")
        let honest = try PackReader(try SmallPlugin().pack())
        try await installer.install(honest, signer: nil, inquiry: inquiry)
        let plugin = try SmallPlugin(version: "1.0", reads: ["heartRate"])
        let liar = try PackReader(try plugin.pack())
        let refusal = await #expect(throws: PluginError.self) {
            try await installer.install(liar, signer: nil, inquiry: inquiry)
        }
        #expect(refusal?.description.contains("(reads)") == true)
        #expect(try installer.programs.account(of: "small")?.current?.sha256 == honest.sha256)
        #expect(try Folder.names(in: installer.programs.folder).sorted() == [".lock", "small"])
    }

    @Test func `R16.3 a program that is asked for its manifest sees no file of the hub and cannot write`() async throws
    {
        let data = "\(host.folder.path)/data"
        try Folder.make(data)
        try PrivateFile.write(Array("secret".utf8), to: "\(data)/secrets.db")
        let plugin = try SmallPlugin()
        let probe =
            "if cat \(data)/secrets.db >/dev/null 2>&1 || touch \(host.folder.path)/left 2>/dev/null; then exit 9; fi\n"
        let program = try String(contentsOfFile: "\(plugin.folder.path)/hub-small", encoding: .utf8)
        try plugin.write("hub-small", program.replacing("echo", with: probe + "echo"))
        let installer = try ProgramInstaller(data: data)
        let inquiry = await ManifestInquiry(programPath: Programs.path("hub"), hidden: [data])
        try await installer.install(try PackReader(try plugin.pack()), signer: nil, inquiry: inquiry)
        #expect(installer.programs.program("hub-small") != nil)
        #expect(access("\(host.folder.path)/left", F_OK) != 0)
    }

    @Test(.enabled(if: Need.minisign.isMet, "\(Need.minisign.reason)"))
    func `R16.13 if a key is trusted, an unsigned pack is refused without --unsigned`() async throws {
        let folder = host.folder.path
        try Folder.make("\(folder)/plugin-keys")
        try #require(
            Tool.run("minisign", ["-G", "-W", "-p", "\(folder)/plugin-keys/me.pub", "-s", "\(folder)/me.key"]))
        let plugin = try SmallPlugin()
        #expect(try await run("pack", plugin.folder.path, "--in", folder).status == 0)
        let pack = "\(folder)/small-1.0.hubplugin"
        let refused = try await run("install", pack, "--yes")
        #expect(refused.status == 65 && refused.errors.joined().contains("--unsigned"), "\(refused)")
        #expect(try await run("install", pack, "--yes", "--unsigned").status == 0)
        #expect(try await run("pack", plugin.folder.path, "--in", folder, "--sign", "\(folder)/me.key").status == 0)
        #expect(Tool.run("minisign", ["-V", "-m", pack, "-p", "\(folder)/plugin-keys/me.pub"]))
        let taken = try await run("install", pack, "--yes")
        #expect(taken.status == 0 && taken.lines.contains { $0.contains("which is trusted here") }, "\(taken)")
        try PrivateFile.write(try #require(try PrivateFile.read(pack, upTo: 1 << 20)) + [0], to: pack)
        #expect(try await run("install", pack, "--dry-run", "--unsigned").status == 65)
    }

    @Test func `R16.14 versions are ordered by their numbers, and one with a suffix precedes the one without`() {
        let ordered = ["0.9", "1.0-rc1", "1.0-rc2", "1.0", "1.0.1", "1.2", "1.10", "2"]
        for (place, version) in ordered.enumerated() {
            for (other, later) in ordered.enumerated() {
                #expect(PackIndex.isVersion(version, before: later) == (place < other), "\(version) \(later)")
            }
        }
        #expect(!PackIndex.isVersion("1.0+2", before: "1.0+3") && !PackIndex.isVersion("1.0+3", before: "1.0+2"))
    }

    @Test func `a second install at the same time is refused with the process of the first`() async throws {
        let first = try ProgramInstaller(data: "\(host.folder.path)/data")
        let second = try await run("install", try await pack(), "--yes")
        #expect(second.status == 65 && second.errors.joined().contains("is installing"), "\(second)")
        _ = consume first
    }

    @Test func `R16.40 a tier applies to the examined file only, and names who examined it`() async throws {
        let plugin = try SmallPlugin()
        let program = "\(plugin.folder.path)/hub-small"
        let digest = try FileDigest(program)
        func keep(_ host: String) throws {
            let claim = TierClaim(
                tier: "gold", version: "1.0", sha256: digest.sha256, examined: "2026-01-02", host: host)
            try plugin.write("hub-small.tier.json", String(decoding: try JSONEncoder().encode(claim), as: UTF8.self))
        }
        func known() async throws -> PluginTier? {
            let conf = try host.folder.write(
                "[hub]\ndata = \"\(host.folder.path)/data\"\nrun = \"\(host.folder.path)/run\"\n[plugin.small]\n"
                    + "executable = \"\(program)\"\nfile = \"/x\"\n")
            return await ConfigurationLoader(path: conf, programPath: Programs.path("hub")).load().tiers["small"]
        }
        try keep(TierClaim.thisHost)
        #expect(try await known()?.text == "gold, as hub plugin test found here on 2026-01-02")
        let reader = try PackReader(
            try PackFolder(plugin.folder.path).pack(try plugin.manifest, tier: TierClaim.kept(beside: program)).bytes)
        #expect(reader.index.tier?.tier == "gold")
        try keep("elsewhere")
        #expect(try await known()?.text == "gold, say those who made it (2026-01-02); not examined here")
        try plugin.write("hub-small", try String(contentsOfFile: program, encoding: .utf8) + "\n")
        #expect(try await known() == nil)
    }

    @Test(.enabled(if: Need.jq.isMet, "\(Need.jq.reason)"))
    func `the commands of Docs/Plugins.md pack, install, run and remove a plugin`() async throws {
        let document = try ReadmePrograms("Docs/Plugins.md")
        let text = try ["pack.sh", "catalogue.sh"].map(document.text).joined()
        let seen = text.replacing(
            "hub plugin remove", with: "hub tap sample/heartRate/ --since 0 --count 12\nhub plugin remove")
        let script = try host.folder.write(seen, to: "pack.sh")
        var environment = host.environment
        environment["PATH"] = "\(Programs.folder):/usr/bin:/bin"
        let hub = try await host.start()
        let walk = try ChildProcess(
            "/bin/sh", ["-exc", "cd \"$1\" && . \"$2\"", "sh", host.folder.path, script], environment: environment)
        let result = await walk.result()
        #expect(result.code == 0, "\(result)")
        #expect(result.output.split(separator: "\n").count { $0.contains("  heartRate  ") } == 12, "\(result)")
        hub.signal(SIGTERM)
        _ = await hub.waitForExit()
    }

    @Test func `R16.40 hub plugin test keeps the tier of a program, and removes it if the program has none`()
        async throws
    {
        let plugin = try SmallPlugin()
        let program = "\(plugin.folder.path)/hub-small"
        let claim = "\(program)\(TierClaim.ending)"
        try plugin.write("hub-small.tier.json", "{}")
        // The program breaks the first rule, so no other is checked.
        try plugin.write("hub-small", "#!/bin/sh\nexit 1\n")
        let examined = try await run("test", program, "--keep")
        #expect([1, 65].contains(examined.status), "\(examined)")
        #expect(access(claim, F_OK) != 0)
        #expect(try await run("test", program, "--keep", "--rule", "stops").status == 64)
    }
}
