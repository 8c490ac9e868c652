/// The meaning of the second byte after the head in a frame of layout B.
public enum FrameState: Sendable, Hashable {
    /// One frame that is a whole message (`00`).
    case single
    /// A transient message that is not acknowledged (`F0`).
    case stream
    /// A fragment of a message: `remaining` counts down to 0, which is the last of `count` fragments.
    case fragment(remaining: Int, of: Int)
    /// `A0` and more: without content, the acknowledgement of this fragment; with content, an answer to a request.
    case answer(UInt8)
    /// A byte without a known meaning.
    case unknown(UInt8)

    public init(_ byte: UInt8) {
        let (high, low) = (byte >> 4, byte & 0xF)
        switch byte {
        case 0x00: self = .single
        case 0xF0: self = .stream
        case 0xA0...0xAF: self = .answer(low)
        case 0x10...0x9F where low <= high: self = .fragment(remaining: Int(low), of: Int(high) + 1)
        default: self = .unknown(byte)
        }
    }

    /// The byte as on the wire.
    public var byte: UInt8 {
        switch self {
        case .single: 0x00
        case .stream: 0xF0
        case .fragment(let remaining, let count):
            UInt8(truncatingIfNeeded: (count - 1) << 4) | UInt8(truncatingIfNeeded: remaining & 0xF)
        case .answer(let piece): 0xA0 | (piece & 0xF)
        case .unknown(let byte): byte
        }
    }

    /// The number of the fragment in its message, as an acknowledgement contains it.
    var piece: UInt8 { byte & 0xF }
}

/// A frame of layout B, which HS4, HS4S and HS5 use: state, counter, product, content.
///
/// The content of a whole message is its command byte and data. The content of a later fragment continues that of the previous one. An
/// acknowledgement has none.
public struct FamilyFrame: Sendable, Hashable {
    /// The kind of device that a frame is for, or from.
    public enum Product: UInt8, Sendable, Hashable, CaseIterable {
        /// HS4 and HS4S; the HS3 shares the byte, with another layout.
        case hs4 = 0xA6
        /// HS5 and later scales.
        case hs5 = 0xA9
        /// Any product, for the search by broadcast.
        case any = 0xFF
    }

    /// The sender.
    public var origin: FrameOrigin
    public var state: FrameState
    /// The sender's counter.
    public var sequence: UInt8
    /// A byte, because there are more products than those listed.
    public var product: UInt8
    public var content: [UInt8]

    /// The maximum number of content bytes in a frame.
    public static let maximumContent = 252

    /// Creates a frame from its parts; `nil` if `content` is longer than ``maximumContent``.
    public init?(
        from origin: FrameOrigin, _ state: FrameState, sequence: UInt8, product: UInt8, content: [UInt8] = []
    ) {
        guard content.count <= FamilyFrame.maximumContent else { return nil }
        self.init(checked: origin, state, sequence, product, content)
    }

    /// For content whose length is fixed by the calling code.
    package init(
        checked origin: FrameOrigin, _ state: FrameState, _ sequence: UInt8, _ product: UInt8, _ content: [UInt8]
    ) {
        (self.origin, self.state, self.sequence) = (origin, state, sequence)
        (self.product, self.content) = (product, content)
    }

    /// Reads the body of a family frame; `nil` if it is shorter than three bytes.
    public init?(_ frame: Frame) {
        guard frame.body.count >= 3 else { return nil }
        self.init(
            checked: frame.origin, FrameState(frame.body[0]), frame.body[1], frame.body[2], Array(frame.body[3...]))
    }

    /// Reads one datagram (layout B over UDP): zero bytes after the frame are padding; `nil` if it is not a frame.
    public init?(datagram: [UInt8]) {
        guard datagram.count >= 3, let origin = FrameOrigin(rawValue: datagram[0]) else { return nil }
        let end = 2 + Int(datagram[1])
        guard end < datagram.count, Frame.checksum(datagram[2..<end]) == datagram[end],
            datagram[(end + 1)...].allSatisfy({ $0 == 0 }),
            let frame = Frame(origin: origin, body: Array(datagram[2..<end]))
        else { return nil }
        self.init(frame)
    }

    /// The bytes of the whole frame.
    public var bytes: [UInt8] {
        let body = [state.byte, sequence, product] + content
        return [origin.rawValue, UInt8(truncatingIfNeeded: body.count)] + body + [Frame.checksum(body[...])]
    }

    /// Whether it only acknowledges a frame.
    public var isAcknowledgement: Bool {
        if case .answer = state { content.isEmpty } else { false }
    }

    /// Whether a link with acknowledgements requires one for it, as for everything but transient messages and acknowledgements.
    public var wantsAcknowledgement: Bool { state != .stream && !isAcknowledgement }

    /// The acknowledgement of this frame: its fragment number, and the next expected counter.
    public var acknowledgement: FamilyFrame {
        FamilyFrame(
            checked: origin == .host ? .scale : .host, .answer(state.piece), sequence &+ 1, product, [])
    }
}
