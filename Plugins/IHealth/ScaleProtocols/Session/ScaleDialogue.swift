/// The host's side of the dialogue with one scale, as a value: inputs go in, actions come out, without sockets or clock.
///
/// Keep it across connections: it remembers the stored weighings, so that a repeated one is acknowledged without a second delivery. The driver
/// calls ``handle(_:at:)`` for each input, performs the actions in order, and calls it with ``ScaleInput/tick`` at ``deadline``. Data of the
/// scale is acknowledged only after ``ScaleInput/kept(_:)``.
public protocol ScaleDialogue: Sendable {
    /// The uptime at which to call with ``ScaleInput/tick``; `nil` if there is no deadline.
    var deadline: Duration? { get }
    /// Whether the session is open and received weights are current.
    var isMeasuring: Bool { get }
    /// The id that the scale of the session reports; `nil` if it reports none, or no session is open.
    var deviceID: String? { get }
    /// Handles an input and returns the resulting actions, in order; the scale may send any bytes.
    mutating func handle(_ input: ScaleInput, at now: ScaleMoment) -> [ScaleAction]
}

extension ScaleDialogue {
    public var deviceID: String? { nil }
}

/// Identifies a delivery until it is answered.
public struct ScaleToken: Sendable, Hashable {
    let number: Int
}

/// An input to a dialogue.
public enum ScaleInput: Sendable, Hashable {
    /// The link to the scale is open.
    ///
    /// It ends an earlier link that is still open.
    case linkOpened
    /// The address of the machine at the other end of the next link, if it has one.
    case caller(String?)
    /// The link is open, with a program that has greeted and proved itself in an ``HSLHandshakes``.
    ///
    /// It replaces ``linkOpened`` and is used only for HSL/1.
    case greeted(HSLGreeting)
    /// Another program has proved itself and waits: check whether the other end of the link is still alive.
    case contested
    /// Bytes from the scale: split at any position on a stream, otherwise one datagram.
    case received([UInt8])
    /// The readings of this delivery are durable: acknowledge them.
    case kept(ScaleToken)
    /// The readings could not be stored: do not acknowledge them.
    ///
    /// The scale sends them again, and they are delivered again.
    case notKept(ScaleToken)
    /// The deadline has passed.
    ///
    /// Sending it too early or too often is harmless.
    case tick
    /// End the session from this side.
    case stop
    /// The link is closed.
    case linkClosed
    /// A command for the scale; ``ScaleEvent/userList(_:)`` or ``ScaleEvent/userResult(_:)`` follows.
    ///
    /// If another command is in progress, it is refused with `userResult(false)`. `of` is the scale's id; `nil` for the only scale.
    case command(ScaleCommand, of: String? = nil)
    /// Withdraws the last command.
    ///
    /// It is refused if the scale does not have it yet; otherwise its answer follows.
    case withdraw(of: String? = nil)
    /// The heights of people in centimetres, for a program that passes them to the vendor's software.
    ///
    /// `anyone` applies to a scale without users, the others to the users of the scale with this id, by serial number.
    case heights(anyone: Int?, bySerial: [UInt32: Int], of: String? = nil)
}

/// A command for a scale; a model refuses commands that it does not support.
public enum ScaleCommand: Sendable, Hashable {
    case listUsers
    /// Creates a user at this position, or at the first free one.
    case createUser(HS5Profile, at: HS5Position?)
    case modifyUser(HS5Profile)
    case deleteUser(serial: UInt32)
    /// Opens the measurement for this user from now on; `nil` for no user, and weighings are then read from the memory.
    ///
    /// It has no answer: it is attempted whenever a measurement is opened.
    case measure(serial: UInt32?)
    /// Sets whether the scale dials the host; ``ScaleEvent/commandResult(_:)`` follows.
    ///
    /// Only for HS3 from firmware 1.0.2, and only over a bridge, because its form in the scale's own protocol is unknown.
    case autoConnect(Bool)
    /// Fetches the scale's records from the vendor's cloud; ``ScaleEvent/commandResult(_:)`` follows the records.
    ///
    /// Only for HS5, and only over a bridge.
    case cloud

    /// Sets the displayed unit; ``ScaleEvent/commandResult(_:)`` follows.
    ///
    /// Only for HS4.
    case display(ScaleDisplayUnit)

    /// The event that reports a refusal.
    var refusal: ScaleEvent {
        switch self {
        case .listUsers, .createUser, .modifyUser, .deleteUser, .measure: .userResult(false)
        case .autoConnect, .cloud, .display: .commandResult(false)
        }
    }
}

/// An action for the driver of a dialogue; perform actions in order.
public enum ScaleAction: Sendable, Hashable {
    /// Write these bytes: one whole frame.
    case send([UInt8])
    /// Write these bytes to all possible scales; on a link with a single other end it is the same as ``send(_:)``.
    case search([UInt8])
    /// Make the sender of the last bytes the scale that ``send(_:)`` reaches.
    ///
    /// It matters only if several senders are possible, and comes before the first bytes for the scale.
    case settle
    /// Store these readings durably, then report the result.
    case deliver(ScaleDelivery)
    /// The following actions concern the scale with this id, until the next such action; on a link with several scales behind it.
    case of(String)
    /// Report this.
    case event(ScaleEvent)
    /// Close the link, then send ``ScaleInput/linkClosed``.
    case close
}

