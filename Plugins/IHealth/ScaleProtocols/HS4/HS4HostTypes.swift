extension HS4Host {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// The way in which the link carries frames.
        public enum Link: String, Sendable, Hashable, CaseIterable {
            /// HS4: chunks of 20 bytes, each acknowledged, over Bluetooth LE or a carrier of its writes.
            case lowEnergy = "ble"
            /// HS4S: whole frames without acknowledgements over a serial port.
            case serialPort = "spp"
        }

        /// The order of the last fields of the command that begins a measurement.
        public enum MeasureLayout: String, Sendable, Hashable, CaseIterable {
            case unitFirst = "unit-user"
            case userFirst = "user-unit"
        }

        /// The handling of a record in the reply that ends the memory.
        public enum MemoryTail: String, Sendable, Hashable, CaseIterable {
            /// The record counts if its date is valid.
            case parse = "parse-last-if-plausible"
            /// The record is ignored, as in the vendor's software.
            case drop = "drop-last"
        }

        public var link = Link.lowEnergy
        public var measureLayout = MeasureLayout.unitFirst
        public var memoryTail = MemoryTail.parse
        /// The key for the scale's log-in; `nil` skips the log-in, which only a simulated scale accepts.
        public var key: ScaleKey?
        /// 16 random bytes that this installation chooses.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// The unit that the scale displays; the protocol uses kilograms.
        public var unit = ScaleDisplayUnit.kilograms
        /// The host's number of the person being weighed.
        public var user: UInt32 = 1
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs4)
        /// The delay from the connection to the first command.
        public var openAfter = Duration.milliseconds(500)
        /// The delay from a command to its first repetition.
        public var firstResend = Duration.milliseconds(800)
        /// The delay from one repetition to the next, and from the last one to giving up.
        public var nextResend = Duration.milliseconds(300)
        /// The number of repetitions of a command.
        public var resends = 3
        /// How long the next message of the dialogue may take after a command has arrived.
        public var answerTimeout = Duration.seconds(6)
        /// How long each step of the log-in may take.
        public var logInTimeout = Duration.seconds(4)
        /// How long the scale may be silent between the weights of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// The delay from a weighing, or a failed one, to the next measurement.
        public var measureAgainAfter = Duration.milliseconds(500)
        /// How long a frame may stay incomplete before its bytes are dropped.
        public var partialFrameTimeout = Duration.seconds(1)

        public init() {}
    }

    enum Phase: Sendable, Hashable {
        /// No link.
        case offline
        /// A link, and no command sent yet.
        case waiting
        case loggingIn
        /// `F1` is sent.
        case identifying
        /// `39` is sent, before this next step.
        case stopping(Next)
        /// `33` is sent.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent.
        case transferring
        /// `32` is sent.
        case openingMeasurement
        /// Weights arrive when a person steps on.
        case measuring
        /// A weighing is over; the next one will be opened shortly.
        case pausing
        /// The link will be closed.
        case closing
    }

    enum Next: Sendable, Hashable { case memory, measurement }

    struct PendingCommand: Sendable {
        var command: HS4Command
        var frames: [[UInt8]]
        var nextResend: Duration
        var resendsLeft: Int
    }

    struct Transfer: Sendable {
        /// The announced number; it may not be the number of records.
        var announced: Int
        var received = 0
        var progress = -1.0
    }

    /// The message of a delivery.
    struct Origin: Sendable {
        var arrival: FamilyLink.Arrival
        /// Whether more records follow.
        var more: Bool
    }
}
