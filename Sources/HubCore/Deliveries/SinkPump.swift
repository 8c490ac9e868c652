import HubSessions
import HubStore
import HubWire
import Samples

/// One open subscription: what is on its way to its session, and what may still be sent (Protocol §10).
///
/// A value without sockets and clock. It holds numbers, not records: a record is in memory while its delivery is written.
struct SinkPump {
    /// What the hub has on its way at most, whatever credit a sink gives (R10.1).
    static let window = Credit(records: 10_000, bytes: 1_048_576)
    /// Answered versions that the store has not confirmed; beyond, nothing more is sent (R10.19).
    static let unsettledBound = 10_000

    let id: SinkID
    let session: SessionReference
    /// Tells it from earlier and later turns of the same subscription.
    let turn: UInt64
    /// Whether its session is told when there is nothing left (R10.21).
    let tellsWhenCaughtUp: Bool
    /// Records of a delivery.
    private let batch: Int
    /// Milliseconds between two deliveries.
    private let spacing: Int64

    private(set) var credit: Credit
    /// The last sequence that was looked at.
    private(set) var position: Int64
    /// Deliveries without DONE.
    private(set) var open: [Int64: OpenDelivery] = [:]
    /// Numbers of records that were given out and whose answer is not in the store.
    private(set) var inFlight: Set<Int64> = []
    private var lastDelivery: Int64 = 0
    /// Up to where earlier turns may have given out what they were not answered; known from the first page on.
    private var givenBefore: Int64?
    /// What the store knows of ``reached``.
    private(set) var settledReached: Int64

    /// Whether there may be something that was not looked at.
    var mayHaveMore = true
    var isReading = false
    /// When a retry is due, by ``WaitClock``.
    var nextDue: Int64?
    /// The sink wants nothing before this, by ``WaitClock``.
    var restsUntil: Int64?
    /// The sink's log-in has failed.
    var isUnauthorized = false
    /// Nothing of the last page fitted the credit.
    private(set) var isShort = false
    /// By `now` of the door: when the next delivery may leave.
    private(set) var notBefore: Int64 = 0
    private(set) var hasToldCaughtUp = false

    /// A delivery that waits for its DONE.
    struct OpenDelivery {
        /// Number and sequence of each record, and whether it may have been given out before without an answer.
        let versions: [(number: Int64, sequence: Int64, isRepeat: Bool)]
        let cost: Credit
        /// The lowest sequence in it that the position has passed with it; `nil` when all were offered again.
        let first: Int64?
    }

    init(
        _ request: WantRequest, id: SinkID, session: SessionReference, turn: UInt64, position: Int64,
        batchLimit: Int, tellsWhenCaughtUp: Bool
    ) {
        (self.id, self.session, self.turn, self.position) = (id, session, turn, position)
        self.tellsWhenCaughtUp = tellsWhenCaughtUp
        settledReached = position
        batch = min(request.batch ?? batchLimit, batchLimit)
        spacing = request.perHour.map { 3_600_000 / Int64($0) } ?? 0
        credit = Credit.lesser(request.credit, Self.window)
    }

    /// What the next page may hold; `nil` when nothing may be sent now.
    func limits(at now: Int64, waitTime: Int64, unsettled: Int) -> DeliveryLimits? {
        guard mayHaveMore || nextDue.map({ $0 <= waitTime }) ?? false else { return nil }
        guard !isReading, !isUnauthorized, !isShort, credit.records > 0, now >= notBefore,
            restsUntil.map({ $0 <= waitTime }) ?? true, unsettled < Self.unsettledBound
        else { return nil }
        return DeliveryLimits(records: min(batch, credit.records), bytes: max(1, credit.bytes - Self.envelope))
    }

    /// The most that DELIVER puts around its records.
    static let envelope = 128

    /// Whether nothing is on its way and nothing can be delivered now.
    func isCaughtUp(waitTime: Int64) -> Bool {
        guard !isReading, open.isEmpty, inFlight.isEmpty else { return false }
        if isUnauthorized || restsUntil.map({ $0 > waitTime }) ?? false { return true }
        return !mayHaveMore && nextDue.map { $0 > waitTime } ?? true
    }

    /// When, by ``WaitClock``, something may be due that is not now.
    func wakeTime(waitTime: Int64) -> Int64? {
        guard !isUnauthorized else { return nil }
        if let restsUntil, restsUntil > waitTime { return restsUntil }
        return nextDue.flatMap { $0 > waitTime ? $0 : nil }
    }

    mutating func toldCaughtUp() { hasToldCaughtUp = true }
    mutating func notToldCaughtUp() { hasToldCaughtUp = false }

    // MARK: - Pages

    /// A page has been read up to `page.position`, and the first `count` of its records are sent as a delivery.
    ///
    /// - Returns: the number of the delivery.
    mutating func sent(_ page: DeliveryPage, count: Int, cost: Credit, at now: Int64) -> Int64 {
        let before = position
        let versions = page.records.prefix(count).map {
            ($0.number, $0.sequence, page.isRepeat($0, givenBefore: givenBefore ?? 0))
        }
        looked(at: page, sent: count)
        lastDelivery += 1
        open[lastDelivery] = OpenDelivery(
            versions: versions, cost: cost, first: versions.lazy.map(\.1).filter { $0 > before }.min())
        inFlight.formUnion(versions.map(\.0))
        credit = credit - cost
        notBefore = now + spacing
        hasToldCaughtUp = false
        return lastDelivery
    }

    /// A page was read: the first of a turn knows what the turns before have left behind.
    mutating func read(_ page: DeliveryPage, head: Int64) {
        if givenBefore == nil { givenBefore = min(page.givenBefore, head) }
    }

    /// The number that the next delivery will have.
    var nextDelivery: Int64 { lastDelivery + 1 }

    /// A page of which only the first `count` records are sent; the others will be read again.
    mutating func looked(at page: DeliveryPage, sent count: Int) {
        let left = page.records.dropFirst(count)
        let again = left.map(\.sequence).filter { [position] in $0 > position }.min()
        position = again.map { $0 - 1 } ?? page.position
        mayHaveMore = page.hasMore || !left.isEmpty
        nextDue = page.nextDue
        isShort = count == 0 && !left.isEmpty
    }

    // MARK: - Answers

    /// A DONE; `nil` when the delivery is not open.
    mutating func close(_ delivery: Int64, credit given: Credit) -> OpenDelivery? {
        guard let closed = open.removeValue(forKey: delivery) else { return nil }
        let more = Credit(records: max(0, given.records), bytes: max(0, given.bytes))
        // Added with care: a sink may give any number.
        credit = Credit(
            records: min(Self.window.records, credit.records + min(more.records, Self.window.records)),
            bytes: min(Self.window.bytes, credit.bytes + min(more.bytes, Self.window.bytes)))
        isShort = false
        return closed
    }

    /// Answers are in the store.
    mutating func settled(_ numbers: some Sequence<Int64>, reached: Int64) {
        inFlight.subtract(numbers)
        settledReached = max(settledReached, reached)
    }

    /// Everything up to here was looked at and is answered.
    var reached: Int64 { open.values.lazy.compactMap(\.first).min().map { $0 - 1 } ?? position }

    /// Bytes on their way.
    var openBytes: Int { open.values.reduce(0) { $0 + $1.cost.bytes } }
}
