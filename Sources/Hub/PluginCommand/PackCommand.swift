import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubWire
import Platform

struct PackCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pack", abstract: "Make one file of a plugin, which hub plugin install takes.",
        discussion: """
            NAME-VERSION.hubplugin has the files of the folder and an index with the
            SHA-256 of each and the manifest, for which the program is asked, confined. The
            same files give the same pack. Left out are hidden files, caches, keys, other
            packs, virtual environments and files that look like a person's data:
            readings.txt, hub.conf, folders data, run and state, and files of the endings
            .csv, .db, .env, .jsonl, .log, .pem, .secret and .sqlite. --include takes one
            of these anyway. The result of hub plugin test --keep is included.

            --sign takes a secret key of minisign and writes the signature beside the pack.
            The command asks for a password, or reads it from the first line of stdin.
            minisign -V checks the signature.

            Examples:
              hub plugin pack pulse
              hub plugin pack pulse --sign ~/.minisign/minisign.key
              hub plugin pack pulse --dry-run
              hub plugin pack pulse --index packs

            --index FOLDER puts the pack into FOLDER and writes its catalogue.json again,
            of all packs that are there; without a plugin it does that alone.

            Exit codes: 0 it is made; 65 it is not a plugin, or cannot be packed; 71 it
            could not be written.
            """)

    @Argument(help: "The plugin's folder, or its program.", completion: .file()) var path: String?
    @Option(help: "The folder of a catalogue, which has the pack then.", completion: .directory) var index: String?
    @Option(name: .customLong("in"), help: "The folder in which the pack is made; this one, if not given.")
    var place = "."
    @Option(help: "Take this file or folder, though it looks like data.", completion: .file())
    var include: [String] = []
    @Option(help: "Sign it with this secret key of minisign.", completion: .file()) var sign: String?
    @Flag(help: "Show what would be in it, and write nothing.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption

    func validate() throws {
        guard path != nil || index != nil else { throw ValidationError("name a plugin's folder or program") }
    }

    func run() async throws {
        if let path { try await pack(path) }
        guard let index, !dryRun else { return }
        try await PackFailure.told(index) {
            let catalogue = try Catalogue(folder: index)
            try PrivateFile.write(try catalogue.json, to: "\(index)/\(Catalogue.file)", mode: 0o644)
            try Output.print("\(index)/\(Catalogue.file), packs: \(catalogue.plugins.count)")
        }
    }

    private func pack(_ path: String) async throws {
        try await PackFailure.told(path) {
            let folder = try PackFolder(path, including: include)
            let program = "\(folder.path)/\(folder.program)"
            let inquiry = await ManifestInquiry(programPath: HubProgram.path, hidden: [])
            let manifest: Manifest
            do throws(HubError) { manifest = try await inquiry.manifest(of: program) } catch {
                throw PluginError("it is not a plugin: \(error.message)")
            }
            let (contents, bytes) = try folder.pack(manifest, tier: TierClaim.kept(beside: program))
            let pack = try PackReader(bytes)
            try Output.print(PackText(pack, .unsigned).lines.filter { !$0.hasPrefix("  signed") })
            for file in contents.files { try Output.print("  file     \(file.path), \(PackText.size(file.bytes))") }
            if !folder.leftOut.isEmpty {
                Terminal.say(
                    "left out: \(folder.leftOut.joined(separator: ", ")); --include PATH takes one of them that is data"
                )
            }
            guard !dryRun else { return Terminal.say("nothing was written") }
            let signature = try sign.map { try Self.signature(bytes, contents, key: $0) }
            let target = URL(filePath: index ?? place).appending(path: contents.fileName).path
            try PrivateFile.write(bytes, to: target, mode: 0o644)
            if let signature {
                try PrivateFile.write(Array(signature.utf8), to: "\(target).\(Minisign.ending)", mode: 0o644)
            } else {
                // A signature of a former pack with this name would make this pack look changed.
                _ = try PrivateFile.remove("\(target).\(Minisign.ending)")
            }
            try Output.print("\(target)\(signature == nil ? "" : ", signed")")
        }
    }

    private static func signature(_ bytes: [UInt8], _ index: PackIndex, key path: String) throws -> String {
        guard let content = try PrivateFile.read(path, upTo: 16_384) else {
            throw PluginError("--sign \(path): there is no such file; minisign -G makes keys")
        }
        if let warning = PrivateFile.exposure(of: path) { Terminal.say("--sign \(warning)") }
        let text = String(decoding: content, as: UTF8.self)
        var password: String?
        if Minisign.SecretKey.isEncrypted(text) {
            if Terminal.canAsk { Terminal.say("the password of \(path):") }
            password = HiddenPassword.read()
        }
        do throws(PluginError) {
            let key = try Minisign.SecretKey(text, password: password)
            return key.sign(
                bytes, comment: "timestamp:\(Int(Date().timeIntervalSince1970))\tfile:\(index.fileName)\thashed")
        } catch { throw PluginError("--sign \(path): \(error)") }
    }
}

/// Reads a line of stdin that the terminal does not show.
enum HiddenPassword {
    static func read() -> String? {
        var former = termios()
        let isTerminal = tcgetattr(STDIN_FILENO, &former) == 0
        if isTerminal {
            var hidden = former
            hidden.c_lflag &= ~tcflag_t(ECHO)
            tcsetattr(STDIN_FILENO, TCSANOW, &hidden)
        }
        defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSANOW, &former) } }
        return readLine()
    }
}

/// Maps errors of packs to the exit codes of `hub`.
enum PackFailure {
    static func told<Value>(_ what: String, _ body: () async throws -> Value) async throws -> Value {
        do { return try await body() } catch let error as PluginError {
            throw Failure(.badConfiguration, "\(what): \(error)")
        } catch let error as FileError {
            throw Failure(.system, error.description)
        } catch let error as HubError {
            throw Failure(.badConfiguration, "\(what): \(error.message)")
        } catch let error as CocoaError { throw Failure(.system, "\(what): \(error.localizedDescription)") }
    }
}
