import Foundation
import PluginKit
import Synchronization

/// `hub-ihealth-cloud`, which sends a connector's requests to iHealth; it starts at the first request, and again after it has ended.
///
/// Secrets go to its stdin, never into its arguments or environment. It ends with this value, and with this process.
final class CloudProgram: Sendable {
    static let name = "hub-ihealth-cloud"

    private let conversation: CloudSession

    /// - Parameter folder: the folder of the program; `nil` for the folder of the running executable.
    /// - Throws: ``PluginFailure`` if the program is missing.
    init(in folder: String? = nil) throws(PluginFailure) {
        let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let folder = folder.map { URL(filePath: $0) } ?? URL(filePath: own ?? "").deletingLastPathComponent()
        let program = folder.appending(path: CloudProgram.name)
        guard FileManager.default.isExecutableFile(atPath: program.path) else {
            throw PluginFailure(
                .failed,
                "auth_mode = \"openapi\" needs \(program.path), which is not there or is not executable: make build "
                    + "makes it; put it there")
        }
        conversation = CloudSession(program)
    }

    deinit { conversation.end() }

    /// Sends a request and returns the service's answer, with any status.
    ///
    /// - Throws: ``NoAnswer``; `CancellationError`.
    func ask(
        _ address: ServiceAddress, _ path: String, query: [(name: String, value: String)] = [], attempts: Int = 1
    ) async throws -> (status: Int, body: [UInt8]) {
        let question = CloudDialogue.Question(
            id: conversation.number(), address: address.text, path: path, query: query.map { [$0.name, $0.value] },
            attempts: attempts)
        let answer = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { conversation.put(question, $0) }
        } onCancel: {
            conversation.answer(question.id, .failure(CancellationError()))
        }
        guard let status = answer.status, let body = answer.body else {
            throw NoAnswer(description: answer.reason ?? "it said nothing")
        }
        return (status, Array(body))
    }

    /// The reason why there is no answer; contains neither token nor query.
    struct NoAnswer: Error, CustomStringConvertible {
        let description: String
    }
}

/// The open requests, and the process that answers them.
private final class CloudSession: Sendable {
    typealias Waiting = CheckedContinuation<CloudDialogue.Answer, any Error>

    private struct State {
        var number = 0
        /// The stdin of the process.
        var input: FileHandle?
        /// The waiting requests by id, with the stdin to which each was written.
        var waiting: [Int: (input: FileHandle, waiting: Waiting)] = [:]
    }

    private let program: URL
    private let state = Mutex(State())

    init(_ program: URL) { self.program = program }

    func number() -> Int {
        state.withLock { state in
            state.number += 1
            return state.number
        }
    }

    func put(_ question: CloudDialogue.Question, _ waiting: Waiting) {
        let failure: (any Error)? = state.withLock { state in
            guard !Task.isCancelled else { return CancellationError() }
            do {
                let line = try JSONEncoder().encode(question) + [UInt8(ascii: "\n")]
                let input = try write(line, to: state.input)
                state.input = input
                state.waiting[question.id] = (input, waiting)
                return nil
            } catch {
                return CloudProgram.NoAnswer(description: "\(program.path) cannot be asked: \(error)")
            }
        }
        if let failure { waiting.resume(throwing: failure) }
    }

    func answer(_ id: Int, _ answer: Result<CloudDialogue.Answer, any Error>) {
        state.withLock { $0.waiting.removeValue(forKey: id) }?.waiting.resume(with: answer)
    }

    func end() { try? state.withLock { $0.input.take() }?.close() }

    /// - Returns: the stdin to which it was written, of a new process if the old one has ended.
    private func write(_ line: Data, to old: FileHandle?) throws -> FileHandle {
        if let old, (try? old.write(contentsOf: line)) != nil { return old }
        let input = try start()
        try input.write(contentsOf: line)
        return input
    }

    private func start() throws -> FileHandle {
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = program
        process.environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("HUB_") }
        (process.standardInput, process.standardOutput) = (input, output)
        // If another child inherited this end, the program's stdin would not end with this process.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try process.run()
        let (lines, own) = (output.fileHandleForReading, input.fileHandleForWriting)
        Thread { self.read(lines, until: own) }.start()
        return own
    }

    private func read(_ output: FileHandle, until input: FileHandle) {
        var line = Data()
        while case let bytes = output.availableData, !bytes.isEmpty {
            line += bytes
            while let end = line.firstIndex(of: UInt8(ascii: "\n")) {
                if let answer = try? JSONDecoder().decode(CloudDialogue.Answer.self, from: line[..<end]) {
                    self.answer(answer.id, .success(answer))
                }
                line = Data(line[line.index(after: end)...])
            }
        }
        let left = state.withLock { state in
            if state.input === input { state.input = nil }
            let left = state.waiting.filter { $0.value.input === input }
            for id in left.keys { state.waiting[id] = nil }
            return left
        }
        for (_, waiting) in left.values {
            waiting.resume(throwing: CloudProgram.NoAnswer(description: "\(program.path) ended before it answered"))
        }
    }
}
