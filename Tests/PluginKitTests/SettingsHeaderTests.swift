import Testing

@testable import PluginKit

@Suite struct SettingsHeaderTests {
    private struct Nothing: SourcePlugin {
        static let manifest = Manifest(name: "nothing", summary: "Gives nothing.", version: "1")
        func run(_ hub: PluginContext) async throws {}
    }

    @Test func `a settings file may begin with the table's header, and lines keep their numbers`() {
        typealias Command = PluginCommandLine<Nothing>
        #expect(Command.withoutHeader("## About\n\n[plugin.x]\nlink = 1\n") == "## About\n\n\nlink = 1\n")
        #expect(Command.withoutHeader("link = 1\n[plugin.x]\n") == "link = 1\n[plugin.x]\n")
    }
}
