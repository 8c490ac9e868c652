extension HS4Host {
    /// What may differ between scales, and how long the host waits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// How the link carries frames.
        public enum Link: String, Sendable, Hashable, CaseIterable {
            /// HS4: pieces of 20 bytes, each acknowledged, over Bluetooth LE or whatever carries its writes.
            case lowEnergy = "ble"
            /// HS4S: whole frames without acknowledgements over a serial port.
            case serialPort = "spp"
        }

        /// The order of the last fields of the command that begins a measurement.
        public enum MeasureLayout: String, Sendable, Hashable, CaseIterable {
            case unitFirst = "unit-user"
            case userFirst = "user-unit"
        }

        /// What becomes of a record in the reply that says that there are no more.
        public enum MemoryTail: String, Sendable, Hashable, CaseIterable {
            /// It is one where its date can be.
            case parse = "parse-last-if-plausible"
            /// It is none, as the vendor's software takes it.
            case drop = "drop-last"
        }

        public var link = Link.lowEnergy
        public var measureLayout = MeasureLayout.unitFirst
        public var memoryTail = MemoryTail.parse
        /// What the scale's log-in asks for; nil goes without, which only a stand-in accepts.
        public var key: ScaleKey?
        /// 16 random bytes of this installation's choice.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// What the scale displays; the wire is in kilograms.
        public var unit = ScaleDisplayUnit.kilograms
        /// The host's number of the person who measures.
        public var user: UInt32 = 1
        /// Error byte → vendor's number.
        public var errors = ScaleError.defaultTable(of: .hs4)
        /// From the connection to the first command.
        public var openAfter = Duration.milliseconds(500)
        /// From a command to its first repeat.
        public var firstResend = Duration.milliseconds(800)
        /// From one repeat to the next, and from the last one to giving up.
        public var nextResend = Duration.milliseconds(300)
        /// How often a command is repeated.
        public var resends = 3
        /// How long the next message of the dialogue may take once a command has arrived.
        public var answerTimeout = Duration.seconds(6)
        /// How long each step of the log-in may take.
        public var logInTimeout = Duration.seconds(4)
        /// How long the scale may be silent between the weights of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// From a weighing, or one that failed, to the next measurement.
        public var measureAgainAfter = Duration.milliseconds(500)
        /// How long a frame may stop half-way before what is there of it is given up.
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
        /// `39` is sent, to come to this next.
        case stopping(Next)
        /// `33` is sent.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent.
        case transferring
        /// `32` is sent.
        case openingMeasurement
        /// Weights come, when a person steps on.
        case measuring
        /// A weighing is over; the next one is opened in a moment.
        case pausing
        /// The link is to be closed.
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
        /// As the scale announced it; the number of records is not certain to be what it means.
        var announced: Int
        var received = 0
        var progress = -1.0
    }

    /// The message that a delivery was read from.
    struct Origin: Sendable {
        var arrival: FamilyLink.Arrival
        /// Whether more records follow.
        var more: Bool
    }
}
