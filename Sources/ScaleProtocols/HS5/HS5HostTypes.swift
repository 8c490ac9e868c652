extension HS5Host {
    /// What may differ between scales, and how long the host waits.
    ///
    /// The defaults are for a real scale; there is no published capture of one.
    public struct Settings: Sendable, Hashable {
        /// Who the host says it is.
        public var id = HS5SenderID(checked: [2, 0, 0, 0, 0, 1])
        /// The scale to talk to; nil: the first one that answers.
        public var scale: HS5SenderID?
        /// Where the scale uploads by itself.
        public struct Cloud: Sendable, Hashable {
            /// At most 48 bytes.
            public var host: String
            /// At most 64 bytes.
            public var path: String

            public init(host: String, path: String) { (self.host, self.path) = (host, path) }
        }

        /// Written into the scale after the log-in; nil leaves what is there.
        public var cloud: Cloud?
        /// What the scale's log-in asks for; nil goes without, which only a stand-in accepts.
        public var key: ScaleKey?
        /// 16 random bytes of this installation's choice.
        public var nonce: [UInt8] = Array(repeating: 0, count: 16)
        /// The user whose measurement is held open; nil: none, and weighings come from the memory.
        public var measures: UInt32?
        /// Error byte → vendor's number.
        public var errors = ScaleError.defaultTable(of: .hs5)
        /// From one search to the next, which also finds out whether the scale is still there.
        public var searchEvery = Duration.seconds(5)
        /// So many unanswered searches in a row mean that it is gone.
        public var searches = 6
        /// From a request to its repeat.
        public var repeatAfter = Duration.milliseconds(500)
        /// How often a request is repeated.
        public var repeats = 6
        /// From a message of a measurement to its confirmation.
        public var confirmAfter = Duration.milliseconds(200)
        /// How long the scale may be silent between the messages of one weighing.
        public var weighingTimeout = Duration.seconds(4)
        /// From one look at the memory to the next.
        public var memoryEvery = Duration.seconds(60)
        /// How long a scale that is busy is left alone.
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
        /// Nothing is asked.
        case idle
        /// `31` is sent.
        case listing
        /// `33` is sent, for the user at this place of the round.
        case openingMemory
        /// `41` is sent.
        case summing
        /// `42` is sent, or its records wait to be kept.
        case transferring
        /// `39` is sent: this user's memory is read.
        case endingMemory
        /// `32` is sent.
        case openingMeasurement
        /// Weights come, when a person steps on.
        case measuring
        /// A change to the users is sent.
        case changingUsers
        case closing
    }

    struct Request: Sendable {
        var bytes: [UInt8]
        /// The counter of its answer, which tells it from a late one to an earlier request.
        var reply: UInt8
        var repeatAt: Duration
        var repeatsLeft: Int
    }

    /// A stable weight and the message that told it.
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

    /// What a delivery was read from.
    enum Origin: Sendable {
        /// A packet of the memory; whether more follow.
        case packet(more: Bool)
        /// A measurement; what is to be confirmed once it is kept.
        case measurement(confirms: HS5Command?)
    }
}

extension HS5SenderID {
    /// For bytes whose number the caller's own code fixes.
    package init(checked bytes: [UInt8]) { self.bytes = bytes }
}
