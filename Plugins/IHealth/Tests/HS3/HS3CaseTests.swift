import PluginTesting
import Testing

@testable import IHealthHS3

struct HS3CaseTests {
    @Test(.timeLimit(.minutes(1)), arguments: PluginCase.all(in: .module)) func `gives what the case expects`(
        _ testCase: PluginCase
    ) async throws {
        try await testCase.run(IHealthHS3()) { script in try HS3Scale(script: script) }
    }
}
