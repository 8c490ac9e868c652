import Dispatch
import Foundation
import Glibc

/// Reports SIGTERM, SIGINT and, for a launched plugin, the end of stdin as one stream.
///
/// It also ignores SIGPIPE, so that the process survives a write to a pipe without a reader. stderr is such a pipe after the hub was killed.
package struct StopSignals {
    package let requests: AsyncStream<StopRequest>
    private let sources: [any DispatchSourceProtocol]

    package init(watchingInput: Bool) {
        signal(SIGPIPE, SIG_IGN)
        let (requests, tell) = AsyncStream<StopRequest>.makeStream(bufferingPolicy: .bufferingOldest(4))
        let queue = DispatchQueue(label: "stop-signals")
        let sources: [any DispatchSourceProtocol] = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)  // Otherwise the signal ends the process before the source sees it.
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { tell.yield(.asked) }
            return source
        }
        if watchingInput {
            // A thread instead of a DispatchSource: cancelling a source whose pipe has hung up is a race in libdispatch on Linux. The pending event
            // refers to a freed source. This ended one plugin in forty by SIGSEGV when its hub was gone.
            Thread.detachNewThread {
                Self.waitForEndOfInput()
                tell.yield(.hubGone)
            }
        }
        for source in sources { source.activate() }
        (self.requests, self.sources) = (requests, sources)
    }

    private static func waitForEndOfInput() {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            if poll(&input, 1, -1) == -1, errno == EINTR { continue }
            let count = read(STDIN_FILENO, &bytes, bytes.count)
            guard count > 0 || count == -1 && (errno == EINTR || errno == EAGAIN) else { return }
        }
    }
}
