import Glibc
import ScaleSimulation

/// Writes events to stdout in whole lines, so that a reader behind a pipe receives each one immediately.
struct EventOutput: Sendable {
    /// Whether to write each event as a JSON object.
    let json: Bool
    /// Whether to show bytes on the link.
    let wire: Bool

    func write(_ event: SimulatorEvent) {
        if case .wire = event, !wire { return }
        EventOutput.put(json ? event.json : event.text, to: STDOUT_FILENO)
    }

    static func complain(_ text: String) { put("hub-scale-sim: \(text)", to: STDERR_FILENO) }

    private static func put(_ line: String, to file: Int32) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let taken = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            // The output is no longer read: the scale continues, because its host may still be connected.
            if taken < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, taken))
        }
    }
}
