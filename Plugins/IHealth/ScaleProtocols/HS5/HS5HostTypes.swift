extension HS5Host {
    /// Settings that may differ between scales, and the host's time limits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// The host's id.
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0, 1])
        /// The scale to talk to; `nil` for the first one that answers.
        public var scale: HS5SenderID?
        /// The destination of the scale's own uploads.
        public struct Cloud: Sendable, Hashable {
            /// At most 48 bytes.
            public var host: String
            /// At most 64 bytes.
            public var path: String

            public init(host: String, path: String) { (self.host, self.path) = (host, path) }
        }

        /// Written into the scale after the log-in; `nil` leaves the stored value.
        public var cloud: Cloud?
        /// The key for the scale's log-in; `nil` skips the log-in, which only a simulated scale accepts.
        public var key: ScaleKey?
        /// 16 random bytes that this installation chooses.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// The user whose measurement is open; `nil` for none, and weighings come from the memory.
        public var measures: UInt32?
        /// Maps error bytes to the vendor's numbers.
        public var errors = ScaleError.defaultTable(of: .hs5)
        /// The interval of searches, which also detect whether the scale is still reachable.
        public var searchEvery = Duration.seconds(5)
        /// The number of consecutive unanswered searches after which the scale counts as gone.
        public var searches = 6
        /// The delay from a request to its repetition.
        public var repeatAfter = Duration.milliseconds(500)
        /// The number of repetitions of a request.
        public var repeats = 6
        /// The delay from a message of a measurement to its confirmation.
        public var confirmAfter = Duration.milliseconds(200)
        /// How long the scale may be silent between the messages of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// The interval for reading the memory.
        public var memoryEvery = Duration.seconds(60)
        /// The pause for a busy scale.
        public var busyPause = Duration.seconds(5)

        public init() {}
    }

    enum Phase: Sendable, Hashable {
        /// No link.
        case offline
        /// No scale has answered.
        case searching
        case loggingIn
        /// `59`, then `5A` is sent.
        case settingCloudHost, settingCloudPath
        /// No request is open.
        case idle
        /// `31` is sent.
        case listing
        /// `33` is sent, for the user at this place of the round.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent, or its records wait to be stored.
        case transferring
        /// `39` is sent: this user's memory has been read.
        case endingMemory
        /// `32` is sent.
        case openingMeasurement
        /// Weights arrive when a person steps on.
        case measuring
        /// A change to the users is sent.
        case changingUsers
        case closing
    }

    struct Request: Sendable {
        var bytes: [UInt8]
        /// The counter of its answer, which distinguishes it from a late answer to an earlier request.
        var reply: UInt8
        var repeatAt: Duration
        var repeatsLeft: Int
    }

    /// A stable weight and its message.
    struct Weight: Sendable {
        var reading: ScaleReading
        var message: FamilyMessage
    }

    struct User: Sendable, Hashable {
        var position: HS5Position
        var serial: UInt32
    }

    struct Transfer: Sendable {
        var announced: Int
        var received = 0
        var progress = -1.0
    }

    /// The messages of a delivery.
    enum Origin: Sendable {
        /// A packet of the memory, and whether more follow.
        case packet(more: Bool)
        /// A measurement, and the command to confirm once it is stored.
        case measurement(confirms: HS5Command?)
    }
}

extension HS5SenderID {
    /// For bytes whose number is fixed by the calling code.
    package init(checked bytes: [UInt8]) { self.bytes = bytes }
}
