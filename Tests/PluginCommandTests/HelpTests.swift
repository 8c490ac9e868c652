import Foundation
import HubProcess
import Testing

/// The help texts of the subcommands of `hub plugin`.
@Suite struct PluginHelpTests {
    @Test(arguments: [
        "new", "build", "dev", "test", "rules", "play", "pack", "search", "install", "enable", "disable", "remove",
    ]) func `the help is the one on file`(_ name: String) async throws {
        let file = try #require(Bundle.module.url(forResource: name, withExtension: "txt", subdirectory: "Help"))
        let help = try await Programs.hub(["plugin", name, "--help"])
        #expect(try help.output == String(contentsOf: file, encoding: .utf8))
    }
}
