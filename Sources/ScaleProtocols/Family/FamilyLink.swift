/// The lower half of a dialogue in layout B over a stream of bytes: frames, pieces, acknowledgements, counters and repeats.
///
/// Serves both sides. What has to be kept before it is acknowledged is held back by the dialogue that reads it.
package struct FamilyLink: Sendable {
    /// How a kind of link carries frames.
    package enum Style: Sendable, Hashable {
        /// Writes of at most 20 bytes, and every frame acknowledged (Bluetooth LE).
        case lowEnergy
        /// Whole frames and no acknowledgements (a serial port).
        case serialPort
    }

    /// A message that has arrived.
    package struct Arrival: Sendable, Hashable {
        package var message: FamilyMessage
        /// The acknowledgement to send once its content is safe; nil on a link without, and for a passing message.
        package var acknowledgement: FamilyFrame?
        /// Whether it came before on this connection.
        package var isRepeat: Bool
    }

    /// What the bytes led to, in order.
    package enum Output: Sendable, Hashable {
        case arrival(Arrival)
        /// Send this at once: it acknowledges a piece of a message that is not whole yet.
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
    /// The number of the next frame: 1 at first, two more after each frame sent, one more than the other's after each received.
    private var counter: UInt8 = 1
    private var recent: [FamilyMessage] = []
    /// The numbers of our last message's frames that have not been acknowledged.
    private var unacknowledged: Set<UInt8> = []

    package init(_ side: FrameOrigin, product: FamilyFrame.Product, style: Style) {
        (self.side, self.product, self.style) = (side, product, style)
        scanner = FrameScanner(from: side == .host ? .scale : .host, product: product.rawValue, productPlace: 2)
    }

    /// Whether part of a frame or of a message waits for the rest.
    var isInsideFrame: Bool { scanner.isInsideFrame }

    /// As at the start of a connection.
    package mutating func reset() {
        scanner.reset()
        collector.reset()
        (counter, recent, unacknowledged) = (1, [], [])
    }

    // MARK: Sending

    /// The frames of a message; none for one the layout cannot carry.
    package mutating func frames(_ command: UInt8, _ data: [UInt8], isAnswer: Bool = false) -> [[UInt8]] {
        let frames =
            FamilyFrame.message(
                from: side, product: product, command, data, sequence: counter, isAnswer: isAnswer,
                fragmented: style == .lowEnergy) ?? []
        counter &+= UInt8(truncatingIfNeeded: 2 * frames.count)
        unacknowledged = Set(frames.map(\.sequence))
        return frames.map(\.bytes)
    }

    /// The frame of a passing message.
    package mutating func stream(_ command: UInt8, _ data: [UInt8]) -> [UInt8] {
        defer { counter &+= 2 }
        return FamilyFrame(checked: side, .stream, counter, product.rawValue, [command] + data).bytes
    }

    /// Notes that an acknowledgement goes out, and gives its bytes.
    package mutating func sent(_ acknowledgement: FamilyFrame) -> [UInt8] {
        counter = acknowledgement.sequence &+ 2
        return acknowledgement.bytes
    }

    // MARK: Receiving

    /// Takes bytes, cut anywhere.
    package mutating func receive(_ bytes: [UInt8]) -> [Output] { take { $0.append(bytes) } }

    /// Gives up an unfinished frame after a silence: noise may have looked like the start of one.
    mutating func flush() -> [Output] { take { $0.flush() } }

    private mutating func take(_ scan: (inout FrameScanner) -> [Frame]) -> [Output] {
        let (skipped, damaged) = (scanner.skippedBytes, scanner.badChecksums)
        let frames = scan(&scanner)
        var output: [Output] = []
        if scanner.skippedBytes > skipped {
            output.append(.warning(.skippedBytes(scanner.skippedBytes - skipped)))
        }
        if scanner.badChecksums > damaged {
            output.append(.warning(.badChecksums(scanner.badChecksums - damaged)))
        }
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
            // A frame that was not acknowledged in time comes again with its number.
            let isRepeat = frame.wantsAcknowledgement && recent.contains(message)
            output.append(.arrival(Arrival(message: message, acknowledgement: reply, isRepeat: isRepeat)))
            if recent.count == FamilyLink.recentLimit { recent.removeFirst() }
            recent.append(message)
        }
    }

    /// The other side's message was not taken; its repeat is new.
    package mutating func forget(_ message: FamilyMessage) { recent.removeAll { $0 == message } }

    private static let recentLimit = 8
}
