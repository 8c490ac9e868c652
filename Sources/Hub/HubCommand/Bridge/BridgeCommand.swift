import ArgumentParser

struct BridgeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bridge", abstract: "Lines of JSON in and out, for every language without ZeroMQ.",
        discussion: """
            hub bridge speaks with the hub, through its restarts and restores; your program
            reads and writes lines. Docs/Clients.md has all lines in a table.

            Examples:
              hub bridge publish < records.jsonl
              hub bridge publish --as kitchen -- ./read-scale
              curl … | jq -c … | hub bridge publish --as kitchen
              hub bridge follow weight --since last -- ./program
              hub bridge sink --name office weight -- ./deliver
              hub bridge plugin --manifest manifest.json --describe -- ./program

            hub help bridge publish (and follow, sink, plugin) says more.

            Exit codes: 0 done; 1 something was refused; 64 wrong arguments; 69, 71, 75,
            77 as hub --help has them.
            """,
        subcommands: [
            BridgePublishCommand.self, BridgeFollowCommand.self, BridgeSinkCommand.self, BridgePluginCommand.self,
        ])
}
