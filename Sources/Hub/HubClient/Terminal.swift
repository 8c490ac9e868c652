import Foundation
import HubWire

/// The program's terminal: stdin, stdout and stderr.
package enum Terminal {
    /// Whether stdout shows colours: it is a terminal with colours, and `NO_COLOR` is not set.
    package static let hasColours: Bool = {
        let environment = ProcessInfo.processInfo.environment
        return isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR", default: ""].isEmpty
            && environment["TERM"] != "dumb"
    }()

    /// Whether the program can ask a person: stdin and stderr are terminals.
    package static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Whether reading a line does not block, because one was typed or the input has ended.
    package static var hasTyped: Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) > 0
    }

    /// Whether stderr may show a line that changes in place without mixing with results.
    package static var showsProgress: Bool { isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0 }

    /// Writes a line to stderr.
    package static func say(_ line: String) {
        try? write(Array((PlainText.line(line) + "\n").utf8)[...], to: STDERR_FILENO)
    }

    /// Writes a line to stderr that names the program.
    package static func complain(_ line: String) { say("hub: \(line)") }

    /// Writes several lines of this program's own text to stderr.
    package static func explain(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { say(String(line)) }
    }

    /// Shortens typed text for a message that quotes it.
    package static func cut(_ text: String) -> String { text.count > 60 ? "\(text.prefix(60))…" : text }

    /// Shows `text` in place of the last progress; an empty text removes it.
    package static func progress(_ text: String) {
        try? write(Array("\r\u{1B}[K\(PlainText.line(text))".utf8)[...], to: STDERR_FILENO)
    }

    /// Writes all bytes.
    /// - Throws: ``OutputClosed`` if the reader has gone; ``Failure`` if the system refuses.
    package static func write(_ bytes: ArraySlice<UInt8>, to file: Int32) throws {
        var rest = bytes
        while !rest.isEmpty {
            let taken = rest.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if taken < 0 {
                if errno == EINTR { continue }
                if errno == EPIPE { throw OutputClosed() }
                throw Failure(.system, "writing results failed: \(String(cString: strerror(errno)))")
            }
            rest = rest.dropFirst(taken)
        }
    }
}

/// Buffers results for stdout, in pieces of 64 KiB; call ``flush()`` before the program waits.
package struct Output: ~Copyable {
    private var waiting: [UInt8] = []
    private static let piece = 65_536
    /// Whether stdout is a terminal that a person reads.
    package static let isRead = isatty(STDOUT_FILENO) == 1

    package init() {}

    /// Adds a line for people.
    package mutating func line(_ text: String) throws { try add(PlainText.line(text).utf8) }

    /// Adds a line of JSON without terminal control characters, even into a pipe, because most pipes end at a terminal.
    package mutating func json(_ bytes: ArraySlice<UInt8>) throws {
        // Control characters are DEL or begin with a byte above it; JSON itself escapes those below a space.
        guard bytes.contains(where: { $0 >= 0x7F }) else { return try add(bytes) }
        try add(PlainText.json(String(decoding: bytes, as: UTF8.self)).utf8)
    }

    private mutating func add(_ bytes: some Sequence<UInt8>) throws {
        waiting.append(contentsOf: bytes)
        waiting.append(UInt8(ascii: "\n"))
        if waiting.count >= Output.piece { try flush() }
    }

    /// Writes all buffered bytes.
    package mutating func flush() throws {
        try Terminal.write(waiting[...], to: STDOUT_FILENO)
        waiting.removeAll(keepingCapacity: true)
    }

    /// Writes one line for people at once.
    package static func print(_ line: String) throws {
        try Terminal.write(Array((PlainText.line(line) + "\n").utf8)[...], to: STDOUT_FILENO)
    }

    /// Writes lines for people, or a JSON document in their place if there is one.
    package static func print(_ lines: [String], json: String? = nil) throws {
        if let json { return try self.json(json) }
        for line in lines { try print(line) }
    }

    /// Writes a table with a row for each element.
    package static func table<Element>(
        _ columns: [Table.Column], of elements: some Sequence<Element>, _ row: (Element) throws -> [String]
    ) throws { try print(Table.lines(columns, of: elements, row)) }

    /// Writes several lines of this program's own text.
    package static func lines(_ text: some StringProtocol) throws {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) { try print(String(line)) }
    }

    /// Writes one JSON document at once.
    package static func json(_ text: String) throws {
        var output = Output()
        try output.json(Array(text.utf8)[...])
        try output.flush()
    }
}

/// The colour of a word that means something good, doubtful or bad, for terminals with colours.
package enum StatusColour: String, Sendable {
    case good = "32"
    case doubtful = "33"
    case bad = "31"
    case faint = "2"

    /// The colour of a line of a log by its level; `nil` for an ordinary line.
    package init?(level: String) {
        switch level {
        case "warning": self = .doubtful
        case "error", "critical": self = .bad
        case "trace", "debug": self = .faint
        default: return nil
        }
    }

    /// `text` in this colour, or unchanged without colours.
    ///
    /// ``PlainText`` allows these colours, and no others.
    package func paint(_ text: String, _ colours: Bool) -> String {
        colours ? "\(PlainText.colour)[\(rawValue)m\(text)\(PlainText.colour)[0m" : text
    }
}
