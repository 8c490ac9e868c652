import ArgumentParser
import Foundation

/// `make attack`: runs the attacks and prints the findings of each.
@main struct Command: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-attack",
        abstract: "Attacks a hub and reports which promises held.",
        discussion: """
            Each attack starts its own hub, built beside this program, in a folder below /tmp. The exit code is 1 if a promise did not hold.
            """)

    @Flag(help: "Run smaller attacks of a few seconds each; durations are reported but not judged.") var quick = false
    @Flag(help: "Print the findings as JSON.") var json = false
    @Flag(help: "Only list the attacks.") var list = false
    @Argument(help: "The attacks to run; all if none is named.") var names: [String] = []

    func validate() throws {
        let unknown = names.filter { name in !Attack.all.contains { $0.name == name } }
        guard unknown.isEmpty else {
            throw ValidationError(
                "there is no attack \(unknown.joined(separator: ", ")); there are \(Attack.all.map(\.name).joined(separator: ", "))"
            )
        }
    }

    func run() async throws {
        if list {
            for attack in Attack.all { print("\(attack.name)\n    \(attack.does)\n    \(attack.holds)") }
            return
        }
        var results: [Result] = []
        for attack in Attack.all where names.isEmpty || names.contains(attack.name) {
            let scene = Scene(isQuick: quick)
            var failure: String?
            do { try await attack.run(scene) } catch { failure = "\(error)" }
            let result = Result(name: attack.name, findings: scene.findings, failure: failure, isQuick: quick)
            results.append(result)
            if !json { result.show(attack) }
        }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(results), as: UTF8.self))
        }
        guard results.allSatisfy(\.held) else { throw ExitCode(1) }
    }
}

/// The result of one attack.
private struct Result: Encodable {
    let name: String
    let findings: [Finding]
    /// The error that ended it early.
    let failure: String?
    let held: Bool

    init(name: String, findings: [Finding], failure: String?, isQuick: Bool) {
        (self.name, self.findings, self.failure) = (name, findings, failure)
        held = failure == nil && !findings.isEmpty && findings.allSatisfy { $0.holds || $0.isTime && isQuick }
    }

    func show(_ attack: Attack) {
        print("\(held ? "held  " : "BROKEN") \(name): \(attack.does)")
        for finding in findings {
            let bound = finding.atMost.map { " of at most \(Self.text($0))" } ?? ""
            print(
                "         \(finding.holds ? " " : "!") \(finding.what): \(Self.text(finding.value))\(bound) \(finding.unit)"
            )
        }
        if let failure { print("         ! \(failure)") }
    }

    private static func text(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int(value))" : String(format: "%.2f", value)
    }
}
