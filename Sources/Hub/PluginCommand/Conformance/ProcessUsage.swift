import Foundation
import HubCore

/// The cost of a process, as the kernel measures it.
struct ProcessUsage: Sendable {
    /// The peak of its resident memory.
    var peakBytes: Int
    /// Its share of one processor while it was watched.
    var share: Double

    /// Watches it for a while.
    ///
    /// - Returns: `nil` if it has ended.
    static func watched(_ pid: Int?, for time: Duration) async -> ProcessUsage? {
        guard let pid, let before = ticks(pid) else { return nil }
        let began = ContinuousClock.now
        try? await Task.sleep(for: time)
        guard let after = ticks(pid), let peak = peak(pid) else { return nil }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        return ProcessUsage(
            peakBytes: peak, share: Double(after - before) / Double(sysconf(Int32(_SC_CLK_TCK))) / seconds)
    }

    /// The processor time of all its threads, in ticks.
    private static func ticks(_ pid: Int) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return nil }
        // The name before the parenthesis may contain spaces; the state is the first of these fields.
        let fields = text[end...].split(separator: " ")
        guard fields.count > 13, let user = Int(fields[12]), let system = Int(fields[13]) else { return nil }
        return user + system
    }

    private static func peak(_ pid: Int) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") })
        else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1_024 }
    }
}

extension ProcessEnding {
    /// The ending in words, such as `exit code 0`.
    var words: String {
        switch self {
        case .exited(let code): "ended with exit code \(code)"
        case .killed(let signal): "was killed by signal \(signal)"
        case .overLimit(let bytes): "was ended by the kernel for wanting more than \(bytes / (1 << 20)) MiB of memory"
        case .notStarted(let reason): "was not started: \(reason)"
        }
    }
}
