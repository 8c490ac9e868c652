import Foundation
import Glibc

/// An append-only file of JSON lines, each flushed to the disk before the program goes on: the only evidence that the judge trusts.
public final class Diary<Line: Codable & Sendable>: Sendable {
    private let descriptor: CInt

    /// Opens the file for more lines; an incomplete last line of a killed writer is cut off.
    public init(_ path: String) throws {
        descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw DiaryError(path: path, number: errno) }
        let whole = try Data(contentsOf: URL(filePath: path)).lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        guard ftruncate(descriptor, off_t(whole)) == 0 else { throw DiaryError(path: path, number: errno) }
    }

    deinit { close(descriptor) }

    /// Returns after the line is on the disk.
    public func write(_ line: Line) throws {
        let bytes = try JSONEncoder().encode(line) + [UInt8(ascii: "\n")]
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count, fdatasync(descriptor) == 0 else { throw DiaryError(path: "diary", number: errno) }
    }

    /// All complete lines of a file; none if the file does not exist.
    public static func lines(_ path: String) throws -> [Line] {
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let parts = try Data(contentsOf: URL(filePath: path)).split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        return try parts.dropLast().map { try JSONDecoder().decode(Line.self, from: $0) }
    }
}

public struct DiaryError: Error, CustomStringConvertible {
    let path: String
    let number: CInt
    public var description: String { "\(path): \(String(cString: strerror(number)))" }
}

/// Milliseconds since the machine was started: one clock for all diaries, which runs on evenly while the torture sets the wall clock.
public func millisecondsNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000
}
