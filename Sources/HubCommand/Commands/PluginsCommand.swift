import ArgumentParser
import HubClient
import HubCore
import HubSettings
import HubWire

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins",
        abstract: "The plugins of a running hub: what each is, who is logged in, its settings.",
        discussion: """
            Of each setting: its value, where it comes from, and what it means. Secrets
            print as <secret>.

            Examples:
              hub plugins
              hub plugins ihealth-hs3
              hub plugins --json | jq '.[] | {name, version}'

            Exit codes: 0; 1 there is no plugin of that name, or its section of hub.conf
            has errors; 69 no hub answers.
            """)

    @Argument(help: "Only this instance.")
    var name: String?
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
                throw Failure(.notWell, try PluginText.refusal(of: name, door) ?? none)
            }
        }
        if json { return try Output.json(try JSON.line(plugins)) }
        if plugins.isEmpty { Terminal.say("no plugins: enable one with [plugin.NAME] in hub.conf") }
        let status = try JSON.answer(HubStatus.self, try door.ask(.status))
        for (index, plugin) in plugins.enumerated() {
            if index > 0 { try Output.print("") }
            let tokens = status.plugins.first { $0.name == plugin.name }?.tokens
            for line in plugin.lines(tokens: tokens) { try Output.print(line) }
        }
    }
}
