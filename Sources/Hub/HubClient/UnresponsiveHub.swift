import Foundation

/// Explains why the door does not answer, with a remedy.
package enum UnresponsiveHub {
    package static func failure(_ endpoint: String, _ time: Duration) -> Failure {
        // The hub ended while it was asked, and no other hub has started since.
        if UnixSocket.presence(endpoint) == .absent { return DoorClient.absent(endpoint) }
        let seconds = time.formatted(.units(allowed: [.seconds, .milliseconds], width: .wide))
        guard let pid = UnixSocket.listener(endpoint) else {
            return Failure(
                .noHub,
                "the hub at \(endpoint) has not answered for \(seconds): its process hangs or has no time; \(remedy)")
        }
        let who = "the hub at \(endpoint), process \(pid), has not answered for \(seconds)"
        switch state(of: pid) {
        case "T", "t": return Failure(.noHub, "\(who): it was stopped; kill -CONT \(pid) lets it go on")
        case "D":
            return Failure(
                .noHub,
                "\(who): it waits for a disk that does not answer; look at the disk that hub.conf has data on, and at dmesg. Ending the hub does not help, it goes on when the disk does"
            )
        default: return Failure(.noHub, "\(who): it hangs or has no time; look at top -p \(pid). \(remedy)")
        }
    }

    private static let remedy =
        "hub doctor checks its disk without the hub. If that finds nothing and the hub stays silent, start it again: all confirmed records are on the disk"

    /// The state in `/proc`: `D` if a thread waits for a disk, otherwise the state of the process; `nil` if there is none.
    private static func state(of pid: pid_t) -> Character? {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []
        let states = (["\(pid)"] + threads.map { "\(pid)/task/\($0)" }).compactMap { place -> Character? in
            guard let stat = try? String(contentsOfFile: "/proc/\(place)/stat", encoding: .utf8),
                let name = stat.lastIndex(of: ")")
            else { return nil }
            return stat[name...].dropFirst(2).first
        }
        return states.contains("D") ? "D" : states.first
    }
}
