package import HubWire

/// A sink's side of Protocol §10 as a state machine: events in, messages out, without sockets or clock.
///
/// Subscriptions are requested again in every session. A delivery leaves as a ticket and comes back with its results. Deliveries that were open
/// when their session or subscription ended are void, because the hub delivers them again (R10.3).
package struct ClientWants: Sendable {
    /// The caller's handle of a delivery.
    package struct Ticket: Hashable, Sendable {
        package let want: String
        let delivery: Int64
        /// Identifies the WANT that the delivery belongs to.
        let turn: Int
    }

    /// The meaning of a hub message for the sink.
    package enum Event: Hashable, Sendable {
        /// The subscription is open or, in mode `once`, no deliverable record is left.
        case opened(WantAnswer)
        /// Deliver these records, then call ``done(_:results:pause:)``.
        case deliver(Ticket, RawRecords)
        /// Ask again with ``again(_:)`` after the given number of milliseconds.
        case wait(String, Int64)
        /// The hub refuses this subscription to this session.
        case refused(String, WireError)
    }

    private struct Entry: Sendable {
        let request: WantRequest
        /// 0 before the first WANT.
        var turn = 0
        var isAsked = false
        var open: [Int64: Credit] = [:]
    }

    private var entries: [String: Entry] = [:]
    /// The names of the subscriptions, in their order.
    package private(set) var names: [String] = []
    private var lastTurn = 0
    private var isFinishing = false

    package init() {}

    /// Adds a subscription; it replaces an earlier one with the same name.
    package mutating func add(_ request: WantRequest) {
        if entries.updateValue(Entry(request: request), forKey: request.want) == nil { names.append(request.want) }
    }

    package var isEmpty: Bool { names.isEmpty }

    /// Whether the subscription is requested in exactly this form.
    package func has(_ request: WantRequest) -> Bool { entries[request.want]?.request == request }

    /// Removes a subscription; later deliveries of it in this session are ignored.
    package mutating func remove(_ want: String) {
        entries[want] = nil
        names.removeAll { $0 == want }
    }

    /// The number of unanswered deliveries.
    package var openDeliveries: Int { entries.values.reduce(0) { $0 + $1.open.count } }

    /// The messages that request all subscriptions in a new session.
    package mutating func opened() -> [ClientMessage] { names.compactMap { again($0) } }

    /// Requests one subscription again; its open deliveries become void.
    package mutating func again(_ want: String) -> ClientMessage? {
        guard !isFinishing, var entry = entries[want] else { return nil }
        lastTurn += 1
        (entry.turn, entry.isAsked, entry.open) = (lastTurn, true, [:])
        entries[want] = entry
        return .want(entry.request)
    }

    /// Voids the open deliveries, because the session is over.
    package mutating func lost() {
        for name in names {
            entries[name]?.isAsked = false
            entries[name]?.open = [:]
        }
    }

    /// Passes on no deliveries from now on; open deliveries can still be answered.
    package mutating func finish() { isFinishing = true }

    /// Interprets a message of the hub; `nil` if it concerns none of these subscriptions or is out of date.
    package mutating func receive(_ message: HubMessage) -> Event? {
        switch message {
        case .want(let answer):
            return entries[answer.want]?.isAsked == true ? .opened(answer) : nil
        case .deliver(let delivery):
            guard !isFinishing, let entry = entries[delivery.want], entry.isAsked else { return nil }
            entries[delivery.want]?.open[delivery.delivery] = delivery.cost
            let ticket = Ticket(want: delivery.want, delivery: delivery.delivery, turn: entry.turn)
            return .deliver(ticket, delivery.records)
        case .error(let error):
            // An error with `ref` concerns a DONE, and the hub continues without it.
            guard let want = error.want, error.ref == nil, entries[want]?.isAsked == true else { return nil }
            entries[want]?.isAsked = false
            entries[want]?.open = [:]
            if error.code == .store || error.code == .stopping { return .wait(want, error.after ?? 1_000) }
            return .refused(want, error)
        default: return nil
        }
    }

    /// The answer to a delivery, which returns its credit.
    ///
    /// - Parameters:
    ///   - results: one result per record, in their order.
    ///   - pause: how many milliseconds the sink wants no deliveries for this subscription.
    /// - Returns: `nil` if the hub no longer waits for the answer.
    package mutating func done(_ ticket: Ticket, results: [DeliveryResult], pause: Int64? = nil) -> ClientMessage? {
        guard let entry = entries[ticket.want], entry.turn == ticket.turn,
            let cost = entries[ticket.want]?.open.removeValue(forKey: ticket.delivery)
        else { return nil }
        return .done(
            DeliveryReport(
                want: ticket.want, delivery: ticket.delivery, results: results, credit: cost, pause: pause))
    }
}
