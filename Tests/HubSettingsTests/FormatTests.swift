import Foundation
import HubSettings
import OldFormats
import Testing

@Suite struct FormatTests {
    @Test func `every hub.conf that there has been is read without a complaint about the hub's own settings`() throws {
        for file in try OldFormat.configurations {
            let text = try String(contentsOf: file, encoding: .utf8)
            // As its comments stand, and with every setting of the hub and of people that they name.
            for text in [text, text.replacing(/(?m)^# (?=[a-z_]+ = )/, with: "")] {
                let loaded = HubConfiguration.load(
                    text: text, file: file.lastPathComponent, fileMode: 0o600, environment: .sample,
                    manifests: { _, _ in [] })
                // What the programs of plugins take is theirs to say.
                let complaints = loaded.lines.filter { !$0.contains("[plugin.") }
                #expect(complaints == [])
                #expect(loaded.lines.count > complaints.count || loaded.configuration?.persons.map(\.name) == ["me"])
            }
        }
    }
}
