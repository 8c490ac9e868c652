/// The lower layer of a dialogue in layout B over a byte stream: frames, fragments, acknowledgements, counters and repetitions.
///
/// It serves both sides. If content must be stored before its acknowledgement, the dialogue delays the acknowledgement.
package struct FamilyLink: Sendable {
    /// The way in which a kind of link carries frames.
    package enum Style: Sendable, Hashable {
        /// Writes of at most 20 bytes, and every frame acknowledged (Bluetooth LE).
        case lowEnergy
        /// Whole frames and no acknowledgements (a serial port).
        case serialPort
    }

    /// A received message.
    package struct Arrival: Sendable, Hashable {
        package var message: FamilyMessage
        /// The acknowledgement to send once the content is safe; `nil` on a link without acknowledgements, and for a transient message.
        package var acknowledgement: FamilyFrame?
        /// Whether it was received before on this connection.
        package var isRepeat: Bool
    }

    /// A result of received bytes, in order.
    package enum Output: Sendable, Hashable {
        case arrival(Arrival)
        /// Send this immediately: it acknowledges a fragment of an incomplete message.
        case send([UInt8])
        /// All frames of our last message have arrived.
        case acknowledged
        case warning(ScaleWarning)
    }

    package let style: Style
    private let side: FrameOrigin
    private let product: FamilyFrame.Product
    private var scanner: FrameScanner
    private var collector = FragmentCollector()
    /// The number of the next frame: 1 at first, two more after each frame sent, one more than the other side's after each frame received.
    private var counter: UInt8 = 1
    private var recent: [FamilyMessage] = []
    /// The numbers of the unacknowledged frames of our last message.
    private var unacknowledged: Set<UInt8> = []

    package init(_ side: FrameOrigin, product: FamilyFrame.Product, style: Style) {
        (self.side, self.product, self.style) = (side, product, style)
        scanner = FrameScanner(from: side == .host ? .scale : .host, product: product.rawValue, productPlace: 2)
    }

    /// Whether a part of a frame or of a message waits for the rest.
    var isInsideFrame: Bool { scanner.isInsideFrame }

    /// Resets the state for the start of a connection.
    package mutating func reset() {
        scanner.reset()
        collector.reset()
        (counter, recent, unacknowledged) = (1, [], [])
    }

    // MARK: Sending

    /// The frames of a message; empty if the layout cannot carry it.
    package mutating func frames(_ command: UInt8, _ data: [UInt8]) -> [[UInt8]] {
        let frames =
            FamilyFrame.message(
                from: side, product: product, command, data, sequence: counter,
                fragmented: style == .lowEnergy) ?? []
        counter &+= UInt8(truncatingIfNeeded: 2 * frames.count)
        unacknowledged = Set(frames.map(\.sequence))
        return frames.map(\.bytes)
    }

    /// The frame of a transient message.
    package mutating func stream(_ command: UInt8, _ data: [UInt8]) -> [UInt8] {
        defer { counter &+= 2 }
        return FamilyFrame(checked: side, .stream, counter, product.rawValue, [command] + data).bytes
    }

    /// Notes that an acknowledgement is sent, and returns its bytes.
    package mutating func sent(_ acknowledgement: FamilyFrame) -> [UInt8] {
        counter = acknowledgement.sequence &+ 2
        return acknowledgement.bytes
    }

    // MARK: Receiving

    /// Handles received bytes, split at any position.
    package mutating func receive(_ bytes: [UInt8]) -> [Output] { take { $0.append(bytes) } }

    /// Drops an unfinished frame after a silence, because noise may have resembled its start.
    mutating func flush() -> [Output] { take { $0.flush() } }

    private mutating func take(_ scan: (inout FrameScanner) -> [Frame]) -> [Output] {
        let (frames, warnings) = scanner.warned(scan)
        var output = warnings.map(Output.warning)
        for frame in frames { receive(frame, &output) }
        return output
    }

    private mutating func receive(_ frame: Frame, _ output: inout [Output]) {
        guard let frame = FamilyFrame(frame), frame.product == product.rawValue else {
            return output.append(.warning(.foreignFrame))
        }
        counter = frame.sequence &+ 1
        if frame.isAcknowledgement {
            let isNews = unacknowledged.remove(frame.sequence &- 1) != nil
            if isNews, unacknowledged.isEmpty { output.append(.acknowledged) }
            return
        }
        let reply = style == .lowEnergy && frame.wantsAcknowledgement ? frame.acknowledgement : nil
        switch collector.append(frame) {
        case .incomplete: if let reply { output.append(.send(sent(reply))) }
        case .nothing:
            output.append(.warning(.foreignFrame))
            if let reply { output.append(.send(sent(reply))) }
        case .message(let message):
            // A frame that was not acknowledged in time is repeated with its number.
            let isRepeat = frame.wantsAcknowledgement && recent.contains(message)
            output.append(.arrival(Arrival(message: message, acknowledgement: reply, isRepeat: isRepeat)))
            if recent.count == FamilyLink.recentLimit { recent.removeFirst() }
            recent.append(message)
        }
    }

    /// Forgets a message of the other side that was not accepted, so that its repetition counts as new.
    package mutating func forget(_ message: FamilyMessage) { recent.removeAll { $0 == message } }

    private static let recentLimit = 8
}
