import Foundation
import HubSettings
import HubProcess
import Testing

@Suite struct FormatTests {
    @Test func `every older hub.conf is still read without complaints about the hub's own settings`() throws {
        for file in try OldFormat.configurations {
            let text = try String(contentsOf: file, encoding: .utf8)
            // Checks the file as it is, and with all commented settings of the hub and of people switched on.
            for text in [text, text.replacing(/(?m)^# (?=[a-z_]+ = )/, with: "")] {
                let loaded = HubConfiguration.load(
                    text: text, file: file.lastPathComponent, fileMode: 0o600, environment: .sample,
                    manifests: { _, _ in [] })
                // Complaints about plugins' settings depend on their programs and are ignored.
                let complaints = loaded.lines.filter { !$0.contains("[plugin.") }
                #expect(complaints == [])
                #expect(loaded.lines.count > complaints.count || loaded.configuration?.persons.map(\.name) == ["me"])
            }
        }
    }
}
