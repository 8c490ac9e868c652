import Glibc
import HubWire
import Logging
import Synchronization

/// The log file of one instance: appended to, and rotated by size, so that all files together never exceed ``PluginLogFiles/bound``.
final class PluginLog: Sendable {
    private struct State {
        var file: CInt = -1
        var size = 0
        var isBroken = false
    }
    private let state = Mutex(State())
    private let path: String
    private let fileSize: Int
    private let logger: Logger

    /// - Parameters:
    ///   - path: the path of the newest file; its folder must exist.
    ///   - fileSize: the bytes after which the file becomes `PATH.1`.
    init(path: String, fileSize: Int = PluginLogFiles.fileSize, logger: Logger) {
        (self.path, self.fileSize, self.logger) = (path, fileSize, logger)
    }

    deinit { state.withLock { if $0.file >= 0 { close($0.file) } } }

    /// Appends a line; may be called from any thread.
    ///
    /// A disk that fails is logged once; the plugin continues without its log.
    func write(_ text: String, from: LogLine.Origin, level: String? = nil) {
        let line = LogLine(text, from: from, level: level, at: HubClock.system.now())
        let bytes = Array((line.line + "\n").utf8)
        state.withLock { state in
            if state.file < 0 { open(&state) }
            if state.file >= 0, state.size > 0, state.size + bytes.count > fileSize { rotate(&state) }
            let written = state.file < 0 ? -1 : bytes.withUnsafeBytes { Self.write($0, to: state.file) }
            if written == bytes.count {
                state.size += written
                state.isBroken = false
            } else if !state.isBroken {
                state.isBroken = true
                logger.error(
                    "a plugin's log cannot be written",
                    metadata: ["file": "\(path)", "reason": "\(String(cString: strerror(errno)))"])
            }
        }
    }

    private func open(_ state: inout State) {
        state.file = systemOpen(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        var facts = stat()
        state.size = state.file >= 0 && fstat(state.file, &facts) == 0 ? Int(facts.st_size) : 0
    }

    /// Begins a new file; if the full one cannot be renamed, there is no file until a later line finds that it can.
    private func rotate(_ state: inout State) {
        close(state.file)
        state.file = -1
        for number in stride(from: PluginLogFiles.older, to: 1, by: -1) {
            rename("\(path).\(number - 1)", "\(path).\(number)")
        }
        if rename(path, "\(path).1") == 0 { open(&state) }
    }

    private static func write(_ bytes: UnsafeRawBufferPointer, to file: CInt) -> Int {
        while true {
            let count = systemWrite(file, bytes.baseAddress, bytes.count)
            if count >= 0 || errno != EINTR { return count }
        }
    }
}

private func systemOpen(_ path: String, _ flags: CInt, _ mode: mode_t) -> CInt { open(path, flags, mode) }
private func systemWrite(_ file: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }

/// The locations of the plugins' logs.
public struct PluginLogFiles: Sendable {
    /// Bytes of a file before it is rotated.
    public static let fileSize = 1 << 20
    /// Files beside the newest: `NAME.log.1` to `NAME.log.4`.
    public static let older = 4
    /// Maximum bytes of all files of an instance together.
    public static let bound = fileSize * (older + 1)

    /// The folder.
    public let folder: String

    /// - Parameter data: the hub's data directory.
    public init(data: String) { folder = "\(data)/logs" }

    /// The newest file of an instance.
    public func newest(of instance: String) -> String { "\(folder)/\(instance).log" }

    /// All possible files of an instance, the oldest first.
    public func all(of instance: String) -> [String] {
        (1...Self.older).reversed().map { "\(newest(of: instance)).\($0)" } + [newest(of: instance)]
    }
}
