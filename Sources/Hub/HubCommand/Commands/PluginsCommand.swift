import ArgumentParser
import HubClient
import HubCore
import HubSettings
import HubWire

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins",
        abstract: "List the plugins of a running hub; with a name, show one with its settings.",
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

    @Argument(help: "Only this instance.")
    var name: String?
    @Flag(help: "All of them with their settings.")
    var all = false
    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document, as the hub gives it.")
    var json = false

    func run() throws {
        let door = try DoorClient(endpoint: try options.endpoints().door, command: "plugins")
        let answer = try door.ask(.plugins)
        if json, name == nil { return try Output.json(answer.text) }
        var plugins = try JSON.answer([PluginText].self, answer)
        if let name {
            let names = plugins.map(\.name).joined(separator: ", ")
            plugins.removeAll { $0.name != name }
            if plugins.isEmpty {
                let none =
                    "there is no plugin \(name); " + (names.isEmpty ? "hub.conf has none" : "there are: \(names)")
                throw Failure(.unhealthy, try PluginText.refusal(of: name, door) ?? none)
            }
        }
        if json { return try Output.json(try JSON.line(plugins)) }
        if plugins.isEmpty { Terminal.say("no plugins: hub setup adds one") }
        let status = try JSON.answer(HubStatus.self, try door.ask(.status))
        guard all || name != nil else { return try list(plugins, status) }
        for (index, plugin) in plugins.enumerated() {
            if index > 0 { try Output.print("") }
            let tokens = status.plugins.first { $0.name == plugin.name }?.tokens
            for line in plugin.lines(tokens: tokens) { try Output.print(line) }
        }
    }

    private func list(_ plugins: [PluginText], _ status: HubStatus) throws {
        guard !plugins.isEmpty else { return }
        var table = Table([("PLUGIN", .left), ("STATE", .left), ("VERSION", .left), ("WHAT IT DOES", .left)])
        for plugin in plugins {
            let state = status.plugins.first { $0.name == plugin.name }?.state.rawValue
            table.add([
                plugin.name, state ?? (plugin.enabled ? "-" : "disabled"), plugin.version ?? "-",
                plugin.summary ?? plugin.fault ?? "-",
            ])
        }
        for line in table.takeLines() { try Output.print(line) }
        if Output.isRead { Terminal.say("hub plugins NAME shows one with its settings") }
    }
}
