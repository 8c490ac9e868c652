import NIOCore
import PluginKit

/// Messages of a stream of events, as the standard of Server-Sent Events writes them.
enum EventText {
    /// - Parameters:
    ///   - id: from which the listener goes on after a break; without one its place stays.
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

    /// What a stream begins with: its place, and after which time to come again.
    static func opening(at cursor: Cursor) -> ByteBuffer { ByteBuffer(string: "retry: 2000\nid: \(cursor)\n\n") }

    /// Moves the listener's place, with nothing to tell.
    static func mark(_ cursor: Cursor) -> ByteBuffer { ByteBuffer(string: "id: \(cursor)\n\n") }

    /// Shows that the connection lives.
    static let heartbeat = ByteBuffer(string: ":\n\n")
}
