import Foundation
package import HubWire

/// Reads the log files of an instance and the lines that are added later, across rotations.
package struct LogReader {
    private let paths: [String]
    private var file: FileHandle?
    private var rest: [UInt8] = []
    /// Whether there was any file.
    package private(set) var exists = false

    package init(files: PluginLogFiles, instance: String) { paths = files.all(of: instance) }

    /// Returns all lines at first, and the new lines after that.
    package mutating func read() -> [LogLine] {
        var lines: [LogLine] = []
        if !exists {
            for path in paths.dropLast() {
                guard let bytes = FileManager.default.contents(atPath: path) else { continue }
                exists = true
                lines += take(Array(bytes))
            }
            open()
        }
        guard let current = file else { return lines }
        lines += take((try? current.readToEnd()).map(Array.init) ?? [])
        if isRotated(current) {
            // Lines that were written between our read and the renaming.
            lines += take((try? current.readToEnd()).map(Array.init) ?? [])
            open()
            lines += take((try? file?.readToEnd()).flatMap { $0 }.map(Array.init) ?? [])
        }
        return lines
    }

    private mutating func open() {
        file = paths.last.flatMap { FileHandle(forReadingAtPath: $0) }
        if file != nil { exists = true }
    }

    private func isRotated(_ current: FileHandle) -> Bool {
        var (ours, newest) = (stat(), stat())
        guard fstat(current.fileDescriptor, &ours) == 0, let path = paths.last, stat(path, &newest) == 0 else {
            return false
        }
        return ours.st_ino != newest.st_ino
    }

    private mutating func take(_ bytes: [UInt8]) -> [LogLine] {
        rest += bytes
        var lines: [LogLine] = []
        let parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for part in parts.dropLast() {
            if let line = LogLine(reading: String(decoding: part, as: UTF8.self)) { lines.append(line) }
        }
        rest = parts.last.map(Array.init) ?? []
        return lines
    }
}
