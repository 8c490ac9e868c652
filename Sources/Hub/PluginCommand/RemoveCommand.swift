import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubSettings
import Platform

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Take an installed plugin away; its samples stay.",
        discussion: """
            Its files stay below the hub's data until another pack of it is installed, and
            hub plugin install NAME --undo brings it back. Its records stay in the hub. A
            plugin that hub.conf enables is not removed: disable it first, or say
            --settings, which also moves its section from hub.conf into a file.

            Examples:
              hub plugin remove pulse --dry-run
              hub plugin remove pulse --settings

            Exit codes: 0 it is gone (or would be); 65 it is not installed, or enabled;
            71 it could not be written.
            """)

    @Argument(help: "The installed plugin.") var name: String
    @Flag(help: "Take its sections out of hub.conf too.") var settings = false
    @Flag(help: "Change nothing; show what would be done.") var dryRun = false
    @OptionGroup var noQuestion: AssumeYesOption
    @OptionGroup var options: ConfigurationChoice

    func run() async throws {
        try await PackFailure.told(name) {
            let (path, files) = (try options.path(), try options.files())
            let programs = InstalledPrograms(data: files.data)
            guard let current = try programs.account(of: name)?.current else {
                let all = try programs.kinds()
                throw PluginError(
                    "is not installed; \(all.isEmpty ? "nothing is" : "there are: \(all.joined(separator: ", "))")")
            }
            let old = try ConfigurationFile.text(path)
            var (editor, taken) = (try ConfigurationFile.editor(old, of: path), "")
            let instances = editor.plugins(ofKind: name)
            for instance in instances {
                guard settings else {
                    guard !editor.isEnabled(instance) else {
                        throw PluginError(
                            "[plugin.\(instance)] of \(path) has it enabled: hub plugin disable \(instance), or remove it with --settings"
                        )
                    }
                    continue
                }
                try editor.edit(path) { taken += try $0.remove(["plugin", instance]) }
            }
            let text = editor.text
            let kept = "\(programs.folder(of: name))/section.conf"
            guard !dryRun else {
                try Output.print("\(name) \(current.version) would be removed")
                if !taken.isEmpty {
                    try Output.print("\(path): \(instances.joined(separator: ", ")) would be taken out")
                }
                return
            }
            let installer = try ProgramInstaller(data: files.data)
            if !taken.isEmpty {
                // The section may contain secrets: write it to a private file, not to the screen.
                try PrivateFile.write(Array(taken.utf8), to: kept)
                try ConfigurationFile.replace(old, with: text, in: path)
            }
            // Nobody enables it meanwhile.
            do {
                try ConfigurationFile.hold(text, in: path) { _ = try installer.remove(name) }
            } catch let failure as Failure where !taken.isEmpty {
                throw Failure(
                    failure.exit,
                    "\(failure.message). Its section is already out of \(path), and kept in \(kept); the program is still installed"
                )
            }
            try Output.print("\(name) \(current.version) is removed; its records stay in the hub")
            if !taken.isEmpty { Terminal.say("its section is kept in \(kept); hub apply has a running hub follow") }
            Terminal.say("hub plugin install \(name) --undo brings it back")
        }
    }
}
