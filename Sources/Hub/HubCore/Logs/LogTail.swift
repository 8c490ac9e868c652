import Foundation
import Glibc
import HubWire
import Synchronization

/// Reads the end of an instance's log on a separate thread, because a call to an unresponsive disk does not return.
struct LogTail: Sendable {
    let files: PluginLogFiles
    let instance: String
    /// Maximum number of lines.
    let limit: Int
    /// Only lines from this time on, in the format of a line's time; `nil` for all.
    let start: String?

    /// Maximum number of blocked threads; above it, no log is read until a thread is released.
    private static let maximumHeld = 4
    private static let held = Atomic(0)

    /// The last lines within the limits; `nil` if the instance has no log.
    ///
    /// - Throws: `store` if the disk does not answer.
    func page(within patience: Duration = .seconds(5)) async throws(WireError) -> LogPage? {
        let (found, isDone) = (Found(), Latch())
        guard Self.held.load(ordering: .relaxed) < Self.maximumHeld else { throw Self.silence }
        Self.held.add(1, ordering: .relaxed)
        Thread.detachNewThread {
            let page = read()
            found.value.withLock { $0 = .some(page) }
            Self.held.subtract(1, ordering: .relaxed)
            isDone.raise()
        }
        await isDone.wait(upTo: patience)
        guard let page = found.value.withLock({ $0 }) else { throw Self.silence }
        return page
    }

    private static let silence = WireError(
        .store, "QUERY: the disk with the logs of plugins does not answer; see dmesg and mount", closed: false)

    private final class Found: Sendable {
        let value = Mutex<LogPage??>(nil)
    }

    /// Reads backwards from the newest line, only as far as needed.
    func read() -> LogPage? {
        var (lines, bytes, seen): ([LogLine], Int, Set<ino_t>) = ([], 0, [])
        var isThere = false
        for path in files.all(of: instance).reversed() {
            let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
            guard file >= 0 else { continue }
            defer { close(file) }
            var facts = stat()
            // A file that was renamed meanwhile has been read under its former name.
            guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, seen.insert(facts.st_ino).inserted else {
                continue
            }
            isThere = true
            // One byte more, to see whether a line begins at the first byte of the limit.
            let room = LogPage.maximumBytes - bytes + 2
            let begin = max(0, Int(facts.st_size) - room)
            let text = Self.bytes(of: file, from: begin, count: Int(facts.st_size) - begin)
            var parts = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
            // The last line may still be incomplete, and the first one may begin before these bytes.
            parts = parts.dropLast()
            if begin > 0 { parts = parts.dropFirst() }
            for part in parts.reversed() {
                guard let line = LogLine(reading: String(decoding: part, as: UTF8.self)) else { continue }
                if let start, line.time < start { return page(lines, more: false) }
                guard lines.count < limit, bytes + part.count < LogPage.maximumBytes else {
                    return page(lines, more: true)
                }
                lines.append(line)
                bytes += part.count + 1
            }
            if begin > 0 { return page(lines, more: true) }
        }
        return isThere ? page(lines, more: false) : nil
    }

    private func page(_ lines: [LogLine], more: Bool) -> LogPage {
        LogPage(instance: instance, lines: lines.reversed(), more: more)
    }

    private static func bytes(of file: CInt, from begin: Int, count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let part = pread(file, buffer.baseAddress.map { $0 + filled }, count - filled, begin + filled)
                if part < 0, errno == EINTR { continue }
                guard part > 0 else { return }
                filled += part
            }
        }
    }
}
