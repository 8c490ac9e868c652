import Testing

@testable import hub_torture

/// Tests that change evidence in which all is well, and look at what the judge finds then.
protocol JudgeSuite {
    /// Evidence in which all is well.
    static var good: Evidence { get }
}

extension JudgeSuite {
    /// What is found in ``good`` after a change.
    func findings(_ change: (inout Evidence) -> Void) -> [String] {
        var evidence = Self.good
        change(&evidence)
        var judge = Checker(evidence)
        return judge.judge()
    }

    /// Expects that something is found that begins with `beginning`.
    func finds(
        _ beginning: String = "", _ location: SourceLocation = #_sourceLocation, _ change: (inout Evidence) -> Void
    ) {
        let found = findings(change)
        #expect(found.contains { $0.hasPrefix(beginning) }, "\(found)", sourceLocation: location)
    }
}
