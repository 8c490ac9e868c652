/// A command byte of the HS4 and HS4S.
///
/// Known from the vendor's software; there is no published capture.
public enum HS4Command: UInt8, Sendable, Hashable, CaseIterable {
    /// Host: open a measurement.
    ///
    /// Scale: accepted or refused.
    case measure = 0x32
    /// Host: open the memory and set the clock.
    ///
    /// Scale: ready.
    case openMemory = 0x33
    /// Scale: an error.
    ///
    /// Host: received.
    case error = 0x34
    /// Scale: an unsettled weight.
    case unstableWeight = 0x35
    /// Scale: the weight.
    ///
    /// Host: received.
    case stableWeight = 0x36
    /// Host: stop the current activity.
    ///
    /// Scale: idle.
    case stop = 0x39
    /// Both: the number of records.
    case memorySummary = 0x41
    /// Both: the next record.
    case memoryRecord = 0x42
    /// Scale: its identity.
    ///
    /// Host: received.
    case identity = 0xF0
    /// Host: request the identity.
    case identify = 0xF1
    /// Host: a nonce, the first step of the log-in.
    case logInNonce = 0xFA
    /// Scale: a challenge.
    case logInChallenge = 0xFB
    /// Host: the answer.
    case logInAnswer = 0xFC
    /// Scale: accepted.
    case logInAccepted = 0xFD
    /// Scale: refused.
    case logInRefused = 0xFE
    /// Scale: begin the log-in again.
    case logInAgain = 0xFF
}

/// The unit that a HS4 displays; the protocol always uses kilograms.
public enum ScaleDisplayUnit: UInt8, Sendable, Hashable, CaseIterable {
    case kilograms = 1
    case pounds = 2
    case stones = 3
}

/// The content of a message from a HS4.
public enum HS4ScaleMessage: Sendable, Hashable {
    /// The measurement is open, or (false) refused.
    case measure(accepted: Bool)
    case memoryReady(Bool)
    case error(UInt8)
    /// Tenths of a kilogram.
    case unstableWeight(Int)
    /// Tenths of a kilogram.
    case stableWeight(Int)
    /// Whether it is idle now, and so accepts a new command.
    case stopped(isIdle: Bool)
    /// 0 for no records; otherwise there are records, probably in this number.
    case memorySummary(UInt8)
    case memoryRecord(HS4Record)
    case identity(ScaleIdentity)
    case logIn(LogInMessage)
    /// A command without a known meaning.
    case unknown
    /// A known command whose data has the wrong length.
    case malformed

    /// Reads a message.
    ///
    /// It never fails: content that cannot be understood becomes `unknown` or `malformed`.
    public init(_ message: FamilyMessage) {
        let data = message.data
        switch HS4Command(rawValue: message.command) {
        case .measure: self = data.isEmpty ? .malformed : .measure(accepted: data[0] != 1)
        case .openMemory: self = data.isEmpty ? .malformed : .memoryReady(data[0] == 2)
        case .error: self = data.count == 1 ? .error(data[0]) : .malformed
        case .unstableWeight: self = data.count == 2 ? .unstableWeight(Int(bigEndian: data[...])) : .malformed
        case .stableWeight: self = data.count == 2 ? .stableWeight(Int(bigEndian: data[...])) : .malformed
        case .stop: self = data.count == 1 ? .stopped(isIdle: data[0] == 3) : .malformed
        case .memorySummary: self = data.count >= 2 ? .memorySummary(data[1]) : .malformed
        case .memoryRecord: self = HS4Record(data).map { .memoryRecord($0) } ?? .malformed
        case .identity: self = ScaleIdentity(data).map { .identity($0) } ?? .malformed
        case .logInChallenge: self = .logIn(.challenge(data))
        case .logInAccepted: self = .logIn(.accepted)
        case .logInRefused: self = .logIn(.refused)
        case .logInAgain: self = .logIn(.again)
        case .identify, .logInNonce, .logInAnswer, nil: self = .unknown
        }
    }
}

/// The scale's messages in the log-in that HS4 and HS5 share.
public enum LogInMessage: Sendable, Hashable {
    case challenge([UInt8])
    case accepted
    case refused
    /// Begin again at the first step.
    case again
}

/// The content of a message from the host to a HS4.
public enum HS4HostMessage: Sendable, Hashable {
    /// `user` is the host's number of the person; the order of unit and user is inferred, not captured.
    case measure(WallTime, unit: ScaleDisplayUnit, user: UInt32)
    case openMemory(WallTime)
    case memorySummary
    case memoryRecord
    case stop
    /// Confirms that the scale's `34` or `36` has arrived.
    case confirm(HS4Command)
    case identify
    case logInNonce([UInt8])
    case logInAnswer([UInt8])
    /// A command that the scale does not know, or data of the wrong form.
    case unknown

    /// The transmitted command and data; `nil` for a time outside the years 0–65535, and for `unknown`.
    public var content: (command: UInt8, data: [UInt8])? {
        switch self {
        case .measure(let time, let unit, let user):
            time.family7.map { (HS4Command.measure.rawValue, $0 + [unit.rawValue] + user.bigEndianBytes) }
        case .openMemory(let time): time.family7.map { (HS4Command.openMemory.rawValue, $0) }
        case .memorySummary: (HS4Command.memorySummary.rawValue, [])
        case .memoryRecord: (HS4Command.memoryRecord.rawValue, [])
        case .stop: (HS4Command.stop.rawValue, [1])
        case .confirm(let command): (command.rawValue, [])
        case .identify: (HS4Command.identify.rawValue, [])
        case .logInNonce(let nonce): (HS4Command.logInNonce.rawValue, nonce)
        case .logInAnswer(let answer): (HS4Command.logInAnswer.rawValue, answer)
        case .unknown: nil
        }
    }
}

/// A record of a HS4's memory: 16 bytes.
public struct HS4Record: Sendable, Hashable {
    /// The bytes as the scale sent them, including those without a known meaning.
    public let bytes: [UInt8]

    /// Returns `nil` for any other number of bytes.
    public init?(_ data: [UInt8]) {
        guard data.count == 16 else { return nil }
        bytes = data
    }

    /// A record of a weighing; `nil` outside the years 0–65535 or 0–6553.5 kg.
    public init?(_ time: WallTime, tenthsOfKilogram: Int, more: UInt8) {
        guard let date = time.family7, let weight = UInt16(exactly: tenthsOfKilogram) else { return nil }
        bytes = [0, 0, 1, more] + date + [UInt8(weight >> 8), UInt8(truncatingIfNeeded: weight), 0, 0, 0]
    }

    /// If not 0, more records follow, perhaps in this number.
    public var more: UInt8 { bytes[3] }
    /// The nine bytes of time and weight, the identity of this weighing.
    public var key: [UInt8] { Array(bytes[4..<13]) }
    /// The time on the scale's clock; `nil` if its bytes are not a date.
    public var time: WallTime? { WallTime(family7: bytes[4..<11]) }
    public var tenthsOfKilogram: Int { Int(bigEndian: bytes[11..<13]) }
}
