import HubStore
import HubWire
import Samples

/// One open subscription: its deliveries in flight, and the limits for the next ones (Protocol §10).
///
/// A value without sockets and clock. It holds numbers, not records: a record is in memory only while its delivery is written.
struct SinkPump {
    /// Maximum credit that the hub uses, whatever credit a sink gives (R10.1).
    static let window = Credit(records: 10_000, bytes: 1_048_576)
    /// Maximum number of answered versions that the store has not confirmed; above it, nothing more is sent (R10.19).
    static let unsettledBound = 10_000

    let id: SinkID
    let session: SessionReference
    /// Distinguishes it from earlier and later turns of the same subscription.
    let turn: UInt64
    /// Whether its session is notified when nothing is left (R10.21).
    let reportsCaughtUp: Bool
    /// Maximum number of records in a delivery.
    private let batch: Int
    /// Minimum milliseconds between two deliveries.
    private let spacing: Int64

    private(set) var credit: Credit
    /// The last sequence that was checked.
    private(set) var position: Int64
    /// Deliveries without DONE.
    private(set) var open: [Int64: OpenDelivery] = [:]
    /// Numbers of records that were sent and whose answer is not in the store.
    private(set) var inFlight: Set<Int64> = []
    private var lastDelivery: Int64 = 0
    /// The last sequence that earlier turns may have sent without an answer; known from the first page on.
    private var givenBefore: Int64?
    /// The value of ``reached`` in the store.
    private(set) var settledReached: Int64

    /// Whether there may be records that were not checked.
    var mayHaveMore = true
    var isReading = false
    /// When a retry is due, by ``WaitClock``.
    var nextDue: Int64?
    /// The sink asked for no deliveries before this time, by ``WaitClock``.
    var pausedUntil: Int64?
    /// Whether the sink's log-in has failed.
    var isUnauthorized = false
    /// Whether every record of the last page needed more credit than was left.
    private(set) var isShort = false
    /// When the next delivery may be sent, by the door's `now`.
    private(set) var notBefore: Int64 = 0
    private(set) var hasReportedCaughtUp = false

    /// A delivery that waits for its DONE.
    struct OpenDelivery {
        /// Number and sequence of each record, and whether it may have been sent before without an answer.
        let versions: [(number: Int64, sequence: Int64, isRepeat: Bool)]
        let cost: Credit
        /// The lowest sequence in it that was new to the position; `nil` if all records were delivered again.
        let first: Int64?
    }

    init(
        _ request: WantRequest, id: SinkID, session: SessionReference, turn: UInt64, position: Int64,
        batchLimit: Int, reportsCaughtUp: Bool
    ) {
        (self.id, self.session, self.turn, self.position) = (id, session, turn, position)
        self.reportsCaughtUp = reportsCaughtUp
        settledReached = position
        batch = min(request.batch ?? batchLimit, batchLimit)
        spacing = request.perHour.map { 3_600_000 / Int64($0) } ?? 0
        credit = Credit.lesser(request.credit, Self.window)
    }

    /// The limits of the next page; `nil` if nothing may be sent now.
    func limits(at now: Int64, waitTime: Int64, unsettled: Int) -> DeliveryLimits? {
        guard mayHaveMore || nextDue.map({ $0 <= waitTime }) ?? false else { return nil }
        guard !isReading, !isUnauthorized, !isShort, credit.records > 0, now >= notBefore,
            pausedUntil.map({ $0 <= waitTime }) ?? true, unsettled < Self.unsettledBound
        else { return nil }
        return DeliveryLimits(records: min(batch, credit.records), bytes: max(1, credit.bytes - Self.envelope))
    }

    /// Maximum bytes that DELIVER adds to its records.
    static let envelope = 128

    /// Whether nothing is in flight and nothing can be delivered now.
    func isCaughtUp(waitTime: Int64) -> Bool {
        guard !isReading, open.isEmpty, inFlight.isEmpty else { return false }
        if isUnauthorized || pausedUntil.map({ $0 > waitTime }) ?? false { return true }
        return !mayHaveMore && nextDue.map { $0 > waitTime } ?? true
    }

    /// When something will be due that is not due now, by ``WaitClock``.
    func wakeTime(waitTime: Int64) -> Int64? {
        guard !isUnauthorized else { return nil }
        if let pausedUntil, pausedUntil > waitTime { return pausedUntil }
        return nextDue.flatMap { $0 > waitTime ? $0 : nil }
    }

    mutating func markReportedCaughtUp() { hasReportedCaughtUp = true }
    mutating func clearReportedCaughtUp() { hasReportedCaughtUp = false }

    // MARK: - Pages

    /// Notes that a page was read up to `page.position`, and the first `count` of its records were sent as a delivery.
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
        hasReportedCaughtUp = false
        return lastDelivery
    }

    /// Notes that a page was read; the first page of a turn shows the records that earlier turns left unanswered.
    mutating func read(_ page: DeliveryPage, head: Int64) {
        if givenBefore == nil { givenBefore = min(page.givenBefore, head) }
    }

    /// The number of the next delivery.
    var nextDelivery: Int64 { lastDelivery + 1 }

    /// Notes that only the first `count` records of a page are sent; the others will be read again.
    mutating func looked(at page: DeliveryPage, sent count: Int) {
        let left = page.records.dropFirst(count)
        let again = left.map(\.sequence).filter { [position] in $0 > position }.min()
        position = again.map { $0 - 1 } ?? page.position
        mayHaveMore = page.hasMore || !left.isEmpty
        nextDue = page.nextDue
        isShort = count == 0 && !left.isEmpty
    }

    // MARK: - Answers

    /// Closes a delivery on its DONE; returns `nil` if the delivery is not open.
    mutating func close(_ delivery: Int64, credit given: Credit) -> OpenDelivery? {
        guard let closed = open.removeValue(forKey: delivery) else { return nil }
        let more = Credit(records: max(0, given.records), bytes: max(0, given.bytes))
        // Bounded before the addition, because a sink may give any number.
        credit = Credit(
            records: min(Self.window.records, credit.records + min(more.records, Self.window.records)),
            bytes: min(Self.window.bytes, credit.bytes + min(more.bytes, Self.window.bytes)))
        isShort = false
        return closed
    }

    /// Notes that answers are in the store.
    mutating func settled(_ numbers: some Sequence<Int64>, reached: Int64) {
        inFlight.subtract(numbers)
        settledReached = max(settledReached, reached)
    }

    /// Everything up to this sequence was checked and is answered.
    var reached: Int64 { open.values.lazy.compactMap(\.first).min().map { $0 - 1 } ?? position }

    /// Bytes in flight.
    var openBytes: Int { open.values.reduce(0) { $0 + $1.cost.bytes } }
}
