public import ScaleProtocols

/// The scale's side of a dialogue, as a value: a stand-in that follows the protocol notes and can be made to fail.
///
/// Inputs go in, actions come out; it has no sockets and no clock. Keep it across connections, because a scale stays powered.
public protocol ScaleStandIn: Sendable {
    /// The kind, which selects the names of its faults; none for a stand-in without faults.
    static var kind: StandInKind { get }
    /// The active faults.
    ///
    /// They may be changed at any time.
    var faults: StandInFaults { get set }
    /// Whether all its messages are acknowledged.
    var isIdle: Bool { get }
    /// The uptime at which to call with ``StandInInput/tick``; `nil` if there is no deadline.
    var deadline: Duration? { get }
    /// Handles an input and returns the resulting actions, in order.
    mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction]
}

extension ScaleStandIn {
    /// Whether a fault of every n-th message concerns message number `count`.
    func isDue(_ every: Int?, _ count: Int) -> Bool { every.map { $0 > 0 && count % $0 == 0 } ?? false }

    /// Joins and splits the output if a fault requires it.
    func written(_ actions: [StandInAction]) -> [StandInAction] {
        guard let size = faults.pieces, size > 0 else { return actions }
        var (bytes, others): ([UInt8], [StandInAction]) = ([], [])
        for action in actions {
            if case .send(let more) = action { bytes += more } else { others.append(action) }
        }
        let pieces = stride(from: 0, to: bytes.count, by: size).map { start in
            StandInAction.send(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        return pieces + others
    }
}

/// An input to a stand-in.
public enum StandInInput: Sendable, Hashable {
    /// A host is connected.
    case linkOpened
    /// Bytes from the host, split at any position.
    case received([UInt8])
    /// The link is closed.
    case linkClosed
    case tick
    /// Someone steps on and off.
    case weigh(StandInWeighing)
    /// A weighing goes into the memory without being reported, as if no host were near.
    case store(StandInWeighing, at: WallTime)
    /// The scale reports this error byte.
    case fail(UInt8)
    /// The scale's clock jumps by this many seconds.
    case moveClock(seconds: Int)
    /// The batteries are replaced: the link ends, the memory stays.
    case restart
}

/// One weighing of a person.
public struct StandInWeighing: Sendable, Hashable {
    public var tenthsOfKilogram: Int
    /// The body composition, on a scale that measures it.
    public var composition: HS5Record.Composition?
    /// The user number that the scale assigns; `nil` for the user of the open measurement.
    public var user: UInt32?
    /// The time on the scale's clock; `nil` for its current time.
    ///
    /// A HS4 sends no time with a live weight, so the time matters only if the weighing is stored.
    public var time: WallTime?

    public init(
        tenthsOfKilogram: Int, composition: HS5Record.Composition? = nil, user: UInt32? = nil, time: WallTime? = nil
    ) {
        (self.tenthsOfKilogram, self.composition, self.user) = (tenthsOfKilogram, composition, user)
        self.time = time
    }
}

/// An action for the driver of a stand-in; perform actions in order.
public enum StandInAction: Sendable, Hashable {
    /// Write these bytes to the link: one frame.
    case send([UInt8])
    /// Drop the link.
    case hangUp
    /// Report this.
    case event(StandInEvent)
}

/// An event for the operator of a stand-in.
public enum StandInEvent: Sendable, Hashable {
    /// A host has opened a session.
    case sessionOpened
    /// A host has set the clock.
    case clockSet(WallTime)
    /// A weighing is in the memory, by its key.
    case stored([UInt8])
    /// The host has acknowledged the weighing with this key, so the scale no longer holds it for the host.
    case acknowledged([UInt8])
    /// A memory transfer begins with this many records.
    case transferStarted(Int)
    /// The host has acknowledged the last record.
    case transferFinished
    /// A fault has just happened.
    case fault(String)
    /// A command was refused, with the reason.
    case refused(String)
}