/// Weighings that the scale may forget after the acknowledgement; store them durably first, by key, because one may arrive twice.
public struct ScaleDelivery: Sendable, Hashable {
    /// The origin of weighings.
    public enum Source: Sendable, Hashable {
        /// The scale's memory.
        case memory
        /// A weighing that has just taken place.
        case weighing
        /// The vendor's cloud, through a bridge.
        case cloud
    }

    public let token: ScaleToken
    public let source: Source
    /// At least one reading, and none that this dialogue has already had stored.
    public let readings: [ScaleReading]
}

/// A weighing, decoded.
public struct ScaleReading: Sendable, Hashable {
    /// The identity of this weighing: undecoded bytes, time first.
    public let key: [UInt8]
    /// The time on the scale's clock, or the host's time for a weight that came without one.
    ///
    /// It is `nil` if the bits are not a date, or only a date in UTC is known.
    public private(set) var time: WallTime?
    public let tenthsOfKilogram: Int
    /// The body composition in the protocol's numbers; `nil` if the scale does not measure it.
    public let composition: HS5Record.Composition?
    /// The scale's number of the person; `nil` on a scale without users.
    public private(set) var user: UInt32?
    /// The bytes of the reading.
    public let raw: [UInt8]
    /// Whether ``time`` is the host's time, because the weight came without one.
    public let isDatedByHost: Bool
    /// The instant in seconds since 2000-01-01T00:00:00Z, if it is known instead of a wall time.
    public let instant: Int?
    /// The key of the weight alone, if the weight came before its composition and has another key: both are one weighing.
    public private(set) var shownAs: [UInt8]?

    public init(
        key: [UInt8], time: WallTime?, tenthsOfKilogram: Int, composition: HS5Record.Composition? = nil,
        user: UInt32? = nil, raw: [UInt8], isDatedByHost: Bool = false,
        instant: Int? = nil
    ) {
        (self.key, self.time, self.tenthsOfKilogram) = (key, time, tenthsOfKilogram)
        (self.composition, self.user, self.raw, self.isDatedByHost) = (composition, user, raw, isDatedByHost)
        self.instant = instant
    }

    /// The same weighing with the wall time of its ``instant``.
    public func placed(at wall: WallTime) -> ScaleReading {
        var copy = self
        copy.time = wall
        return copy
    }

    /// Combines the reading with the `weight` of the same weighing that came alone; unchanged if they cannot be the same weighing.
    func following(_ weight: ScaleReading) -> ScaleReading {
        let isSameUser = user == weight.user || user == nil || weight.user == nil
        guard tenthsOfKilogram == weight.tenthsOfKilogram, isSameUser else { return self }
        var copy = self
        copy.user = user ?? weight.user
        copy.shownAs = weight.key == key ? nil : weight.key
        return copy
    }

    /// Whether more than the weight was measured.
    public var isComposed: Bool { composition.map { $0 != .none } ?? false }

    /// The weight in kilograms.
    public var kilograms: Double { Double(tenthsOfKilogram) / 10 }
}

/// An event of a session, like the vendor's callbacks.
public enum ScaleEvent: Sendable, Hashable {
    /// The session is open; includes the identity that the scale reports, if any.
    case connected(ScaleIdentity?)
    /// The link is closed.
    case disconnected
    /// The time on the scale's clock, and the number of seconds it is ahead of the host's; only for a scale that reports it.
    case clock(WallTime, skewSeconds: Int)
    /// The scale's clock has been set to the host's.
    case clockSet
    /// The memory transfer begins or, if false, the scale did not answer the request for it.
    case memoryStart(Bool)
    /// The number of records that the scale announces.
    case memoryCount(Int)
    /// A stored record of the memory; `isRepeat` if it had been stored before.
    case memoryRecord(ScaleReading, isRepeat: Bool)
    /// The completed part of the transfer; it increases, and is 1.0 exactly once.
    case memoryProgress(Double)
    /// The transfer is complete, with this number of readable records.
    case memoryFinish(records: Int)
    /// An unsettled weight, in tenths of a kilogram.
    case unstableWeight(Int)
    /// The current weight; stored with its delivery, which comes later if the weighing has a composition.
    case stableWeight(ScaleReading, isRepeat: Bool)
    /// The weight during the impedance measurement, in tenths of a kilogram.
    case impedanceWeight(Int)
    /// A stored weighing with composition.
    case bodyComposition(ScaleReading, isRepeat: Bool)
    /// The users of the scale by position.
    case userList([UInt32?])
    /// The result of a change to the users.
    case userResult(Bool)
    /// The result of another command.
    case commandResult(Bool)
    /// The reason why the command is not executed, in a sentence for a person; its result follows.
    case commandRefused(String)
    /// The bridge's check of the person's permission to use the scale.
    case authentication(UserAuthentication)
    /// The number of the person in the vendor's software.
    case userSerial(UInt32)
    /// A stored record of the vendor's cloud.
    case cloudRecord(ScaleReading, isRepeat: Bool)
    /// The battery level in percent.
    case battery(Int)
    /// The scale reports an error, or the host has detected one.
    case deviceError(ScaleError)
    /// The scale violated the protocol.
    case protocolWarning(ScaleWarning)
}
