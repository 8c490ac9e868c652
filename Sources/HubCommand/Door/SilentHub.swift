import Foundation

/// Somebody listens at the door and says nothing: what that may be, and what to do.
enum SilentHub {
    static func failure(_ endpoint: String, _ time: Duration) -> Failure {
        let seconds = time.formatted(.units(allowed: [.seconds, .milliseconds], width: .wide))
        guard let pid = UnixSocket.listener(endpoint) else {
            return Failure(
                .noHub,
                "the hub at \(endpoint) has not answered for \(seconds): its process hangs or has no time; \(remedy)")
        }
        let who = "the hub at \(endpoint), process \(pid), has not answered for \(seconds)"
        switch state(of: pid) {
        case "T", "t": return Failure(.noHub, "\(who): it was stopped; kill -CONT \(pid) lets it go on")
        case "D": return Failure(.noHub, "\(who): it waits for a disk; look at the disk that hub.conf has data on")
        default: return Failure(.noHub, "\(who): it hangs or has no time; look at top -p \(pid). \(remedy)")
        }
    }

    private static let remedy =
        "If it stays so, kill -9 it and start it again: what it has confirmed is on the disk"

    /// As `/proc` has it; `nil` where there is none.
    private static func state(of pid: pid_t) -> Character? {
        guard let stat = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let name = stat.lastIndex(of: ")")
        else { return nil }
        return stat[name...].dropFirst(2).first
    }
}
