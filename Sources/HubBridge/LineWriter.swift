import Dispatch
import Foundation
import HubClient
import HubWire
package import JSON
import Synchronization

/// Lines of JSON for a stream; a reader that takes its time holds up who writes.
package final class LineWriter: Sendable {
    private let descriptor: CInt
    private let isTerminal: Bool
    private let queue = DispatchQueue(label: "answers")
    private let isClosed = Atomic(false)

    package init(_ descriptor: CInt) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Returns when all lines are with the system.
    ///
    /// - Throws: `ReaderGone` when the reader has closed it.
    package func write(_ lines: [JSONTree]) async throws {
        try await write(raw: lines.map(\.bytes))
    }

    /// The same of lines that are JSON already.
    package func write(raw lines: [[UInt8]]) async throws {
        guard !lines.isEmpty else { return }
        var bytes: [UInt8] = []
        for line in lines {
            bytes += isTerminal ? Array(PlainText.json(String(decoding: line, as: UTF8.self)).utf8) : line
            bytes.append(UInt8(ascii: "\n"))
        }
        let all = bytes
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async { [self] in
                continuation.resume(
                    with: Result {
                        if isClosed.load(ordering: .relaxed) { throw ReaderGone() }
                        try Terminal.write(all[...], to: descriptor)
                    })
            }
        }
    }

    /// Its reader sees the end, once all that was written is read; what is written from now on has no reader.
    package func close() {
        queue.async { [self] in
            guard !isClosed.exchange(true, ordering: .relaxed) else { return }
            _ = Foundation.close(descriptor)
        }
    }

    /// Returns when its reader has gone, also where there is no line to write.
    package func untilReaderHasGone() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [descriptor] in
                // Nothing is asked for: the kernel tells of an end and an error anyway.
                var file = pollfd(fd: descriptor, events: 0, revents: 0)
                while poll(&file, 1, -1) < 0, errno == EINTR {}
                continuation.resume()
            }
        }
    }
}
