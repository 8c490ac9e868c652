import JSON

extension HSLSession {
    /// The state of one scale.
    struct Scale: Sendable {
        var info: HSLDeviceInfo
        var isHere = false
        var last: HSLEvent?
        /// Whether the events are numbered, as they must be: each number occurs only once.
        var isCounting = true
        var lastAcknowledged: String?
        var request: Request?
        /// No request is sent before this time.
        var pauseUntil: Duration?
        /// When to read its memory, or on a HS5 the users and theirs; `nil` for not again while it stays connected.
        var memoryAt: Duration?
        /// Whether a HS4 still needs a person: it sends its memory only to a person admitted to a measurement.
        var needsVerification = false
        /// Whether a person was admitted in this session.
        var wasVerified = false
        var users: [UInt32?] = []
        /// HS5: the user whose measurement is open; `nil` for none, and weighings come from the memory.
        var measures: UInt32?
        /// HS5: the heights of users, in centimetres.
        var heights: [UInt32: Int] = [:]
        /// Users whose memory has not been read in this round.
        var round: [UInt32] = []
        /// Whether the list of users is fresh; a change to the users requires that.
        var hasFreshList = false
        var asked: ScaleCommand?
        /// HS5: a weight whose composition may follow.
        var held: Held?
        /// HS5: the weight that was delivered alone, until someone steps on again; its composition may still follow.
        var shown: ScaleReading?
        var undated = UndatedCounts()
        /// Events to report once the records before them are stored.
        var backlog: [ScaleEvent] = []
    }

    struct Held: Sendable {
        var reading: ScaleReading
        var name: Name
    }

    /// The name of a durable event.
    struct Name: Sendable, Hashable {
        /// The id for its acknowledgement.
        var rid: String
        /// The key that identifies a repetition: no other weighing has it.
        var own: String
    }

    /// Counts identical weighings without id and date within one transfer.
    struct UndatedCounts: Sendable {
        private var counts: [JSONTree: Int] = [:]
        private var request: Int?
        private var event: HSLEvent?
        private var before: [JSONTree: Int] = [:]

        /// More than any memory has.
        private static let limit = 1024

        /// The number of earlier events like `data`; a repeated line is counted once.
        mutating func next(_ data: JSONTree, in line: HSLEvent, isRepeat: Bool) -> Int {
            if line.ref != request { (counts, request, event) = ([:], line.ref, nil) }
            if event != line { (event, before) = (line, counts) } else if isRepeat { counts = before }
            if counts.count >= Self.limit { counts = [:] }
            defer { counts[data, default: 0] += 1 }
            return counts[data, default: 0]
        }
    }

    /// An open request.
    struct Request: Sendable {
        var id: Int
        var operation: HSLOperation
        /// The user whose memory or measurement it concerns.
        var serial: UInt32?
        /// When the request must have made progress.
        var by: Duration?
        /// Whether it is idle, so that it may be ended for another request.
        var isWaiting = false
        var isCancelled = false
        /// HS4: the unit in which the scale displays this measurement.
        var unit: ScaleDisplayUnit?
        /// HS4: whether the person may be weighed.
        var isAdmitted = false
        /// Whether no more data may come of it.
        var isRefused = false
        /// Whether it produced a weight.
        var hasWeighed = false
        var result: Bool?
        /// Whether the request belongs to a command; a command that is withdrawn still waits for its end.
        var isOfCommand: Bool {
            switch operation {
            case .hs3AutoConnectOn, .hs3AutoConnectOff, .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser, .hs5Cloud: true
            case .hs3Init, .hs4Measure, .hs4Memory, .hs5OpenUsers, .hs5Measure, .hs5Memory, .listDevices, .stopSession:
                false
            }
        }
        var transfer: Transfer?
        /// The vendor's numbers of errors already reported.
        var told: Set<Int> = []
    }

    struct Transfer: Sendable {
        var announced: Int?
        var received = 0
        var progress = -1.0
    }

    /// The events of a delivery.
    struct Origin: Sendable {
        var device: HSLDeviceID
        /// The names of the events that it acknowledges.
        var names: [Name]
        var event: HSLEventName
        /// Whether its event was reported when it came.
        var isReported: Bool
    }
}
