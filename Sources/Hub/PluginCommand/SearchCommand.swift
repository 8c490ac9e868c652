import ArgumentParser
import HubClient

struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "List the plugins of a catalogue, with their summaries and requests.",
        discussion: """
            A catalogue is a file catalogue.json beside packs, in a folder or at any web
            server; hub plugin pack --index FOLDER writes it. Its contents are its maker's
            claims: hub plugin install NAME compares the pack with them, and shows the
            pack's requests before anything runs.

            Examples:
              hub plugin search --catalogue https://example.org/plugins
              hub plugin search heartRate --catalogue packs --json

            Exit codes: 0; 1 nothing was found; 65 it is not a catalogue; 66 there is none;
            71 it cannot be read or downloaded.
            """)

    @Argument(help: "Found in names, summaries and types; all, if not given.") var word: String?
    @Option(help: "The catalogue; $HUB_CATALOGUE if not given.") var catalogue: String?
    @Flag(help: "A JSON object a line.") var json = false

    func run() async throws {
        try await PackFailure.told("search") {
            let found = try await CatalogueChoice.read(try CatalogueChoice.place(catalogue)).search(word)
            for entry in found {
                if json {
                    try Output.json(try JSON.line(entry))
                    continue
                }
                try Output.print("\(entry.name) \(entry.version)  \(entry.summary)")
                let asked = [
                    PackText.types(entry.reads).map { "reads \($0)" },
                    PackText.types(entry.writes).map { "writes \($0)" },
                    entry.reaches.isEmpty ? nil : "reaches \(entry.reaches.joined(separator: ", "))",
                    entry.tier.map { "\($0), say those who made it" },
                ].compactMap { $0 }
                try Output.print("  \((asked + [PackText.size(entry.bytes)]).joined(separator: "; "))")
            }
            if found.isEmpty {
                Terminal.say("the catalogue has nothing\(word.map { " with \($0)" } ?? "")")
                throw ExitCode(HubExit.unhealthy.rawValue)
            }
        }
    }
}
