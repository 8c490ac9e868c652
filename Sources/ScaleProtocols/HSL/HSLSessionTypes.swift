import JSON

extension HSLSession {
    /// What is known of one scale.
    struct Scale: Sendable {
        var info: HSLDeviceInfo
        var isHere = false
        var last: HSLEvent?
        /// Whether the events are numbered, as they must be: of one number there are never two.
        var isCounting = true
        var lastAcknowledged: String?
        var request: Request?
        /// Nothing is asked before.
        var pauseUntil: Duration?
        /// When its memory, or on a HS5 the users and theirs, is to be read next; nil: not while it stays.
        var memoryAt: Duration?
        /// A HS4 tells its memory only to a person who has been admitted to a measurement.
        var needsVerification = false
        /// A person was admitted in this session.
        var wasVerified = false
        var users: [UInt32?] = []
        /// HS5: the user whose measurement is held open; nil: none, and weighings come from the memory.
        var measures: UInt32?
        /// HS5: how tall users are, in centimetres.
        var heights: [UInt32: Int] = [:]
        /// Users whose memory is still to be read in this round.
        var round: [UInt32] = []
        /// A change to the users follows the list that was asked for first.
        var hasFreshList = false
        var asked: ScaleCommand?
        /// HS5: a weight whose composition may follow.
        var held: Held?
        /// HS5: the weight that was delivered alone, while no one has stepped on since; its composition may follow yet.
        var shown: ScaleReading?
        var undated = Undated()
        /// What is told once the records before it are kept.
        var backlog: [ScaleEvent] = []
    }

    struct Held: Sendable {
        var reading: ScaleReading
        var name: Name
    }

    /// What a durable event is called.
    struct Name: Sendable, Hashable {
        /// What it is acknowledged by.
        var rid: String
        /// What a repeat of it is known by: no other weighing has it.
        var own: String
    }

    /// How often weighings without name and date came, alike to the last byte; those of one transfer are counted together.
    struct Undated: Sendable {
        private var counts: [JSONTree: Int] = [:]
        private var request: Int?
        private var event: HSLEvent?
        private var before: [JSONTree: Int] = [:]

        /// More than any memory has.
        private static let limit = 1024

        /// How many like `data` there were before; a line that came twice is counted once.
        mutating func next(_ data: JSONTree, in line: HSLEvent, isRepeat: Bool) -> Int {
            if line.ref != request { (counts, request, event) = ([:], line.ref, nil) }
            if event != line { (event, before) = (line, counts) } else if isRepeat { counts = before }
            if counts.count >= Self.limit { counts = [:] }
            defer { counts[data, default: 0] += 1 }
            return counts[data, default: 0]
        }
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
        /// HS4: the unit in which the scale displays this measurement.
        var unit: ScaleDisplayUnit?
        /// HS4: the person may be weighed.
        var isAdmitted = false
        /// Nothing more may come of it.
        var isRefused = false
        /// A weight came of it.
        var hasWeighed = false
        var result: Bool?
        /// A command waits for the end of this request, which is its own, and does so in vain if it is withdrawn.
        var isOfCommand: Bool {
            switch operation {
            case .hs3AutoConnectOn, .hs3AutoConnectOff, .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser, .hs5Cloud: true
            case .hs3Init, .hs4Measure, .hs4Memory, .hs5OpenUsers, .hs5Measure, .hs5Memory, .listDevices, .stopSession:
                false
            }
        }
        var transfer: Transfer?
        /// The vendor's numbers of errors that were told.
        var told: Set<Int> = []
    }

    struct Transfer: Sendable {
        var announced: Int?
        var received = 0
        var progress = -1.0
    }

    /// The events that a delivery was read from.
    struct Origin: Sendable {
        var device: HSLDeviceID
        /// What the events are called that it acknowledges.
        var names: [Name]
        var event: HSLEventName
        /// Its event was told when it came.
        var isTold: Bool
    }
}
