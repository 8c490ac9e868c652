import Foundation
import HubProcess
import Testing

/// Each attack in its small size; `make attack` does them in full, and judges how long things take.
@Suite(.timeLimit(.minutes(3))) struct AttackTests {
    private struct Attack: Decodable {
        var name: String
        var held: Bool
    }

    @Test func `R4.32 R4.33 R7.11 a hub holds against every attack`() async throws {
        let run = try await ChildProcess("hub-attack", ["--quick", "--json"]).result()
        let attacks = try JSONDecoder().decode([Attack].self, from: Data(run.output.utf8))
        #expect(run.code == 0, "\(run.output)")
        #expect(attacks.count >= 5 && attacks.allSatisfy(\.held))
    }

    @Test func `an attack that does not exist is named, with those that do`() async throws {
        let run = try await ChildProcess("hub-attack", ["importer"]).result()
        #expect(run.code == 64)
        #expect(run.errors.contains("there is no attack importer; there are importers, "))
    }
}
