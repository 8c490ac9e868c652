import Dispatch
import Foundation
import HubClient
import HubWire
package import JSON
import Synchronization

/// Writes lines of JSON to a stream; a slow reader blocks the writer.
package final class LineWriter: Sendable {
    private let descriptor: CInt
    private let isTerminal: Bool
    private let queue = DispatchQueue(label: "answers")
    private let isClosed = Atomic(false)

    package init(_ descriptor: CInt) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    /// Returns once the system has taken all lines.
    ///
    /// - Throws: `OutputClosed` if the reader has closed the stream.
    package func write(_ lines: [JSONTree]) async throws { try await write(raw: lines.map(\.bytes)) }

    /// The same for lines that are JSON already.
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
                        if isClosed.load(ordering: .relaxed) { throw OutputClosed() }
                        try Terminal.write(all[...], to: descriptor)
                    })
            }
        }
    }

    /// Closes the stream; the reader gets everything written before, and nothing that is written later.
    package func close() {
        queue.async { [self] in
            guard !isClosed.exchange(true, ordering: .relaxed) else { return }
            _ = Foundation.close(descriptor)
        }
    }

    /// Returns when the reader has gone, even if there is no line to write.
    package func waitUntilReaderCloses() async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [descriptor] in
                // Without any requested events, the kernel still reports a hang-up and an error.
                var file = pollfd(fd: descriptor, events: 0, revents: 0)
                while poll(&file, 1, -1) < 0, errno == EINTR {}
                continuation.resume()
            }
        }
    }
}
