import NIOCore
import PluginKit

/// Encodes messages of Server-Sent Events.
enum EventText {
    /// - Parameters:
    ///   - id: the position from which a listener resumes; without it the position stays.
    ///   - data: JSON without line breaks.
    static func event(_ name: StaticString, id: Cursor? = nil, data: some Collection<UInt8>) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: data.count + 64)
        buffer.writeString("event: ")
        buffer.writeStaticString(name)
        if let id { buffer.writeString("\nid: \(id)") }
        buffer.writeString("\ndata: ")
        buffer.writeBytes(data)
        buffer.writeString("\n\n")
        return buffer
    }

    /// The beginning of a stream: its position, and the reconnection time.
    static func opening(at cursor: Cursor) -> ByteBuffer { ByteBuffer(string: "retry: 2000\nid: \(cursor)\n\n") }

    /// Moves the listener's position without an event.
    static func mark(_ cursor: Cursor) -> ByteBuffer { ByteBuffer(string: "id: \(cursor)\n\n") }

    /// Shows that the connection is alive.
    static let heartbeat = ByteBuffer(string: ":\n\n")
}
