public import ScaleProtocols

/// The scale's side of a dialogue, as a value: a stand-in that answers as the notes say and can be made to fail.
///
/// Inputs go in, actions come out; no sockets and no clock of its own. Keep it across connections: a scale stays powered.
public protocol ScaleStandIn: Sendable {
    /// The uptime at which to call with ``StandInInput/tick``; nil where nothing is waited for.
    var deadline: Duration? { get }
    /// Takes what has happened and returns what to do about it, in order.
    mutating func handle(_ input: StandInInput, at now: ScaleMoment) -> [StandInAction]
}

/// What happens to a stand-in.
public enum StandInInput: Sendable, Hashable {
    /// A host is connected.
    case linkOpened
    /// Bytes came from the host, cut anywhere.
    case received([UInt8])
    /// The link is gone.
    case linkClosed
    case tick
    /// Someone steps on and off.
    case weigh(StandInWeighing)
    /// A weighing gets into the memory without being reported, as while no host was near.
    case store(StandInWeighing, at: WallTime)
    /// The scale reports this error byte.
    case fail(UInt8)
    /// Its clock jumps by this many seconds.
    case moveClock(seconds: Int)
    /// Batteries out and in: the link ends, the memory stays.
    case restart
}

/// One weighing as a person makes it.
public struct StandInWeighing: Sendable, Hashable {
    public var tenthsOfKilogram: Int
    /// On a scale that measures it.
    public var composition: HS5Record.Composition?
    /// Whose number the scale takes it to be; nil: the user of the open measurement.
    public var user: UInt32?
    /// What the scale's clock shows; nil: what it shows now.
    ///
    /// A HS4 tells no time with a weight of the moment; it counts when the weighing is stored.
    public var time: WallTime?

    public init(
        tenthsOfKilogram: Int, composition: HS5Record.Composition? = nil, user: UInt32? = nil, time: WallTime? = nil
    ) {
        (self.tenthsOfKilogram, self.composition, self.user) = (tenthsOfKilogram, composition, user)
        self.time = time
    }
}

/// What the driver of a stand-in has to do, in order.
public enum StandInAction: Sendable, Hashable {
    /// Write these bytes to the link: one frame.
    case send([UInt8])
    /// Drop the link.
    case hangUp
    /// Report this.
    case event(StandInEvent)
}

/// What a stand-in has to tell its operator.
public enum StandInEvent: Sendable, Hashable {
    /// A host has opened a session.
    case sessionOpened
    /// A host has set the clock.
    case clockSet(WallTime)
    /// A weighing is in the memory, by its key.
    case stored([UInt8])
    /// The host has acknowledged a weighing, by its key: the scale does not hold it for it any more.
    case acknowledged([UInt8])
    /// A memory transfer begins with this many records.
    case transferStarted(Int)
    /// The host has acknowledged the last record.
    case transferFinished
    /// A fault has just been carried out.
    case fault(String)
    /// What was asked of it was refused, and why.
    case refused(String)
}
