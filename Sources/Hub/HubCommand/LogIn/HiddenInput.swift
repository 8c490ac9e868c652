import Foundation
import HubClient
import Synchronization

/// A typed or pasted line of any length that is not displayed; a terminal's own line input ends at 4,096 characters.
///
/// ``end()`` restores the terminal; only one may exist at a time.
final class HiddenInput {
    private var bytes: [UInt8] = []
    private let isTerminal: Bool
    /// Whether Enter alone counts as an answer.
    private let takesEmpty: Bool

    /// Longer than any answer that the hub takes.
    static let longest = 65_536

    /// The former state of the terminal; also restored by a second Ctrl-C, which ends the program at once.
    private static let former = Mutex<termios?>(nil)

    init(takesEmpty: Bool = false) {
        self.takesEmpty = takesEmpty
        isTerminal = isatty(STDIN_FILENO) == 1
        var settings = termios()
        guard isTerminal, tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
        HiddenInput.former.withLock { $0 = $0 ?? settings }
        settings.c_lflag &= ~tcflag_t(ECHO | ICANON)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    deinit { HiddenInput.end() }

    static func end() {
        former.withLock { former in
            guard var settings = former else { return }
            tcsetattr(STDIN_FILENO, TCSANOW, &settings)
            former = nil
        }
    }

    /// Returns the line if it is complete; never waits.
    ///
    /// - Throws: ``HubExit/usage`` if the input ends or the line is too long.
    func take() throws -> String? {
        while Terminal.hasTyped {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return try last() }
            for byte in buffer[..<count] {
                switch byte {
                case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
                    if bytes.isEmpty, !takesEmpty { continue }
                    return taken()
                case 4 where isTerminal: return try last()  // Ctrl-D
                case 8 where isTerminal, 127 where isTerminal: _ = bytes.popLast()
                case 21 where isTerminal: bytes = []  // Ctrl-U
                default: bytes.append(byte)
                }
            }
            guard bytes.count <= HiddenInput.longest else { throw Failure(.usage, "the answer is too long") }
        }
        return nil
    }

    private func last() throws -> String {
        guard !bytes.isEmpty else { throw Failure(.usage, "the input ended before the question was answered") }
        return taken()
    }

    private func taken() -> String {
        defer { bytes = [] }
        if isTerminal { Terminal.say("") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
