import Testing

@testable import hub_torture

/// Tests that change good evidence and check the judge's findings.
protocol JudgeSuite {
    /// Evidence without any error.
    static var good: Evidence { get }
}

extension JudgeSuite {
    /// The findings in ``good`` after a change.
    func findings(_ change: (inout Evidence) -> Void) -> [String] {
        var evidence = Self.good
        change(&evidence)
        var judge = Checker(evidence)
        return judge.judge()
    }

    /// Expects a finding that begins with `beginning`.
    func finds(
        _ beginning: String = "", _ location: SourceLocation = #_sourceLocation, _ change: (inout Evidence) -> Void
    ) {
        let found = findings(change)
        #expect(found.contains { $0.hasPrefix(beginning) }, "\(found)", sourceLocation: location)
    }
}
