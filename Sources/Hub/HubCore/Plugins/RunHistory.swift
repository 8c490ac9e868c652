import FoundationEssentials
import HubWire
import Logging
import Platform

/// The last start times of programs that run on a schedule, from one run of the hub to the next: `runs.json` in the data directory.
final class RunHistory {
    private let path: String
    private let logger: Logger
    let clock: HubClock
    /// Microseconds since 1970 by the hub's clock, by instance.
    private(set) var starts: [String: Int64]

    init(data: String, clock: HubClock, logger: Logger) {
        (path, self.clock, self.logger) = ("\(data)/runs.json", clock, logger)
        // Without the file, each program is started one time more than necessary.
        starts =
            FileManager.default.contents(atPath: path)
            .flatMap { try? JSONDecoder().decode([String: Int64].self, from: $0) } ?? [:]
    }

    /// Milliseconds of the machine's clock since an instance was last started; zero if the clock was set back.
    func age(of instance: String) -> Int64? {
        starts[instance].map { start in
            let (age, _) = clock.now().subtractingReportingOverflow(start)
            return clock.realDuration(forVirtual: .microseconds(max(0, age))).milliseconds
        }
    }

    func began(_ instance: String, known: Set<String>) {
        starts = starts.filter { known.contains($0.key) }
        starts[instance] = clock.now()
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        do {
            try PrivateFile.write(Array(try encoder.encode(starts)), to: path)
        } catch {
            logger.warning("the start times of programs cannot be saved", metadata: ["error": "\(error)"])
        }
    }
}

extension Duration {
    /// Whole milliseconds.
    var milliseconds: Int64 { Int64(self / .milliseconds(1)) }
}
