import CZeroMQ
import Glibc

/// One frame: a run of bytes that libzmq owns, with the properties of the connection it came over.
///
/// Frames of up to 33 bytes (libzmq 4.3.4, 64-bit) are stored in the 64 bytes of this value itself. A longer frame costs
/// one allocation, and is never copied again on its way through a process. A message has one owner; it may move to
/// another thread.
public struct Message: ~Copyable, @unchecked Sendable {
    /// Inside the struct, so that a small frame costs no allocation.
    ///
    /// Moving it is a plain copy of bytes: libzmq keeps no pointer to it.
    var raw = zmq_msg_t()

    /// An empty frame.
    public init() {
        zmq_msg_init(&raw)
    }

    /// Takes ownership of a `zmq_msg_t`.
    init(owning raw: zmq_msg_t) {
        self.raw = raw
    }

    /// A frame of `size` bytes that `fill` writes in place: the way to build a large frame without a second copy.
    ///
    /// `fill` gets the bytes uninitialised and must write every one. Traps when memory is exhausted, as `Array` does.
    public init<E: Error>(size: Int, fill: (UnsafeMutableRawBufferPointer) throws(E) -> Void) throws(E) {
        precondition(zmq_msg_init_size(&raw, size) == 0, "no memory for a frame of \(size) bytes")
        try fill(UnsafeMutableRawBufferPointer(start: zmq_msg_data(&raw), count: size))
    }

    /// A copy of `bytes`.
    public init(_ bytes: UnsafeRawBufferPointer) {
        self.init(size: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// A copy of `bytes`.
    public init(_ bytes: borrowing Span<UInt8>) {
        self.init(owning: bytes.withUnsafeBytes { Message($0).release() })
    }

    /// A copy of `bytes`.
    public init(_ bytes: [UInt8]) {
        self.init(owning: bytes.withUnsafeBytes { Message($0).release() })
    }

    /// The UTF-8 of `text`.
    public init(_ text: String) {
        var text = text
        self.init(owning: text.withUTF8 { Message(UnsafeRawBufferPointer($0)).release() })
    }

    deinit {
        var raw = raw
        zmq_msg_close(&raw)
    }

    /// Returns the content without freeing it.
    consuming func release() -> zmq_msg_t {
        let raw = raw
        discard self
        return raw
    }

    /// Number of bytes.
    public var count: Int {
        withUnsafePointer(to: raw) { zmq_msg_size($0) }
    }

    /// Whether the frame is empty.
    public var isEmpty: Bool { count == 0 }

    /// Whether more frames of the same received message follow.
    ///
    /// False for a message that was not received.
    public var hasMore: Bool {
        withUnsafePointer(to: raw) { zmq_msg_more($0) != 0 }
    }

    /// Lends the bytes for the length of `body`.
    public func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try raw.withBytes { (bytes) throws(E) -> R in try body(bytes.bindMemory(to: UInt8.self).span) }
    }

    /// Lends the bytes as raw memory for the length of `body`, for parsers that read through pointers.
    public func withUnsafeBytes<R: ~Copyable, E: Error>(
        _ body: (UnsafeRawBufferPointer) throws(E) -> R
    ) throws(E) -> R {
        try raw.withBytes(body)
    }

    /// A copy of the bytes.
    public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

    /// The bytes as text, or `nil` if they are not valid UTF-8.
    ///
    /// Invalid bytes are not replaced.
    public var text: String? { withUnsafeBytes { String(validating: $0, as: UTF8.self) } }

    /// A second message with the same content.
    ///
    /// Content longer than an inline frame is shared and counted, not copied, so sending one built frame to many peers
    /// costs one allocation in all.
    ///
    /// Mutating because libzmq marks the original as shared; its bytes do not change.
    public mutating func copy() -> Message {
        var copy = Message()
        let result = zmq_msg_copy(&copy.raw, &raw)
        precondition(result == 0, "zmq_msg_copy fails only for a damaged message")
        return copy
    }

    /// A property of the connection the frame came over, or nil: `User-Id` (as the ZAP handler named the peer),
    /// `Peer-Address`, `Socket-Type`, `Routing-Id`.
    ///
    /// The routing id in front of a ROUTER's message may lack the properties: read them from a frame that the peer sent.
    public func property(_ name: String) -> String? {
        raw.property(name)
    }
}

extension zmq_msg_t {
    /// Lends the bytes.
    ///
    /// A small frame's bytes live in `self`, which this call keeps in place.
    func withBytes<R: ~Copyable, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        try withUnsafePointer(to: self) { (raw) throws(E) -> R in
            // zmq_msg_data takes a mutable pointer because callers may write; it changes nothing itself.
            let start = zmq_msg_data(UnsafeMutablePointer(mutating: raw))
            return try body(UnsafeRawBufferPointer(start: start, count: zmq_msg_size(raw)))
        }
    }

    func property(_ name: String) -> String? {
        withUnsafePointer(to: self) { raw in zmq_msg_gets(raw, name).map { String(cString: $0) } }
    }

    /// Whether a property is this text; a missing property counts as empty.
    func property(_ name: StaticString, is text: String) -> Bool {
        let found = withUnsafePointer(to: self) { raw in
            name.withUTF8Buffer { name in
                name.withMemoryRebound(to: CChar.self) { name in zmq_msg_gets(raw, name.baseAddress) }
            }
        }
        guard let found else { return text.isEmpty }
        return text.withCString { strcmp($0, found) == 0 }
    }
}
