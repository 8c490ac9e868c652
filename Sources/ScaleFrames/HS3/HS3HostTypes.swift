extension HS3Host {
    /// What may differ between scales, and how long the host waits.
    ///
    /// The defaults are for a real scale.
    public struct Settings: Sendable, Hashable {
        /// How the hour of a weighing is read.
        public var hourMode = HS3HourMode.sdk12
        /// How the hour of the scale's clock is read.
        public var clockMode = HS3ClockMode.nearest
        /// Whether the scale's clock is set to the host's when a session opens.
        ///
        /// The vendor's software always does. No capture shows a session without.
        public var setsClock = true
        /// Error byte → vendor's number.
        public var errors = ScaleError.defaultTable(of: .hs3)
        /// The time sent with `25`.
        ///
        /// The scale sends its whole memory whatever it says; nil sends the vendor's default, 2011-01-02 12:12:12.
        public var lastKnown: WallTime?
        /// From the connection to the first command.
        ///
        /// The captures show about half a second.
        public var openAfter = Duration.milliseconds(500)
        /// From a command to its first repeat.
        public var firstResend = Duration.milliseconds(800)
        /// From one repeat to the next, and from the last one to giving up.
        public var nextResend = Duration.milliseconds(300)
        /// How often a command is repeated.
        public var resends = 3
        /// How long an unanswered `23` is given before a scale that only sends weights is taken as it is.
        public var openTimeout = Duration.seconds(3)
        /// How long the next frame of the dialogue may take.
        ///
        /// More than the 4.8 s after which the scale repeats one.
        public var answerTimeout = Duration.seconds(6)
        /// How long a frame may stop half-way before what is there of it is given up.
        public var partialFrameTimeout = Duration.seconds(1)

        /// The defaults.
        public init() {}
    }

    /// Names a delivery until it is answered.
    public struct Token: Sendable, Hashable {
        let number: Int
    }

    /// Where weighings come from.
    public enum DeliverySource: Sendable, Hashable {
        /// The scale's memory (`21`).
        case memory
        /// Someone has just stood on the scale (`28`).
        case weighing
    }

    /// Weighings the scale may drop from its queue once they are acknowledged, so keep them durably first.
    ///
    /// A weighing is delivered once, unless it comes again while an earlier delivery of it is unanswered (over
    /// another connection, or in the memory as well): store by key.
    public struct Delivery: Sendable, Hashable {
        /// To be handed back in ``Input/kept(_:)`` or ``Input/notKept(_:)``.
        public let token: Token
        /// Where they come from.
        public let source: DeliverySource
        /// At least one, in the order of the frame; none that this host has kept before.
        public let readings: [HS3Reading]
        /// By how many seconds the scale's clock was ahead of the host's when the session opened, before the host
        /// set it; nil where the scale has not said its time on this connection.
        public let skewSeconds: Int?
    }

    /// What happens to a host.
    public enum Input: Sendable, Hashable {
        /// The link to the scale stands.
        ///
        /// Ends an earlier one, if it still stood.
        case linkOpened
        /// Bytes came from the scale, cut anywhere.
        case received([UInt8])
        /// The readings of this delivery are durable: acknowledge them.
        case kept(Token)
        /// They could not be kept: do not acknowledge.
        ///
        /// The scale sends them again, and they are delivered again.
        case notKept(Token)
        /// ``HS3Host/deadline`` has come.
        ///
        /// Too early or too often does no harm.
        case tick
        /// End the session from this side.
        case stop
        /// The link is gone.
        case linkClosed
    }

    /// What the caller has to do, in order.
    public enum Action: Sendable, Hashable {
        /// Write these bytes to the link: one whole frame.
        case send([UInt8])
        /// Make these readings durable, then say so.
        case deliver(Delivery)
        /// Tell whoever wants to know.
        case event(Event)
        /// Close the link, then say ``Input/linkClosed``.
        ///
        /// Comes after an unanswered command, where a new connection helps, and after ``Input/stop``.
        case close
    }

    /// What the session has to tell, as the vendor's callbacks do.
    public enum Event: Sendable, Hashable {
        /// The session stands: the clock is set, or (`clockSet` false) left as it is, by the settings, for a date the
        /// scale cannot hold, or because it only delivers weights on this connection.
        case connected(clockSet: Bool)
        /// What the scale's clock shows, and by how many seconds it is ahead of the host's.
        case clock(WallTime, skewSeconds: Int)
        /// The memory transfer begins, or (false) the scale did not answer the request for it.
        case memoryStart(Bool)
        /// How many records follow, 0–200.
        case memoryCount(Int)
        /// A record of the memory that is kept; `isRepeat` where it had been kept before.
        case memoryRecord(HS3Reading, isRepeat: Bool)
        /// The part of the transfer that is done: rises, and is 1.0 exactly once.
        case memoryProgress(Double)
        /// The transfer is complete; how many readable records it had.
        case memoryFinish(records: Int)
        /// A weighing of this moment that is kept; `isRepeat` where it had been kept before.
        case stableWeight(HS3Reading, isRepeat: Bool)
        /// The scale reports an error, or the host has found one.
        case deviceError(ScaleError)
        /// The scale said something it should not have.
        case protocolWarning(Warning)
        /// The link is gone.
        case disconnected
    }

    /// Something on the wire that the protocol does not allow, and what was done about it.
    ///
    /// Never contains a weight.
    public enum Warning: Sendable, Hashable, CustomStringConvertible {
        /// Bytes that belong to no frame.
        case skippedBytes(Int)
        /// Frames with a wrong checksum.
        ///
        /// The scale repeats them.
        case badChecksums(Int)
        /// A frame that is not of an HS3, or too short to be one.
        case foreignFrame
        /// Data of the wrong length; acknowledged, since a repeat would be no better.
        case malformed(command: UInt8, sequence: UInt8)
        /// A known command at a time it does not belong to; acknowledged.
        case unexpected(command: UInt8, sequence: UInt8)
        /// A nibble above 9 in a weight; the record is dropped.
        case badWeightDigits(command: UInt8, sequence: UInt8)
        /// Bytes after the last whole record of a memory frame.
        case trailingBytes(Int, sequence: UInt8)
        /// A memory count above 200, taken as 200.
        case memoryCountAboveLimit(Int)
        /// The transfer ended with another number of records than the scale had announced.
        case memoryCountDiffers(announced: Int, received: Int)
        /// The scale's clock shows no date.
        case unreadableClock
        /// The host's date cannot be told to the scale, whose years are 2000–2063.
        case clockOutOfRange
        /// More deliveries wait for an answer than the host remembers; the frame is not acknowledged, so that the
        /// scale repeats it.
        case tooManyUnanswered

        public var description: String {
            switch self {
            case .skippedBytes(let count): "skipped \(count) bytes that belong to no frame"
            case .badChecksums(let count): "ignored \(count) frames with a wrong checksum; the scale repeats them"
            case .foreignFrame: "ignored a frame that is not of an HS3"
            case .malformed(let command, let sequence):
                "frame \(hex(command)) number \(sequence) has data of a wrong length; its content is lost"
            case .unexpected(let command, let sequence):
                "frame \(hex(command)) number \(sequence) does not belong at this place; acknowledged and ignored"
            case .badWeightDigits(let command, let sequence):
                "frame \(hex(command)) number \(sequence) has a weight that is no number; that record is dropped"
            case .trailingBytes(let count, let sequence):
                "memory frame number \(sequence) ends with \(count) bytes of an incomplete record"
            case .memoryCountAboveLimit(let count): "the scale announces \(count) records; its memory holds 200"
            case .memoryCountDiffers(let announced, let received):
                "the scale announced \(announced) records and sent \(received)"
            case .unreadableClock: "the scale's clock shows no date"
            case .clockOutOfRange: "the host's date is outside the years 2000–2063; the scale's clock is not set"
            case .tooManyUnanswered: "too many weighings wait to be kept; the scale will repeat this one"
            }
        }

        private func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
    }
}
