import CZeroMQ

/// The frames of one message, owned together: sent all or none, received within limits.
///
/// Keep one per socket and let ``Socket/receiveMultipart(into:maxFrames:maxBytes:)`` refill it: its array is allocated
/// once.
public struct Multipart: ~Copyable, @unchecked Sendable {
    var frames: [zmq_msg_t] = []

    /// No frames.
    ///
    /// A message needs at least one before it can be sent.
    public init() {}

    deinit {
        for frame in frames {
            var frame = frame
            zmq_msg_close(&frame)
        }
    }

    /// Number of frames.
    public var count: Int { frames.count }

    /// Whether there is no frame.
    public var isEmpty: Bool { frames.isEmpty }

    /// Bytes of all frames together.
    public var byteCount: Int {
        frames.reduce(0) { sum, frame in sum + withUnsafePointer(to: frame) { zmq_msg_size($0) } }
    }

    /// Adds a frame at the end.
    public mutating func append(_ frame: consuming Message) {
        frames.append(frame.release())
    }

    /// Adds a copy of `bytes` as a frame at the end.
    public mutating func append(_ bytes: [UInt8]) {
        append(Message(bytes))
    }

    /// Adds the UTF-8 of `text` as a frame at the end.
    public mutating func append(_ text: String) {
        append(Message(text))
    }

    /// Drops all frames and keeps the room for new ones.
    public mutating func removeAll() {
        for index in frames.indices { zmq_msg_close(&frames[index]) }
        frames.removeAll(keepingCapacity: true)
    }

    /// Takes the first frame out, such as the routing id of a message from a ROUTER; nil when there is none.
    ///
    /// Moves the others up.
    public mutating func popFirst() -> Message? {
        frames.isEmpty ? nil : Message(owning: frames.removeFirst())
    }

    /// Lends the bytes of frame `index`, which must exist.
    public func withBytes<R: ~Copyable, E: Error>(of index: Int, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try frames[index].withBytes { (bytes) throws(E) -> R in try body(bytes.bindMemory(to: UInt8.self).span) }
    }

    /// A copy of the bytes of frame `index`, which must exist.
    public func bytes(of index: Int) -> [UInt8] { frames[index].withBytes { Array($0) } }

    /// Frame `index`, which must exist, as text, or nil if it is not valid UTF-8.
    public func text(of index: Int) -> String? {
        frames[index].withBytes { String(validating: $0, as: UTF8.self) }
    }

    /// A second message with the same content, shared and counted as ``Message/copy()`` does.
    public mutating func copy() -> Multipart {
        var copy = Multipart()
        copy.frames.reserveCapacity(frames.count)
        for index in frames.indices {
            var frame = zmq_msg_t()
            zmq_msg_init(&frame)
            let result = zmq_msg_copy(&frame, &frames[index])
            precondition(result == 0, "zmq_msg_copy fails only for a damaged message")
            copy.frames.append(frame)
        }
        return copy
    }

    /// A property of the connection the message came over; see ``Message/property(_:)``.
    ///
    /// Taken from the last frame: the routing id, which a ROUTER puts in front itself, has the properties only
    /// sometimes (libzmq 4.3.4 leaves them out when the socket was polled before).
    public func property(_ name: String) -> String? {
        frames.last?.property(name)
    }
}
