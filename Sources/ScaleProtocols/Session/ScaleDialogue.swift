/// The host's side of the dialogue with one scale, as a value: inputs go in, actions come out; no sockets and no clock of its own.
///
/// Keep it across connections: it remembers the weighings it was told are kept, so that a repeat is acknowledged without a second
/// delivery. Its driver calls ``handle(_:at:)`` for everything that happens, carries out the actions in order, and calls it with
/// ``ScaleInput/tick`` when ``deadline`` comes. What the scale holds is acknowledged only after ``ScaleInput/kept(_:)``.
public protocol ScaleDialogue: Sendable {
    /// The uptime at which to call with ``ScaleInput/tick``; nil where nothing is waited for.
    var deadline: Duration? { get }
    /// Whether the session is open and weights that come are those of this moment.
    var isMeasuring: Bool { get }
    /// Which scale the session is with, as it says itself; nil where it does not, or no session is open.
    var deviceID: String? { get }
    /// Takes what has happened and returns what to do about it, in order; any bytes may come from the scale.
    mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction]
}

extension ScaleDialogue {
    public var deviceID: String? { nil }
}

/// Names a delivery until it is answered.
public struct ScaleToken: Sendable, Hashable {
    let number: Int
}

/// What happens to a dialogue.
public enum ScaleInput: Sendable, Hashable {
    /// The link to the scale is open.
    ///
    /// Ends an earlier one, if it was still open.
    case linkOpened
    /// Whose link opens next: the address of the machine at its other end, where there is one.
    case caller(String?)
    /// The link is open, with a program that has greeted and proved itself in an ``HSLHandshakes``.
    ///
    /// In place of ``linkOpened``, and for HSL/1 alone.
    case greeted(HSLGreeting)
    /// Another program has proved itself and waits: find out whether the other end of the link is still there.
    case contested
    /// Bytes came from the scale: cut anywhere on a stream, one datagram otherwise.
    case received([UInt8])
    /// The readings of this delivery are durable: acknowledge them.
    case kept(ScaleToken)
    /// They could not be kept: do not acknowledge.
    ///
    /// The scale sends them again, and they are delivered again.
    case notKept(ScaleToken)
    /// The deadline has come.
    ///
    /// Too early or too often does no harm.
    case tick
    /// End the session from this side.
    case stop
    /// The link is gone.
    case linkClosed
    /// A command asks a scale for something beside weighings; ``ScaleEvent/userList(_:)`` or ``ScaleEvent/userResult(_:)`` follows.
    ///
    /// One that comes while another is not done is refused with `userResult(false)`. `of` is the scale's id; nil: the only one.
    case command(ScaleCommand, of: String? = nil)
    /// The command that was asked last is not wanted any more.
    ///
    /// It is refused if the scale does not have it yet; otherwise its answer comes.
    case withdraw(of: String? = nil)
    /// How tall people are, in centimetres, for a program that hands it to the vendor's software: `anyone` who measures on a scale without
    /// users, and each user of the scale with this id by serial number.
    case heights(anyone: Int?, bySerial: [UInt32: Int], of: String? = nil)
}

/// What a scale can be asked for beside weighings; what its model does not know is refused.
public enum ScaleCommand: Sendable, Hashable {
    case listUsers
    /// At this position, or the first one that is free.
    case createUser(HS5Profile, at: HS5Position?)
    case modifyUser(HS5Profile)
    case deleteUser(serial: UInt32)
    /// Open the measurement for this user from now on; nil: for no one, weighings are then read from the memory.
    ///
    /// Not answered: it is tried whenever a measurement is opened.
    case measure(serial: UInt32?)
    /// Whether the scale calls the host by itself; ``ScaleEvent/commandResult(_:)`` follows.
    ///
    /// HS3 from firmware 1.0.2, and only over a bridge: on the wire it is not known.
    case autoConnect(Bool)
    /// Fetch what the scale has put into the vendor's cloud; ``ScaleEvent/commandResult(_:)`` follows the records.
    ///
    /// HS5, and only over a bridge.
    case cloud

    /// Display this unit from now on; ``ScaleEvent/commandResult(_:)`` follows.
    ///
    /// HS4.
    case display(ScaleDisplayUnit)

    /// What is said of it where it cannot be done.
    var refusal: ScaleEvent {
        switch self {
        case .listUsers, .createUser, .modifyUser, .deleteUser, .measure: .userResult(false)
        case .autoConnect, .cloud, .display: .commandResult(false)
        }
    }
}

/// What the driver of a dialogue has to do, in order.
public enum ScaleAction: Sendable, Hashable {
    /// Write these bytes: one whole frame.
    case send([UInt8])
    /// Write these bytes to all that may be the scale; on a link with one other end, the same as ``send(_:)``.
    case search([UInt8])
    /// The sender of the bytes that were handed in last is the scale: ``send(_:)`` reaches it from now on.
    ///
    /// Has a meaning only where several can send, and comes before the first bytes for the scale.
    case settle
    /// Make these readings durable, then say so.
    case deliver(ScaleDelivery)
    /// What follows is of the scale with this id, until the next such action; on a link with several scales behind it.
    case of(String)
    /// Report this.
    case event(ScaleEvent)
    /// Close the link, then say ``ScaleInput/linkClosed``.
    case close
}

