import Foundation
import HubClient
import HubCore
import HubWire
import Samples

/// A plugin to be examined: its program, and settings that work on this machine.
///
/// The settings are in `test.conf` beside the program: a section of `hub.conf` without `executable`. If there is no `test.conf`, they are in
/// `sample.conf`. In the settings `{folder}` is the program's folder and `{scratch}` is a new folder for each run.
///
/// Other names in braces stand for texts of the program `simulator` in the same folder, which replaces the device or service.
/// The simulator prints one JSON object with these names and texts as its first line, and ends when its stdin does.
/// A name `token:ACCOUNT` is not a setting: its text is the token that the hub has for that account, as after a log-in.
///
/// The file `records.jsonl` has the records that the hub stores before the plugin comes, one a line, as a source gives them.
package struct PluginUnderTest: Sendable {
    /// Absolute, as all paths here.
    package let program: String
    package let folder: String
    /// The name of its section, which is also its name towards the hub.
    package let name: String
    /// The text of the section, with names in braces.
    private let section: String
    package let simulator: String?
    /// The records that the hub has before the plugin comes.
    let records: [Record]
    /// A source that has given nothing new for this long has given all its records.
    let settle: Duration
    /// How long to wait for an expected event.
    let patience: Duration

    /// - Parameters:
    ///   - path: the path of the program or of its folder.
    ///   - settings: further lines of its section.
    package init(
        _ path: String, settings: [String] = [], settle: Duration = .seconds(2), patience: Duration = .seconds(30)
    ) throws(PluginError) {
        let path = URL(filePath: path).standardizedFileURL.path
        let found = try Self.program(at: path)
        let folder = found.map { URL(filePath: $0).deletingLastPathComponent().path } ?? path
        (self.folder, self.settle, self.patience) = (folder, settle, patience)
        let simulator = "\(folder)/simulator"
        self.simulator = FileManager.default.isExecutableFile(atPath: simulator) ? simulator : nil
        records = try Self.records("\(folder)/records.jsonl")
        let files = ["test.conf", "sample.conf"].map { "\(folder)/\($0)" }
        let text = files.lazy.compactMap { try? String(contentsOfFile: $0, encoding: .utf8) }.first
        let usual = URL(filePath: found ?? "").lastPathComponent.replacing(/^hub-/, with: "")
        var lines = (text ?? "[plugin.\"\(usual)\"]").split(separator: "\n", omittingEmptySubsequences: false)
            .map(String.init)
        guard let header = lines.firstIndex(where: { $0.hasPrefix("[plugin.") }),
            let end = lines[header].firstIndex(of: "]"), lines.count(where: { $0.hasPrefix("[") }) == 1
        else {
            throw PluginError("\(files[0]): it must have one section, [plugin.NAME], with the settings for the test")
        }
        // The name is in quotes if it has a dot.
        name = lines[header][..<end].dropFirst("[plugin.".count).filter { $0 != "\"" }
        guard PeerName.isValid(name) else {
            throw PluginError("\(files[0]): write it, with a section [plugin.NAME], a name of \(PeerName.expected)")
        }
        if let found { program = found } else { program = try Self.installed("hub-\(name)", for: folder) }
        lines.insert(contentsOf: ["executable = \(tomlQuoted(program))"] + settings, at: header + 1)
        section = lines.joined(separator: "\n")
    }

    private static func records(_ path: String) throws(PluginError) -> [Record] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return [] }
        var decoder = RecordDecoder(plugin: "conformance")
        var records: [Record] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        where !line.isEmpty {
            let reason: String
            do {
                switch try Array(line.utf8).withUnsafeBytes({ try decoder.record($0) }) {
                case .success(let record):
                    records.append(record)
                    continue
                case .failure(let rejection): reason = rejection.reason
                }
            } catch { reason = "\(error)" }
            throw PluginError("\(path), line \(number + 1): \(reason)")
        }
        return records
    }

    /// The installed program for a folder that has only settings, as the plugins of this project do: beside this program.
    private static func installed(_ name: String, for folder: String) throws(PluginError) -> String {
        let path = HubProgram.beside(name)
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw PluginError(
                "\(folder) has no program whose name begins with hub-, and \(path) is not there: name the program itself"
            )
        }
        return path
    }

    /// - Returns: `nil` for a folder without a program.
    private static func program(at path: String) throws(PluginError) -> String? {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else {
            throw PluginError("\(path) is not there: name a plugin's program, or the folder it is in")
        }
        guard isFolder.boolValue else {
            guard FileManager.default.isExecutableFile(atPath: path) else {
                throw PluginError("\(path) cannot be executed: chmod +x \(path)")
            }
            return path
        }
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).filter { name in
            var isFolder: ObjCBool = false
            return name.hasPrefix("hub-") && FileManager.default.isExecutableFile(atPath: "\(path)/\(name)")
                && FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
                && !isFolder.boolValue
        }
        guard names.count < 2 else {
            throw PluginError(
                "\(path) has several programs whose names begin with hub-: \(names.sorted().joined(separator: ", ")); name the one"
            )
        }
        return names.first.map { "\(path)/\($0)" }
    }

    /// Escapes a text for use between quotation marks.
    private static func escaped(_ text: String) -> String { String(tomlQuoted(text).dropFirst().dropLast()) }

    /// Files and folders below ``folder`` that the settings name: data that the plugin reads, not part of its program.
    package var data: Set<String> {
        Set(section.matches(of: /\{folder\}\/([^"',\]]+)/).map { String($0.1) })
    }

    /// The text of `hub.conf` for one run.
    ///
    /// - Parameters:
    ///   - scratch: the value of `{scratch}`, and the folder of the hub's data.
    ///   - run: the folder of the sockets; in `scratch` if not given.
    ///   - values: the names and texts of the stand-in.
    ///   - hub: further lines of `[hub]`.
    package func configuration(
        _ scratch: String, run: String? = nil, _ values: [String: String], hub: String = ""
    ) -> String {
        let texts = values.filter { !$0.key.hasPrefix(SimulatorProcess.tokenMark) }
        let names = texts.merging(["folder": folder, "scratch": scratch]) { $1 }
        let section = names.reduce(section) { $0.replacing("{\($1.key)}", with: Self.escaped($1.value)) }
        return """
            [hub]
            data = "\(scratch)/data"
            run = "\(run ?? "\(scratch)/run")"
            \(hub)

            [person.me]
            zone = "Europe/Berlin"

            \(section)

            """
    }
}
