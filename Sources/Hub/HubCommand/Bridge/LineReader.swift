import Dispatch
import Glibc
import Synchronization

/// The lines of a stream, read on demand.
///
/// Lines that are not requested wait in the pipe and block the program that writes them, so memory does not grow with the stream.
package final class LineReader: Sendable {
    package struct Line: Sendable {
        /// The number of the line, from 1.
        package let number: Int
        /// The bytes without the line end; empty if the line is too long.
        package let bytes: [UInt8]
        package let isTooLong: Bool
    }

    /// Maximum bytes of a line; longer lines are skipped.
    package static let longest = 1_000_000
    /// Maximum number of lines, and approximate maximum of bytes, that are returned at a time.
    private static let (linesAtOnce, bytesAtOnce) = (1_000, 262_144)

    private let descriptor: CInt
    /// A pipe that is polled beside the stream; a byte in it ends the wait for more input.
    private let wake: (reading: CInt, writing: CInt)
    private let state = Mutex(State())
    private let isFinishing = Atomic(false)
    private let queue = DispatchQueue(label: "lines")

    package init(_ descriptor: CInt) {
        self.descriptor = descriptor
        var ends: [CInt] = [-1, -1]
        _ = pipe(&ends)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        wake = (ends[0], ends[1])
    }

    deinit {
        close(wake.reading)
        close(wake.writing)
    }

    /// Returns all lines that are available, or waits for the next one; nil at the end of the stream, and once the task is cancelled.
    package func next() async -> [Line]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { [self] in continuation.resume(returning: state.withLock { $0.next(self) }) }
            }
        } onCancel: {
            stop()
        }
    }

    /// Why the stream could not be read to its end, if it ended with a read error.
    package var failure: String? { state.withLock(\.failure) }

    /// Stops reading.
    package func stop() { _ = write(wake.writing, [0] as [UInt8], 1) }

    /// Reads the remaining input without waiting for more, and treats its end as the end of the stream.
    package func finish() {
        isFinishing.store(true, ordering: .sequentiallyConsistent)
        stop()
    }

    private struct State {
        private var ready: [Line] = []
        /// The bytes of the line whose end has not been read.
        private var rest: [UInt8] = []
        private var isTooLong = false
        private var count = 0
        private var isAtEnd = false
        private(set) var failure: String?
        /// Maximum bytes to read after `finish`; far more than a pipe can hold.
        private var lastBytes = 4_194_304

        mutating func next(_ reader: LineReader) -> [Line]? {
            while !isAtEnd, ready.count < LineReader.linesAtOnce,
                ready.reduce(0, { $0 + $1.bytes.count }) < LineReader.bytesAtOnce
            {
                let isFinishing = reader.isFinishing.load(ordering: .sequentiallyConsistent)
                var files = [pollfd(fd: reader.descriptor, events: Int16(POLLIN), revents: 0)]
                files.append(pollfd(fd: reader.wake.reading, events: Int16(POLLIN), revents: 0))
                let found = poll(&files, 2, ready.isEmpty ? -1 : 0)
                if found < 0, errno == EINTR { continue }
                if files[1].revents != 0, !isFinishing {
                    if reader.isFinishing.load(ordering: .sequentiallyConsistent) { continue }
                    // Lines that were already read are returned first.
                    if ready.isEmpty { return nil }
                    break
                }
                if isFinishing, files[0].revents == 0 || lastBytes <= 0 {
                    endStream()
                } else if found > 0 {
                    let taken = read(reader.descriptor)
                    if isFinishing { lastBytes -= taken }
                } else {
                    break
                }
            }
            guard !ready.isEmpty else { return nil }
            let lines = Array(ready.prefix(LineReader.linesAtOnce))
            ready.removeFirst(lines.count)
            return lines
        }

        private mutating func endStream() {
            isAtEnd = true
            if !rest.isEmpty || isTooLong { endLine() }
        }

        /// - Returns: the number of bytes that were read.
        private mutating func read(_ file: CInt) -> Int {
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let taken = Glibc.read(file, &bytes, bytes.count)
            if taken < 0, errno == EINTR || errno == EAGAIN { return 0 }
            guard taken > 0 else {
                if taken < 0 { failure = String(cString: strerror(errno)) }
                endStream()
                return 0
            }
            var pieces = bytes[..<taken].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let last = pieces.removeLast()
            for piece in pieces {
                add(piece)
                endLine()
            }
            add(last)
            return taken
        }

        private mutating func add(_ piece: ArraySlice<UInt8>) {
            guard !isTooLong else { return }
            isTooLong = rest.count + piece.count > LineReader.longest
            if isTooLong { rest = [] } else { rest += piece }
        }

        private mutating func endLine() {
            count += 1
            if rest.last == UInt8(ascii: "\r") { rest.removeLast() }
            ready.append(Line(number: count, bytes: rest, isTooLong: isTooLong))
            (rest, isTooLong) = ([], false)
        }
    }
}
