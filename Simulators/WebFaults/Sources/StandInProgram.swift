import Dispatch
import Glibc

/// The parts that the programs of stand-ins have in common.
public enum StandInProgram {
    /// Two columns of a help text.
    public static func rows(_ rows: [(String, String)]) -> String {
        rows.map { "  \($0.0)\(String(repeating: " ", count: max(2, 16 - $0.0.count)))\($0.1)" }.joined(separator: "\n")
    }

    /// Parses the option `--listen`.
    ///
    /// - Throws: ``WebFaultsError`` with the expected form.
    public static func address(_ listen: String, example: String) throws(WebFaultsError) -> (host: String, port: Int) {
        guard let colon = listen.lastIndex(of: ":"), let port = Int(listen[listen.index(after: colon)...]),
            (0...65_535).contains(port)
        else { throw WebFaultsError("--listen '\(listen)': expected HOST:PORT, such as \(example)") }
        return (String(listen[..<colon]), port)
    }

    /// Exits immediately on SIGTERM and SIGINT, and at the end of stdin if requested, because all confirmed data is already in the file.
    public static func endOnRequest(untilEof: Bool) {
        for number in [SIGTERM, SIGINT] { signal(number) { _ in _exit(0) } }
        guard untilEof else { return }
        DispatchQueue.global().async {
            while readLine() != nil {}
            _exit(0)
        }
    }

    /// Writes all of a text.
    public static func put(_ text: String, to file: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}
