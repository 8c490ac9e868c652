import Glibc
import ScaleSimulation

/// Writes events to stdout, whole lines at once, so that a reader behind a pipe sees each as it happens.
struct EventOutput: Sendable {
    /// Whether a line is an object.
    let json: Bool
    /// Whether bytes on the link are shown.
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
            // The output is not read any more: the scale goes on, since its host may still be there.
            if taken < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, taken))
        }
    }
}
