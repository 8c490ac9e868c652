import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import HubWire
import Platform

struct EnableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Write the section of an installed plugin into hub.conf.",
        discussion: """
            The section has the plugin's settings with their help: the required ones as
            --set gives them, the others commented out with their defaults. It grants all
            that the plugin asks to read, write and reach now; a later version that asks
            for more does not get it automatically. The owner's rights (hub status, hub
            trace and the like) are not granted: the section shows how to grant them.
            No other byte of hub.conf changes. A section that exists is only enabled.

            hub check shows errors; hub apply has a running hub follow.

            Examples:
              hub plugin enable pulse --set 'file = "/home/me/pulse.txt"' --dry-run
              hub plugin enable pulse --set 'file = "/home/me/pulse.txt"' --as kitchen

            Exit codes: 0 it is written (or would be); 65 a setting is missing or wrong, or
            it is not installed; 71 it could not be written.
            """)

    @Argument(help: "The installed plugin, or with a section its name in hub.conf.") var name: String
    @Option(name: .customLong("set"), help: "A line of its section; may be given more than once.")
    var settings: [String] = []
    @Option(name: .customLong("as"), help: "The name of the section, if it is not the plugin's.") var instance: String?
    @Flag(help: "Change nothing; show what would be written.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var options: ConfigurationChoice

    func run() async throws {
        try await PackFailure.told(name) {
            let (path, instance) = (try options.path(), instance ?? name)
            guard PeerName.isValid(instance) else { throw PluginError("\(instance): expected \(PeerName.expected)") }
            let old = try ConfigurationFile.text(path)
            var editor = try ConfigurationFile.editor(old, of: path)
            if editor.hasPlugin(instance) {
                guard settings.isEmpty else {
                    throw PluginError("[plugin.\(instance)] is in \(path) already: change its settings there")
                }
                guard !editor.isEnabled(instance) else {
                    return Terminal.say("\(instance) is enabled already; nothing was changed")
                }
                try editor.edit(path) { try $0.setEnabled(instance, true) }
                try Output.print("\(path): enabled of [plugin.\(instance)] \(dryRun ? "would be" : "is") true")
            } else {
                let block = try block(instance)
                try editor.edit(path) { try $0.add(["plugin", instance], block, atEnd: true) }
                try Output.lines(block)
            }
            try await check(editor.text, path, instance)
            guard !dryRun else { return Terminal.say("nothing was changed") }
            try ConfigurationFile.replace(old, with: editor.text, in: path)
            Terminal.say("\(path) has it; hub apply has a running hub start it")
            Terminal.say("hub plugin disable \(instance) takes it back")
        }
    }

    private func block(_ instance: String) throws -> String {
        let programs = InstalledPrograms(data: try options.files().data)
        guard let current = try programs.account(of: name)?.current else {
            throw PluginError("it is not installed: hub plugin install PACK installs one")
        }
        let path = "\(programs.folder(of: current, kind: name))/\(PackIndex.path)"
        guard let bytes = try PrivateFile.read(path, upTo: PackLimits.indexBytes),
            let index = try? JSON.decode(PackIndex.self, from: bytes)
        else { throw PluginError("\(path) is damaged: install its pack again") }
        let manifest = index.manifest
        let given = Set(settings.map { $0.prefix { $0 != "=" }.trimmingCharacters(in: .whitespaces) })
        let missing = manifest.settings.filter { $0.isRequired && !given.contains($0.name) }
        if let first = missing.first {
            let names = missing.map(\.name).joined(separator: ", ")
            throw PluginError(
                "it needs \(names): --set '\(first.name) = …'; \(first.name) takes \(first.type.expected) (\(first.help))"
            )
        }
        return SampleConfiguration.section(
            instance: instance, title: "\(manifest.name) \(manifest.version): \(manifest.summary)",
            kind: instance == name ? nil : name, settings: settings,
            grants: .init(read: manifest.reads, write: manifest.writes, reach: manifest.reaches),
            owner: manifest.owner, declarations: manifest.settings)
    }

    /// - Throws: the errors that `hub check` would report for the section.
    private func check(_ text: String, _ path: String, _ instance: String) async throws {
        let loader = ConfigurationLoader(path: path, programPath: HubProgram.path)
        let checked = await loader.load(text)
        let problems = checked.loaded.problems.errors(["plugin", instance])
        guard problems.isEmpty else {
            throw Failure(.badConfiguration, problems.map(\.description).joined(separator: "; "))
        }
    }
}

struct DisableCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Write enabled = false into the section of a plugin.",
        discussion: """
            Nothing else of hub.conf changes; hub apply has a running hub end it.

            Examples:
              hub plugin disable pulse --dry-run
              hub plugin disable pulse

            Exit codes: 0 it is written (or would be); 65 there is no such section; 71 it
            could not be written.
            """)

    @Argument(help: "The plugin, as hub.conf calls it.") var name: String
    @Flag(help: "Change nothing; show what would be written.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var options: ConfigurationChoice

    func run() async throws {
        try await PackFailure.told(name) {
            let path = try options.path()
            let old = try ConfigurationFile.text(path)
            var editor = try ConfigurationFile.editor(old, of: path)
            guard editor.hasPlugin(name) else { throw PluginError("\(path): there is no [plugin.\(name)]") }
            try editor.edit(path) { try $0.setEnabled(name, false) }
            guard editor.text != old else { return Terminal.say("\(name) is disabled already; nothing was changed") }
            try Output.print("\(path): enabled of [plugin.\(name)] \(dryRun ? "would be" : "is") false")
            guard !dryRun else { return Terminal.say("nothing was changed") }
            try ConfigurationFile.replace(old, with: editor.text, in: path)
            Terminal.say("hub apply has a running hub end it; hub plugin enable \(name) takes it back")
        }
    }
}
