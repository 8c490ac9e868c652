import Foundation
import HubClient
import Platform

/// The target of an export: stdout, or a file that gets its name once it is complete.
final class ExportTarget {
    private let file: OutputFile?
    private let replacing: Bool
    private var waiting: [UInt8] = []
    private static let piece = 1 << 18

    /// - Parameter path: `nil` for stdout.
    init(_ path: String?, replacing: Bool) throws(Failure) {
        self.replacing = replacing
        guard let path else {
            file = nil
            return
        }
        if !replacing, access(path, F_OK) == 0 { throw ExportTarget.taken(path) }
        do throws(FileError) { file = try OutputFile(path) } catch { throw Failure(.system, error.description) }
    }

    static func taken(_ path: String) -> Failure {
        Failure(.usage, "\(path): there is such a file already; take another name, or say --replace")
    }

    /// The path of the draft, for a library that writes to it directly; `nil` for stdout.
    var draft: String? { file?.draft }

    /// Appends to the output buffer.
    func write(_ body: (inout [UInt8]) throws -> Void) throws {
        try body(&waiting)
        if waiting.count >= ExportTarget.piece { try flush() }
    }

    private func flush() throws {
        if let file {
            do throws(FileError) { try file.write(waiting) } catch { throw Failure(.system, error.description) }
        } else {
            try Terminal.write(waiting[...], to: STDOUT_FILENO)
        }
        waiting.removeAll(keepingCapacity: true)
    }

    /// Completes the output: the file gets its name.
    func finish() throws {
        try flush()
        guard let file else { return }
        let isNew: Bool
        do throws(FileError) { isNew = try file.publish(replacing: replacing) } catch {
            throw Failure(.system, error.description)
        }
        if !isNew { throw ExportTarget.taken(file.path) }
    }
}
