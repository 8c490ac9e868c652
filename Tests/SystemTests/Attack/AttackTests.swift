import Foundation
import HubProcess
import Testing

/// Runs each attack in its small size; `make attack` runs the full sizes and judges the times.
@Suite(.timeLimit(.minutes(3))) struct AttackTests {
    private struct Attack: Decodable {
        var name: String
        var held: Bool
    }

    @Test func `R4.32 R4.33 R7.11 a hub survives every attack`() async throws {
        let run = try await ChildProcess("hub-attack", ["--quick", "--json"]).result()
        let attacks = try JSONDecoder().decode([Attack].self, from: Data(run.output.utf8))
        #expect(run.code == 0, "\(run.output)")
        #expect(attacks.count >= 5 && attacks.allSatisfy(\.held))
    }

    @Test func `an unknown attack is refused with the names of those that exist`() async throws {
        let run = try await ChildProcess("hub-attack", ["importer"]).result()
        #expect(run.code == 64)
        #expect(run.errors.contains("there is no attack importer; there are importers, "))
    }
}
