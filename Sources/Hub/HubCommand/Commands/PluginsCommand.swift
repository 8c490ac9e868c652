import ArgumentParser
import HubClient
import HubSettings
import HubWire

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins", abstract: "List the plugins of a running hub; with a name, show one with its settings.",
        discussion: """
            Without a name, one line for each plugin. With a name, the types that it may
            read and write, its log-ins and commands, and each setting with its value, the
            value's origin and its meaning. Secrets print as <secret>.

            Examples:
              hub plugins
              hub plugins ihealth-hs3
              hub plugins --all                       every plugin with its settings
              hub plugins --json | jq '.[] | {name, version}'

            Exit codes: 0; 1 there is no plugin of that name, or its section of hub.conf
            has errors; 69 no hub answers.
            """)

    @Argument(help: "Only this instance.") var name: String?
    @Flag(help: "All of them with their settings.") var all = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document, as the hub gives it.") var json = false

    func run() throws {
        let door = try options.door("plugins")
        let answer = try door.ask(.plugins)
        if json, name == nil { return try Output.json(answer.text) }
        var plugins = try JSON.answer([PluginEntry].self, answer)
        if let name {
            let names = plugins.map(\.name).joined(separator: ", ")
            plugins.removeAll { $0.name != name }
            if plugins.isEmpty {
                let none =
                    "there is no plugin \(name); " + (names.isEmpty ? "hub.conf has none" : "there are: \(names)")
                throw Failure(.unhealthy, try PluginEntry.refusal(of: name, door) ?? none)
            }
        }
        if json { return try Output.json(try JSON.line(plugins)) }
        if plugins.isEmpty { Terminal.say("no plugins: hub setup adds one") }
        let status = try door.ask(.status, as: HubStatus.self)
        guard all || name != nil else { return try list(plugins, status) }
        for (index, plugin) in plugins.enumerated() {
            if index > 0 { try Output.print("") }
            let tokens = status.plugins.first { $0.name == plugin.name }?.tokens
            try Output.print(plugin.lines(tokens: tokens))
        }
    }

    private func list(_ plugins: [PluginEntry], _ status: HubStatus) throws {
        guard !plugins.isEmpty else { return }
        try Output.table(["PLUGIN", "STATE", "VERSION", "WHAT IT DOES"], of: plugins) { plugin in
            let state = status.plugins.first { $0.name == plugin.name }?.state.rawValue
            return [
                plugin.name, state ?? (plugin.enabled ? "-" : "disabled"), plugin.version ?? "-",
                plugin.summary ?? plugin.fault ?? "-",
            ]
        }
        if Output.isRead { Terminal.say("hub plugins NAME shows one with its settings") }
    }
}
