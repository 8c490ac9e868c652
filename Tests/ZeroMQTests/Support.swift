import Glibc
import HubProcess
import Synchronization
import Testing
import ZeroMQ

extension TemporaryFolder {
    func endpoint(_ name: String) -> String { "ipc://\(path)/\(name)" }
}

/// A plain thread, for things that a task cannot do: block, own sockets across waits, receive signals.
final class TestThread: Sendable {
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    let id: pthread_t

    init(_ body: @escaping @Sendable () -> Void) {
        var id = pthread_t()
        let start = Unmanaged.passRetained(Start(body))
        let result = pthread_create(
            &id, nil,
            { argument in
                if let argument { Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            }, start.toOpaque())
        precondition(result == 0)
        self.id = id
    }

    func join() { pthread_join(id, nil) }
}

/// A timeout for busy machines, which only a failing test waits out.
let patience = Duration.seconds(20)

extension Socket {
    /// Waits for the next frame.
    func next() throws -> Message {
        _ = try wait(for: .readable, upTo: patience)
        let message = try receive()
        guard let message else { throw Missing() }
        return message
    }

    /// Waits for the next message and returns its frames as text.
    func nextTexts() throws -> [String] {
        var message = Multipart()
        _ = try wait(for: .readable, upTo: patience)
        guard case .complete = try receiveMultipart(into: &message) else { throw Missing() }
        return (0..<message.count).map { message.text(of: $0) ?? "\(message.bytes(of: $0))" }
    }

    /// Sends frames of text as one message.
    func sendTexts(_ texts: String...) throws -> SendOutcome {
        var message = Multipart()
        for text in texts { message.append(text) }
        return try sendMultipart(&message)
    }

    struct Missing: Error {}
}

extension SocketMonitor {
    /// Waits for the first event that `matches`.
    func next(_ matches: (ConnectionEvent.Kind) -> Bool) throws -> ConnectionEvent.Kind {
        while events.isReadable(within: patience) {
            if let event = try receive(), matches(event.kind) { return event.kind }
        }
        throw Socket.Missing()
    }
}

extension Socket {
    func isReadable(within timeout: Duration) -> Bool {
        (try? wait(for: .readable, upTo: timeout).contains(.readable)) ?? false
    }
}
