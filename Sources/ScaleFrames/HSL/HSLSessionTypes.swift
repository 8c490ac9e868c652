extension HSLSession {
    /// What is known of one scale.
    struct Scale: Sendable {
        var info: HSLDeviceInfo
        var isHere = false
        var lastNumber: Int?
        var lastAcknowledged: String?
        var request: Request?
        /// Nothing is asked before.
        var pauseUntil: Duration?
        /// When its memory, or on a HS5 the users and theirs, is to be read next; nil: not while it stays.
        var memoryAt: Duration?
        /// A HS4 tells its memory only to a person who has been admitted to a measurement.
        var needsVerification = false
        /// Somebody was admitted in this session.
        var wasVerified = false
        var users: [UInt32?] = []
        /// Users whose memory is still to be read in this round.
        var round: [UInt32] = []
        /// A change to the users follows the list that was asked for first.
        var hasFreshList = false
        var asked: ScaleCommand?
        /// HS5: a weight whose composition may follow.
        var held: Held?
        /// What is told once the records before it are kept.
        var backlog: [ScaleEvent] = []
    }

    struct Held: Sendable {
        var reading: ScaleReading
        var rid: String
    }

    /// A request that is open.
    struct Request: Sendable {
        var id: Int
        var operation: HSLOperation
        /// Whose memory or measurement it is.
        var serial: UInt32?
        /// When it must have gone on.
        var by: Duration?
        /// Nothing is going on: it may be ended for something else.
        var isWaiting = false
        var isCancelled = false
        /// HS4: the person may be weighed.
        var isAdmitted = false
        /// Nothing more may come of it.
        var isRefused = false
        /// A weight came of it.
        var hasWeighed = false
        var result: Bool?
        var transfer: Transfer?
        /// The vendor's numbers of errors that were told.
        var told: Set<Int> = []
    }

    struct Transfer: Sendable {
        var announced: Int?
        var received = 0
        var progress = -1.0
    }

    /// A delivery that is not known to be kept yet.
    struct Waiting: Sendable {
        var device: HSLDeviceID
        /// The events it acknowledges.
        var rids: [String]
        var reading: ScaleReading
        var event: HSLEventName
        /// Its event was told when it came.
        var isTold = false
        /// Whether they came in the session that stands now.
        var isCurrent = true
    }
}
