import Foundation
import HubWire
import Samples
import Testing

@Suite struct DialogueManifestTests {
    @Test func `a manifest round-trips through JSON`() throws {
        let manifest = Manifest(
            name: "kitchen-script", summary: "Weighs bread", version: "1.0", writes: ["weight"],
            declares: [
                TypeDeclaration(
                    id: "x.acme.glow", kind: .quantity, unit: "kg", aggregation: .discreteArithmetic)
            ],
            settings: [SettingDeclaration("address", .string(), help: "Address of the scale.", required: true)],
            commands: [CommandDeclaration("refresh", help: "Asks the scale at once.", canDryRun: true)],
            sink: SinkAbilities(
                takesPastDates: true, takesEdits: false, takesDeletions: false, takesFilledValues: true,
                batchRecords: 35))
        let data = try JSONEncoder().encode(manifest)
        #expect(try JSONDecoder().decode(Manifest.self, from: data) == manifest)
        #expect(manifest.faults.isEmpty)
        let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
        #expect(object?["protocol"] as? [Int] == [1])
    }

    @Test func `a manifest lists all its faults`() {
        let manifest = Manifest(
            name: "-x", summary: "", version: "1", declares: [TypeDeclaration(id: "weight", kind: .quantity)],
            settings: [SettingDeclaration("enabled", .boolean, help: "No.")],
            commands: [CommandDeclaration("a", help: "A."), CommandDeclaration("a", help: "A.")])
        #expect(manifest.faults.count == 4)
    }

    @Test func `a manifest may omit empty members`() throws {
        let text = #"{"name":"kitchen","summary":"A scale.","version":"1"}"#
        let manifest = try JSONDecoder().decode(Manifest.self, from: Data(text.utf8))
        #expect(manifest == Manifest(name: "kitchen", summary: "A scale.", version: "1", protocols: [1]))
    }
}
