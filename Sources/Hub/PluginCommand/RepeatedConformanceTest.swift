import HubClient
import Synchronization

/// The same examination several times: a rule that holds only sometimes is a fault, of the plugin or of the examination.
final class RepeatedConformanceTest: Sendable {
    private let subject: PluginUnderTest
    private let rules: [Rule]
    private let times, atOnce: Int
    private let open = Mutex((examinations: [Int: ConformanceTest](), isClosed: false))
    private let bar: Mutex<(bar: ProgressBar, looked: Int64)>

    init(_ subject: PluginUnderTest, _ rules: [Rule], times: Int, atOnce: Int) {
        (self.subject, self.rules, self.times, self.atOnce) = (subject, rules, times, atOnce)
        bar = Mutex((ProgressBar("examining \(subject.name)"), 0))
    }

    /// - Returns: the reports, in the order of the rounds.
    /// - Throws: ``PluginError`` if the plugin cannot be examined.
    func run() async throws -> [ConformanceReport] {
        defer { bar.withLock { $0.bar.end() } }
        return try await withThrowingTaskGroup(of: (Int, ConformanceReport).self) { group in
            var reports: [Int: ConformanceReport] = [:]
            func note(_ next: (Int, ConformanceReport)?) {
                guard let (round, report) = next else { return }
                reports[round] = report
                guard times > 1, !report.isWell else { return }
                Terminal.explain("time \(round + 1) of \(times):")
                for line in report.lines(showsAll: false) { Terminal.explain(line) }
            }
            for round in 0..<times {
                if round >= atOnce { note(try await group.next()) }
                group.addTask { (round, try await self.examine(round)) }
            }
            while let next = try await group.next() { note(next) }
            return reports.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private func examine(_ round: Int) async throws -> ConformanceReport {
        let examination = ConformanceTest(subject)
        let isClosed = open.withLock { open in
            open.examinations[round] = examination
            return open.isClosed
        }
        if isClosed { throw CancellationError() }
        defer { open.withLock { $0.examinations[round] = nil } }
        return try await examination.examine(rules) { _, _ in
            bar.withLock { bar in
                bar.bar.update(bar.looked, of: Int64(rules.count * times))
                bar.looked += 1
            }
        }
    }

    /// Ends everything that runs.
    func close() async {
        let examinations = open.withLock { open in
            open.isClosed = true
            return open.examinations.values.map(\.self)
        }
        for examination in examinations { await examination.close() }
    }

    /// How often all rules were kept, and how often each rule was not.
    static func lines(_ reports: [ConformanceReport]) -> [String] {
        var counts: [String: Int] = [:]
        for finding in reports.flatMap(\.faults) { counts[finding, default: 0] += 1 }
        let well = reports.count(where: \.isWell)
        return ["\(well) of \(reports.count) times all that concerns it was kept"]
            + counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { "  \($0.key): not kept \($0.value) of \(reports.count) times" }
    }
}

extension ConformanceReport {
    /// Names of the rules that it has broken or that stayed open.
    fileprivate var faults: [String] { findings.filter { $0.verdict.isFault }.map(\.rule.name) }

    fileprivate var isWell: Bool { faults.isEmpty }

    /// Whether this report counts rather than another one of the same plugin.
    func isBetter(than other: ConformanceReport) -> Bool {
        let (own, its) = (tier?.rawValue ?? -1, other.tier?.rawValue ?? -1)
        return own == its ? faults.count < other.faults.count : own > its
    }
}
