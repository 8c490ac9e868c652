import Foundation
import PluginTesting

extension ScaleBench {
    /// Weighs repeatedly, each weight once, while the real program is killed again and again, mostly within a session.
    ///
    /// HUB_TEST_KILLS in the environment changes the number of kills.
    ///
    /// - Parameter lives: how long each process lives, in milliseconds.
    /// - Returns: the weights in tenths of a kilogram.
    public func weighAndKill(
        _ program: String, weighingEvery pause: Duration, lives: ClosedRange<Int> = 600...1800,
        weigh: @escaping @Sendable (Int) -> Void
    ) async throws -> Range<Int> {
        let weigher = Task {
            for tenths in 900... {
                guard (try? await Task.sleep(for: pause)) != nil else { return tenths }
                weigh(tenths)
            }
            return 0
        }
        for _ in 0..<(ProcessInfo.processInfo.environment["HUB_TEST_KILLS"].flatMap { Int($0) } ?? 6) {
            let process = try start(program)
            try await Task.sleep(for: .milliseconds(Int.random(in: lives)))
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        weigher.cancel()
        return 900..<(await weigher.value)
    }

    /// Lets the program run until the hub has all records, stops it, and returns its exit status.
    ///
    /// - Parameter isDone: whether the scale has nothing left to send.
    public func runToTheEnd(_ program: String, records: Int, isDone: @Sendable () -> Bool) async throws -> Int32 {
        let greetings = await hub.hellos.count
        let process = try start(program)
        await hub.hellos(greetings + 1)
        while !isDone() { try await Task.sleep(for: .milliseconds(10)) }
        await hub.records(records)
        kill(process.processIdentifier, SIGTERM)
        process.waitUntilExit()
        return process.terminationStatus
    }
}
