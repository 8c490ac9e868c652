package import HubWire

/// A sink's side of Protocol §10: events in, messages out, no sockets and no clock.
///
/// Subscriptions are asked for again in every session. A delivery leaves as a ticket and comes back with its results; what was open
/// when its session or its subscription ended is void, because the hub delivers it again (R10.3).
package struct ClientWants: Sendable {
    /// The caller's handle of a delivery.
    package struct Ticket: Hashable, Sendable {
        package let want: String
        let delivery: Int64
        /// Which WANT it belongs to.
        let turn: Int
    }

    /// What a message of the hub means to the sink.
    package enum Event: Hashable, Sendable {
        /// The subscription is open, or, in mode `once`, nothing is left that could be delivered now.
        case opened(WantAnswer)
        /// Do something with these records, then call ``done(_:results:pause:)``.
        case deliver(Ticket, RawRecords)
        /// Ask again by ``again(_:)`` after so many milliseconds.
        case wait(String, Int64)
        /// The hub does not give this subscription to this session.
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
    /// What is asked for, in its order.
    package private(set) var names: [String] = []
    private var lastTurn = 0
    private var isFinishing = false

    package init() {}

    /// Adds a subscription; a second of the same name takes the place of the first.
    package mutating func add(_ request: WantRequest) {
        if entries.updateValue(Entry(request: request), forKey: request.want) == nil { names.append(request.want) }
    }

    package var isEmpty: Bool { names.isEmpty }

    /// Whether it is asked for in exactly this way.
    package func has(_ request: WantRequest) -> Bool { entries[request.want]?.request == request }

    /// Wants a subscription no more; what the hub still delivers of it in this session has no meaning.
    package mutating func remove(_ want: String) {
        entries[want] = nil
        names.removeAll { $0 == want }
    }

    /// Deliveries that are not answered.
    package var openDeliveries: Int { entries.values.reduce(0) { $0 + $1.open.count } }

    /// A session is open: the messages that ask for all subscriptions.
    package mutating func opened() -> [ClientMessage] { names.compactMap { again($0) } }

    /// Asks for one subscription once more; what is open of it becomes void.
    package mutating func again(_ want: String) -> ClientMessage? {
        guard !isFinishing, var entry = entries[want] else { return nil }
        lastTurn += 1
        (entry.turn, entry.isAsked, entry.open) = (lastTurn, true, [:])
        entries[want] = entry
        return .want(entry.request)
    }

    /// The session is over.
    package mutating func lost() {
        for name in names {
            entries[name]?.isAsked = false
            entries[name]?.open = [:]
        }
    }

    /// No delivery is handed out from now on; those that are open can still be answered.
    package mutating func finish() { isFinishing = true }

    /// A message of the hub; `nil` when it is none of these subscriptions' or has no meaning any more.
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
            // With `ref` it is about a DONE, and the hub goes on without it.
            guard let want = error.want, error.ref == nil, entries[want]?.isAsked == true else { return nil }
            entries[want]?.isAsked = false
            entries[want]?.open = [:]
            if error.code == .store || error.code == .stopping { return .wait(want, error.after ?? 1_000) }
            return .refused(want, error)
        default: return nil
        }
    }

    /// The answer to a delivery, which gives back the credit it cost.
    ///
    /// - Parameters:
    ///   - results: one per record, in their order.
    ///   - pause: for so many milliseconds the sink wants nothing more of this subscription.
    /// - Returns: `nil` when the hub does not wait for it any more.
    package mutating func done(_ ticket: Ticket, results: [DeliveryResult], pause: Int64? = nil) -> ClientMessage? {
        guard let entry = entries[ticket.want], entry.turn == ticket.turn,
            let cost = entries[ticket.want]?.open.removeValue(forKey: ticket.delivery)
        else { return nil }
        return .done(
            DeliveryReport(
                want: ticket.want, delivery: ticket.delivery, results: results, credit: cost, pause: pause))
    }
}
