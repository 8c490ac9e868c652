import Foundation
import HealthText
import HubClient
import HubWire
import Synchronization

/// Asks a person at a terminal, line by line.
final class SetupPrompt: Sendable {
    private let interruption: Interruption
    /// Input that was typed ahead.
    private let typed = Mutex<[UInt8]>([])

    init() { interruption = Interruption(last: { HiddenInput.end() }) }

    /// The failure after Ctrl-C, at any time.
    static let ended = Failure(.interrupted, "ended by Ctrl-C; nothing was written")

    func checkForEnd() throws { if interruption.isOver { throw Self.ended } }

    /// Asks and returns the typed text without surrounding spaces; empty for Enter alone.
    func ask(_ question: String) async throws -> String {
        try show(question + " ")
        return try await blocking { try self.line() }.trimmingCharacters(in: .whitespaces)
    }

    /// Asks and reads the answer without displaying it.
    func askHidden(_ question: String) async throws -> String {
        try await blocking {
            // Start before the question, so that a fast answer is not displayed either.
            let line = HiddenInput(takesEmpty: true)
            try self.show(question + " ")
            while true {
                try self.checkForEnd()
                if let text = try line.take() { return text }
                Self.wait()
            }
        }
    }

    /// - Parameter meaning: an explanation of yes, shown for the answer `?`.
    func isYes(_ question: String, usually: Bool, meaning: String? = nil) async throws -> Bool {
        while true {
            let answer = try await ask("\(question) [\(usually ? "Y/n" : "y/N")]")
            if answer.isEmpty { return usually }
            if let truth = SettingAnswer.truth(answer) { return truth }
            if answer == "?", let meaning { Terminal.say("  \(meaning)") }
            Terminal.say("  y is yes, n is no, Enter is \(usually ? "yes" : "no")")
        }
    }

    /// Runs until the body is done or Enter is typed, which gives nil.
    func skippable<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async throws -> Value? {
        let isDone = AwaitableValue(false)
        return try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                try await blocking { () throws -> Value? in
                    while !isDone.value, !Terminal.hasTyped {
                        try self.checkForEnd()
                        Self.wait()
                    }
                    if !isDone.value { _ = try self.line() }
                    return nil
                }
            }
            defer { group.cancelAll() }
            let first = try await group.next()
            isDone.change { $0 = true }
            return first ?? nil
        }
    }

    private func show(_ text: String) throws {
        try Terminal.write(Array(PlainText.line(text).utf8)[...], to: STDERR_FILENO)
    }

    /// Waits for input for a moment; the caller checks for Ctrl-C in between.
    private static func wait() {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        _ = poll(&input, 1, 50)
    }

    private func line() throws -> String {
        while true {
            try checkForEnd()
            let line = typed.withLock { bytes -> [UInt8]? in
                guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
                defer { bytes.removeSubrange(...end) }
                return Array(bytes[..<end])
            }
            if let line { return String(decoding: line, as: UTF8.self) }
            Self.wait()
            guard Terminal.hasTyped else { continue }
            var buffer = [UInt8](repeating: 0, count: 4_096)
            let count = read(STDIN_FILENO, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Failure(.usage, "the input ended; nothing was written") }
            typed.withLock { $0 += buffer[..<count] }
        }
    }
}
