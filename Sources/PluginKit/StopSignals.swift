import Dispatch

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// SIGTERM, SIGINT and, for a launched plugin, the end of stdin, as one stream.
///
/// Also has the process survive a write to a pipe that nobody reads, as stderr is once the hub was killed.
struct StopSignals {
    let requests: AsyncStream<StopRequest>
    private let sources: [any DispatchSourceProtocol]

    init(watchingInput: Bool) {
        signal(SIGPIPE, SIG_IGN)
        let (requests, tell) = AsyncStream<StopRequest>.makeStream(bufferingPolicy: .bufferingOldest(4))
        let queue = DispatchQueue(label: "stop-signals")
        var sources: [any DispatchSourceProtocol] = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)  // Else it would end the process before the source sees it.
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { tell.yield(.asked) }
            return source
        }
        if watchingInput {
            let source = DispatchSource.makeReadSource(fileDescriptor: STDIN_FILENO, queue: queue)
            source.setEventHandler {
                var bytes = [UInt8](repeating: 0, count: 4_096)
                let count = read(STDIN_FILENO, &bytes, bytes.count)
                if count > 0 || (count == -1 && (errno == EINTR || errno == EAGAIN)) { return }
                source.cancel()
                tell.yield(.hubGone)
            }
            sources.append(source)
        }
        for source in sources { source.activate() }
        (self.requests, self.sources) = (requests, sources)
    }
}
