import ArgumentParser
import Foundation
import HubClient
import HubCore
import Platform

struct InstallCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "install", abstract: "Install a plugin from its pack, after showing its requests.",
        discussion: """
            Shows name, version, the types that it reads and writes, its reach, its
            settings and commands, its signer, and the new requests of an update, before
            anything of it runs; then asks. It compares the pack's checksums, and asks its
            program, confined, for the manifest; if that differs from the pack's, the pack
            is refused.

            It is installed below the hub's data, in programs/NAME, where the hub finds it
            as hub-NAME; the former pack stays there, and --undo goes back to it.
            hub plugin enable NAME then writes its section of hub.conf.

            A signature (PACK.minisig) is checked with the keys of --key, or of the files
            *.pub in the folder plugin-keys beside hub.conf. If there are such keys, or the
            installed pack was signed, a pack without a trusted signature is refused unless
            you say --unsigned. A version older than the installed one is refused unless
            you say --downgrade.

            Examples:
              hub plugin install pulse-1.0.hubplugin
              hub plugin install pulse-1.0.hubplugin --key minisign.pub --dry-run
              hub plugin install pulse --catalogue https://example.org/plugins
              hub plugin install pulse --undo

            Exit codes: 0 it is installed (or would be); 65 the pack is refused; 66 there
            is none; 71 it could not be written; 130 the answer was no.
            """)

    @Argument(help: "A pack, a file or an address; or NAME or NAME@VERSION of a catalogue.", completion: .file())
    var pack: String
    @Option(help: "The catalogue that has the name; $HUB_CATALOGUE if not given.") var catalogue: String?
    @Option(help: "Trust this key: a public key of minisign, or the file that has it.") var key: [String] = []
    @Flag(help: "Take a pack that no trusted key has signed.") var unsigned = false
    @Flag(help: "Install a version that is older than the installed one.") var downgrade = false
    @Flag(help: "Install without asking.") var yes = false
    @Flag(help: "Go back to the version installed before.") var undo = false
    @Flag(help: "Show its requests, and install nothing.") var dryRun = false
    @OptionGroup var options: ConfigurationChoice

    func run() async throws {
        try await PackFailure.told(pack) {
            let files = try options.files()
            if undo { return try goBack(files) }
            try await install(files)
        }
    }

    private func goBack(_ files: HubFiles) throws {
        let now = try ProgramInstaller(data: files.data).goBack(pack)
        try Output.print("\(pack) \(now.version) is installed again; hub apply has a running hub start it")
        Terminal.say("hub plugin install \(pack) --undo takes that back")
    }

    private func install(_ files: HubFiles) async throws {
        let (place, name, expected) = try await chosen()
        let path = place.path(name)
        guard let bytes = try await place.read(name, upTo: PackLimits.packedBytes) else {
            throw Failure(.noConfiguration, "\(path): there is no such pack")
        }
        let reader = try PackReader(bytes)
        if let expected, reader.sha256 != expected.sha256 || reader.index.name != expected.name {
            throw PluginError("\(path) is another pack than its catalogue says: its SHA-256 is \(reader.sha256)")
        }
        try reader.check()
        let keys = try trusted()
        let beside = try await place.read("\(name).\(Minisign.ending)", upTo: 16_384)
        let origin = try PackOrigin(
            reader.bytes, signature: beside.map { String(decoding: $0, as: UTF8.self) }, keys: keys)
        let (index, programs) = (reader.index, InstalledPrograms(data: files.data))
        let text = PackText(reader, origin)
        try Output.print(text.lines)
        let current = try programs.account(of: index.name)?.current
        if let current { try tell(current, of: programs, text, index, isSame: current.sha256 == reader.sha256) }
        try refuse(origin, current, hasKeys: !keys.isEmpty)
        try ProgramInstaller.refuseOlder(index, current, downgrade: downgrade)
        let own = HubProgram.beside(index.program)
        if access(own, X_OK) == 0 {
            Terminal.say("\(own) is beside the hub and counts before the installed one: set executable in its section")
        }
        guard !dryRun else { return Terminal.say("nothing was installed") }
        try ask(index)
        let installer = try ProgramInstaller(data: files.data)
        let inquiry = await ManifestInquiry(
            programPath: HubProgram.path, hidden: [try options.path(), files.data, files.run])
        let before = try await installer.install(reader, signer: origin.signer, downgrade: downgrade, inquiry: inquiry)
        try Output.print("\(index.name) \(index.version) is installed in \(programs.folder(of: index.name))")
        Terminal.say(
            before == nil
                ? "hub plugin remove \(index.name) takes it away"
                : "hub apply has a running hub start it; hub plugin install \(index.name) --undo goes back to \(before?.version ?? "")"
        )
    }

    /// The place of the pack, and its entry if it comes from a catalogue.
    private func chosen() async throws -> (PackLocation, name: String, Catalogue.Entry?) {
        if pack.contains("/") || pack.hasSuffix(".\(PackIndex.ending)") {
            let (place, name) = PackLocation.of(pack)
            return (place, name, nil)
        }
        let place = try CatalogueChoice.place(catalogue)
        let entry = try await CatalogueChoice.read(place).entry(pack)
        return (place, entry.file, entry)
    }

    private func trusted() throws -> [Minisign.PublicKey] {
        var texts = try key.map { key in
            (key, try PrivateFile.read(key, upTo: 4_096).map { String(decoding: $0, as: UTF8.self) } ?? key)
        }
        if key.isEmpty {
            let folder = "\(Folder.parent(of: try options.path()))/plugin-keys"
            for name in try Folder.names(in: folder).sorted() where name.hasSuffix(".pub") {
                let path = "\(folder)/\(name)"
                texts.append((path, String(decoding: try PrivateFile.read(path, upTo: 4_096) ?? [], as: UTF8.self)))
            }
        }
        return try texts.map { name, text in
            do throws(PluginError) { return try Minisign.PublicKey(text) } catch {
                throw Failure(.usage, "\(name): \(error)")
            }
        }
    }

    private func tell(
        _ current: InstalledPrograms.Account.Installed, of programs: InstalledPrograms, _ text: PackText,
        _ index: PackIndex, isSame: Bool
    ) throws {
        guard !isSame else { return try Output.print("  now      this very pack is installed; its files are made new") }
        try Output.print("  now      version \(current.version) is installed")
        let path = "\(programs.folder(of: current, kind: index.name))/\(PackIndex.path)"
        guard let bytes = try PrivateFile.read(path, upTo: PackLimits.indexBytes),
            let before = try? JSON.decode(PackIndex.self, from: bytes)
        else { return try Output.print("  new      unknown which requests are new: \(path) is damaged") }
        let news = text.news(since: before)
        for line in news.isEmpty ? ["it asks for nothing that the installed one does not"] : news {
            try Output.print("  new      \(line)")
        }
    }

    private func refuse(
        _ origin: PackOrigin, _ current: InstalledPrograms.Account.Installed?, hasKeys: Bool
    ) throws(PluginError) {
        guard origin.signer == nil, !unsigned else { return }
        if let signer = current?.signer {
            throw PluginError(
                "the installed one is signed by the key \(signer), this one by no trusted key; --unsigned installs it anyway"
            )
        }
        guard hasKeys else { return }
        throw PluginError("no key that is trusted here has signed it; --unsigned installs it anyway")
    }

    private func ask(_ index: PackIndex) throws(Failure) {
        guard !yes else { return }
        guard Terminal.canAsk else {
            throw Failure(.usage, "no terminal to ask at: look at it with --dry-run, then install it with --yes")
        }
        Terminal.say("Install \(index.name) \(index.version)? [y/N]")
        guard ["y", "yes"].contains((readLine() ?? "").lowercased()) else {
            throw Failure(.interrupted, "\(index.name) was not installed")
        }
    }
}
