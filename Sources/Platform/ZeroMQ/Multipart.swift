import CZeroMQ

/// The frames of one message, owned together: sent all or none, received within limits.
///
/// Or the frames of several messages of as many frames each: ``Socket/sendMessages(_:framesEach:)``.
///
/// Keep one per socket and let ``Socket/receiveMultipart(into:maxFrames:maxBytes:)`` refill it: its array is allocated
/// once, and frames come and go in place.
public struct Multipart: ~Copyable, @unchecked Sendable {
    /// The libzmq messages of the frames; those from `count` on are empty and can be reused.
    ///
    /// Allocated memory instead of an array, because libzmq accesses the frames in place, many times for each message.
    private var slots = UnsafeMutableBufferPointer<zmq_msg_t>(start: nil, count: 0)

    /// Number of frames.
    public private(set) var count = 0

    /// No frames.
    ///
    /// A message needs at least one before it can be sent.
    public init() {}

    deinit {
        for index in slots.indices { zmq_msg_close(at(index)) }
        slots.deallocate()
    }

    /// Whether there is no frame.
    public var isEmpty: Bool { count == 0 }

    /// Bytes of all frames together.
    public private(set) var byteCount = 0

    /// Adds a frame at the end.
    public mutating func append(_ frame: consuming Message) {
        let slot = nextSlot()
        slot.pointee = frame.release()
        added(slot)
    }

    /// Adds a frame of `size` bytes that `fill` writes in place, as ``Message/init(size:fill:)`` does.
    public mutating func append(size: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        let slot = nextSlot()
        precondition(zmq_msg_init_size(slot, size) == 0, "no memory for a frame of \(size) bytes")
        fill(UnsafeMutableRawBufferPointer(start: zmq_msg_data(slot), count: size))
        count += 1
        byteCount += size
    }

    /// Adds a copy of `bytes` as a frame at the end.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) {
        append(size: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Adds a copy of `bytes` as a frame at the end.
    public mutating func append(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Adds a copy of `bytes` as a frame at the end.
    public mutating func append(_ bytes: ArraySlice<UInt8>) {
        bytes.withUnsafeBytes { append($0) }
    }

    /// Adds the UTF-8 of `text` as a frame at the end.
    public mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Adds second frames with the same content as those of `others`, shared and counted as ``Message/copy()`` does.
    ///
    /// `others` is marked as shared by libzmq; its bytes do not change.
    public mutating func append(copyOf others: inout Multipart) {
        for index in 0..<others.count {
            let slot = nextSlot()
            let result = zmq_msg_copy(slot, others.at(index))
            precondition(result == 0, "zmq_msg_copy fails only for a damaged message")
            count += 1
        }
        byteCount += others.byteCount
    }

    /// Drops all frames and keeps the room for new ones.
    public mutating func removeAll() { shrink(to: 0) }

    /// Frees the frames from `kept` on.
    mutating func shrink(to kept: Int) {
        while count > kept {
            count -= 1
            byteCount -= zmq_msg_size(at(count))
            zmq_msg_close(at(count))
            zmq_msg_init(at(count))
        }
    }

    /// Lends frame `index` for sending, which leaves it empty.
    mutating func withFrame<R, E: Error>(_ index: Int, _ body: (inout zmq_msg_t) throws(E) -> R) throws(E) -> R {
        try body(&at(index).pointee)
    }

    /// All frames have been sent.
    mutating func setEmpty() { (count, byteCount) = (0, 0) }

    /// Lets `body` append a frame and return its size; `nil` if there is none.
    mutating func appendFrame<E: Error>(_ body: (inout zmq_msg_t) throws(E) -> Int?) throws(E) -> Int? {
        guard let size = try body(&nextSlot().pointee) else { return nil }
        count += 1
        byteCount += size
        return size
    }

    /// Whether the message of the last frame has more frames.
    var hasMore: Bool { zmq_msg_more(at(count - 1)) != 0 }

    private mutating func added(_ slot: UnsafeMutablePointer<zmq_msg_t>) {
        count += 1
        byteCount += zmq_msg_size(slot)
    }

    /// The slot for the next frame: an empty message, which holds no resource to be closed.
    private mutating func nextSlot() -> UnsafeMutablePointer<zmq_msg_t> {
        if count == slots.count { makeRoom() }
        return at(count)
    }

    private mutating func makeRoom() {
        let wider = UnsafeMutableBufferPointer<zmq_msg_t>.allocate(capacity: max(4, 2 * count))
        // Moving a message is a plain copy of bytes: libzmq keeps no pointer to it.
        let moved = wider.moveInitialize(fromContentsOf: slots)
        for index in moved..<wider.count {
            wider.initializeElement(at: index, to: zmq_msg_t())
            zmq_msg_init(&wider[index])
        }
        slots.deallocate()
        slots = wider
    }

    /// The bytes of frame `index`, which must exist; valid until this message is changed or ends.
    ///
    /// Use it in code that inspects every message; otherwise use ``withBytes(of:_:)``.
    public func unsafeBytes(of index: Int) -> UnsafeRawBufferPointer {
        precondition(index < count, "no frame \(index)")
        return UnsafeRawBufferPointer(start: zmq_msg_data(at(index)), count: zmq_msg_size(at(index)))
    }

    func at(_ index: Int) -> UnsafeMutablePointer<zmq_msg_t> {
        guard let start = slots.baseAddress, slots.indices.contains(index) else {
            preconditionFailure("no frame \(index)")
        }
        return start + index
    }

    /// Takes the first frame out, such as the routing id of a message from a ROUTER; nil when there is none.
    ///
    /// Moves the others up.
    public mutating func popFirst() -> Message? {
        guard count > 0 else { return nil }
        let first = slots[0]
        byteCount -= zmq_msg_size(at(0))
        for index in 1..<count { slots[index - 1] = slots[index] }
        count -= 1
        zmq_msg_init(at(count))  // Its content has been moved.
        return Message(owning: first)
    }

    /// Lends the bytes of frame `index`, which must exist.
    public func withBytes<R: ~Copyable, E: Error>(of index: Int, _ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R {
        try body(unsafeBytes(of: index).bindMemory(to: UInt8.self).span)
    }

    /// A copy of the bytes of frame `index`, which must exist.
    public func bytes(of index: Int) -> [UInt8] { Array(unsafeBytes(of: index)) }

    /// Frame `index`, which must exist, as text, or nil if it is not valid UTF-8.
    public func text(of index: Int) -> String? {
        String(validating: unsafeBytes(of: index), as: UTF8.self)
    }

    /// A second message with the same content, shared and counted as ``Message/copy()`` does.
    public mutating func copy() -> Multipart {
        var copy = Multipart()
        copy.append(copyOf: &self)
        return copy
    }

    /// A property of the connection the message came over; see ``Message/property(_:)``.
    ///
    /// It is taken from the last frame. The routing id, which a ROUTER itself puts in front, does not always have the
    /// properties: libzmq 4.3.4 leaves them out if the socket was polled before.
    public func property(_ name: String) -> String? {
        count > 0 ? at(count - 1).pointee.property(name) : nil
    }

    /// Whether the property equals `text`; for `nil`, whether the connection has no such property or an empty one.
    ///
    /// It creates no `String`, because it is called for every message.
    public func property(_ name: StaticString, is text: String?) -> Bool {
        count > 0 ? at(count - 1).pointee.property(name, is: text ?? "") : text == nil
    }
}
