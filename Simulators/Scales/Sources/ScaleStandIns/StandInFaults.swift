public import ScaleProtocols

/// The kinds of stand-ins that have a fault.
public struct StandInKind: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let hs3 = StandInKind(rawValue: 1)
    public static let hs4 = StandInKind(rawValue: 2)
    public static let hs5 = StandInKind(rawValue: 4)
    public static let hsl = StandInKind(rawValue: 8)
}

/// The faults to simulate; each kind of stand-in has some of them.
///
/// Numbers called *every* count from 1: 3 means the third, sixth, ninth… A frame that a fault has truncated or damaged is not acknowledged, so
/// the scale repeats it without the fault.
public struct StandInFaults: Sendable, Hashable {
    /// Every n-th new message is first sent with a wrong checksum in its last frame.
    public var badChecksumEvery: Int?
    /// Every n-th command of the host is executed but not acknowledged.
    ///
    /// Its repetition is acknowledged.
    public var loseAcknowledgementEvery: Int?
    /// Every n-th new message of the scale is sent twice with the same number.
    public var repeatEvery: Int?
    /// Every n-th message of the host is ignored, including acknowledgements.
    public var deafEvery: Int?
    /// HS5: every n-th datagram of the scale is lost.
    public var loseEvery: Int?
    /// HS4: every n-th message with several fragments lacks its first one the first time.
    public var losePieceEvery: Int?
    /// HS4: every n-th message with several fragments is sent in reverse order.
    public var shuffleEvery: Int?
    /// HSL: an invalid JSON line precedes every n-th line.
    public var badLineEvery: Int?
    /// HSL: sends one line longer than the protocol allows.
    public var overlongLine = false
    /// The next new frame of the scale stops after this many bytes; once.
    public var cutAt: Int?
    /// This many meaningless bytes, including head bytes, precede each message.
    public var garbage = 0
    /// All output is split into chunks of this many bytes; simultaneous messages are joined first.
    public var pieces: Int?
    /// The battery falls out after this many records of a memory transfer; once.
    public var powerOffAfterRecords: Int?
    /// HS5: the scale disappears after this many packets of records; once.
    public var powerOffAfterPackets: Int?
    /// Every n-th record sent has a weight nibble above 9.
    public var badDigitEvery: Int?
    /// Every n-th record sent is dated month 0, day 0.
    public var zeroDateEvery: Int?
    /// The announced number of records, whatever the real one.
    public var announcedCount: Int?
    /// The weight in tenths of a kilogram of a weighing that happens as soon as a link is open, before any `23`; once.
    public var weighOnLink: Int?
    public var refusesLogIn = false
    public var ignoresLogIn = false
    /// How often the scale asks to restart the log-in.
    public var logInAgain = 0
    public var refusesMeasurement = false
    public var refusesMemory = false
    /// Changes to the users fail.
    public var refusesUsers = false
    /// How often the scale reports that it is busy.
    public var busy = 0
    /// People weigh with shoes on.
    public var losesComposition = false
    /// HS5: how long the scale is silent before this message of a weighing.
    public var silence: [FamilyCommand: Duration] = [:]
    /// HSL: the check of the person is not answered.
    public var ignoresAuthentication = false
    /// HSL: the token is not proved.
    public var wrongProof = false
    /// HSL: acknowledgements are ignored.
    public var losesAcknowledgements = false

    /// No faults.
    public init() {}
}
