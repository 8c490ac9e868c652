import AppleExport
import HubWire
import PluginKit

/// Imports the Apple Health exports in a folder.
@main
struct AppleHealth: SourcePlugin {
    static let manifest = Manifest(
        name: ExportImport.kind, summary: "Exports of Apple Health: all that a phone and a watch have collected.",
        version: ProductVersion.current, writes: ["*"], declares: ExportImport.declarations,
        settings: ImportSettings.declarations)

    static let commands: [Command<Self>] = [
        Command(
            "import", help: "Reads the exports of the folder again, all or one, even if they were read before.",
            arguments: [.init("file", .string(), help: "The name of one; not given: all.")], canDryRun: true
        ) { plugin, call in
            try await plugin.importer(call.hub).importAgain(call)
        }
    ]

    /// Runs as a plugin, or reads one file for `hub import`.
    static func main() async {
        let words = CommandLine.arguments.dropFirst()
        guard words.first == ImportDialogue.verb else { return await runProgram() }
        await ExportFileImport(Array(words.dropFirst())).run()
    }

    private let made = LazyValue<FolderImporter>()

    private func importer(_ hub: PluginContext) async throws -> FolderImporter {
        try await made.value { FolderImporter(hub, try ImportSettings(hub.settings)) }
    }

    /// Checks the folder at intervals and imports new exports.
    func run(_ hub: PluginContext) async throws {
        let importer = try await importer(hub)
        while !hub.isStopping {
            do {
                try await importer.importNew()
            } catch let failure as PluginFailure where failure.exit == .unavailable {
                await importer.wait(for: failure.message)
            } catch let error as PluginStateError where error.code == .diskFull {
                await importer.wait(for: "\(error)")
            }
            try await Task.sleep(for: importer.settings.interval)
        }
    }

    func once(_ hub: PluginContext) async throws { try await importer(hub).importNew(settledFor: .zero) }

    func judge(_ settings: PluginSettings) throws { _ = try ImportSettings(settings) }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try ImportSettings(hub.settings)
        let listing = try ExportFolder(settings.folder).exports()
        let names = listing.entries.map(\.name)
        guard !names.isEmpty else {
            return "\(settings.folder) has no export in it. Put export.zip there, as the Health app makes it."
        }
        return "\(settings.folder) has \(names.joined(separator: ", ")), which would be read."
            + (listing.leftOut > 0 ? " \(listing.leftOut) more would not be read: take older ones out." : "")
    }
}