/// Weighings the scale may forget once they are acknowledged, so keep them durably first: by key, for one may come twice.
public struct ScaleDelivery: Sendable, Hashable {
    /// Where weighings come from.
    public enum Source: Sendable, Hashable {
        /// The scale's memory.
        case memory
        /// Someone has just stood on the scale.
        case weighing
        /// The vendor's cloud, by way of a bridge.
        case cloud
    }

    public let token: ScaleToken
    public let source: Source
    /// At least one; none that this dialogue has kept before.
    public let readings: [ScaleReading]
}

/// A weighing, decoded.
public struct ScaleReading: Sendable, Hashable {
    /// What makes this weighing this one: undecoded bytes, time first.
    public let key: [UInt8]
    /// What the scale's clock showed; the host's for a weight that came without a time; nil where its bits are no
    /// date, or one in UTC.
    public let time: WallTime?
    public let tenthsOfKilogram: Int
    /// What the body is made of, in the wire's numbers; nil where the scale does not measure it.
    public let composition: HS5Record.Composition?
    /// The scale's number of the person; nil on a scale without users.
    public let user: UInt32?
    /// The bytes it was read from.
    public let raw: [UInt8]
    /// Whether ``time`` is the host's, because the weight came without one.
    public let isDatedByHost: Bool
    /// When it was, in seconds since 2000-01-01T00:00:00Z, where that is what is known and no wall clock's time is.
    public let instant: Int?
    /// The key of the weight alone, where that came before its composition and has another: both are one weighing.
    public let shownAs: [UInt8]?

    public init(
        key: [UInt8], time: WallTime?, tenthsOfKilogram: Int, composition: HS5Record.Composition? = nil,
        user: UInt32? = nil, raw: [UInt8], isDatedByHost: Bool = false,
        instant: Int? = nil, shownAs: [UInt8]? = nil
    ) {
        (self.key, self.time, self.tenthsOfKilogram) = (key, time, tenthsOfKilogram)
        (self.composition, self.user, self.raw, self.isDatedByHost) = (composition, user, raw, isDatedByHost)
        (self.instant, self.shownAs) = (instant, shownAs)
    }

    /// The same weighing with what a clock on the wall showed at its ``instant``.
    public func placed(at wall: WallTime) -> ScaleReading {
        ScaleReading(
            key: key, time: wall, tenthsOfKilogram: tenthsOfKilogram, composition: composition, user: user, raw: raw,
            isDatedByHost: isDatedByHost, instant: instant, shownAs: shownAs)
    }

    /// The same as the rest of a weighing whose `weight` came alone; unchanged where they cannot be one.
    func following(_ weight: ScaleReading) -> ScaleReading {
        let isSameUser = user == weight.user || user == nil || weight.user == nil
        guard tenthsOfKilogram == weight.tenthsOfKilogram, isSameUser else { return self }
        return ScaleReading(
            key: key, time: time, tenthsOfKilogram: tenthsOfKilogram, composition: composition,
            user: user ?? weight.user, raw: raw, isDatedByHost: isDatedByHost, instant: instant,
            shownAs: weight.key == key ? nil : weight.key)
    }

    /// Whether more than the weight was measured.
    public var isComposed: Bool { composition.map { $0 != .none } ?? false }

    /// The weight in kilograms.
    public var kilograms: Double { Double(tenthsOfKilogram) / 10 }
}

/// What a session has to tell, as the vendor's callbacks do.
public enum ScaleEvent: Sendable, Hashable {
    /// The session is open; who the scale says it is, where it does.
    case connected(ScaleIdentity?)
    /// The link is gone.
    case disconnected
    /// What the scale's clock shows, and by how many seconds it is ahead of the host's; on a scale that says so.
    case clock(WallTime, skewSeconds: Int)
    /// The scale's clock has been set to the host's.
    case clockSet
    /// The memory transfer begins, or (false) the scale did not answer the request for it.
    case memoryStart(Bool)
    /// How many records the scale announces.
    case memoryCount(Int)
    /// A record of the memory that is kept; `isRepeat` where it had been kept before.
    case memoryRecord(ScaleReading, isRepeat: Bool)
    /// The part of the transfer that is done: rises, and is 1.0 exactly once.
    case memoryProgress(Double)
    /// The transfer is complete; how many readable records it had.
    case memoryFinish(records: Int)
    /// A weight that still settles, in tenths of a kilogram.
    case unstableWeight(Int)
    /// The weight of this moment; kept when the delivery is, which with composition is later.
    case stableWeight(ScaleReading, isRepeat: Bool)
    /// The weight while the impedance is measured, in tenths of a kilogram.
    case impedanceWeight(Int)
    /// A weighing with composition that is kept.
    case bodyComposition(ScaleReading, isRepeat: Bool)
    /// The users of the scale by position.
    case userList([UInt32?])
    /// What became of a change to the users.
    case userResult(Bool)
    /// What became of another command.
    case commandResult(Bool)
    /// Why the command that was asked for is not done, in a sentence for a person; its result follows.
    case commandRefused(String)
    /// Whether the person may use the scale, as a bridge has found out.
    case authentication(UserAuthentication)
    /// The number that the vendor's software has for the person.
    case userSerial(UInt32)
    /// A record of the vendor's cloud that is kept.
    case cloudRecord(ScaleReading, isRepeat: Bool)
    /// How full the battery is, in percent.
    case battery(Int)
    /// The scale reports an error, or the host has found one.
    case deviceError(ScaleError)
    /// The scale said something it should not have.
    case protocolWarning(ScaleWarning)
}
