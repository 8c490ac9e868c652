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
        switch FamilyCommand(rawValue: message.command) {
        case .measure: self = data.isEmpty ? .malformed : .measure(accepted: data[0] != 1)
        case .openMemory: self = data.isEmpty ? .malformed : .memoryReady(data[0] == 2)
        case .error: self = data.count == 1 ? .error(data[0]) : .malformed
        case .unstableWeight: self = data.count == 2 ? .unstableWeight(Int(bigEndian: data[...])) : .malformed
        case .stableWeight: self = data.count == 2 ? .stableWeight(Int(bigEndian: data[...])) : .malformed
        case .end: self = data.count == 1 ? .stopped(isIdle: data[0] == 3) : .malformed
        case .memorySummary: self = data.count >= 2 ? .memorySummary(data[1]) : .malformed
        case .memoryRecords: self = HS4Record(data).map { .memoryRecord($0) } ?? .malformed
        case .identity: self = ScaleIdentity(data).map { .identity($0) } ?? .malformed
        default: self = LogInMessage(message).map { .logIn($0) } ?? .unknown
        }
    }
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
    case confirm(FamilyCommand)
    case identify
    case logInNonce([UInt8])
    case logInAnswer([UInt8])
    /// A command that the scale does not know, or data of the wrong form.
    case unknown

    /// The transmitted command and data; `nil` for a time outside the years 0–65535, and for `unknown`.
    public var content: (command: UInt8, data: [UInt8])? {
        func plain(_ command: FamilyCommand, _ data: [UInt8]? = []) -> (UInt8, [UInt8])? {
            data.map { (command.rawValue, $0) }
        }
        switch self {
        case .measure(let time, let unit, let user):
            return plain(.measure, time.family7.map { $0 + [unit.rawValue] + user.bigEndianBytes() })
        case .openMemory(let time): return plain(.openMemory, time.family7)
        case .memorySummary: return plain(.memorySummary)
        case .memoryRecord: return plain(.memoryRecords)
        case .stop: return plain(.end, [1])
        case .confirm(let command): return plain(command)
        case .identify: return plain(.identify)
        case .logInNonce(let nonce): return plain(.logInNonce, nonce)
        case .logInAnswer(let answer): return plain(.logInAnswer, answer)
        case .unknown: return nil
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
        bytes = [0, 0, 1, more] + date + weight.bigEndianBytes() + [0, 0, 0]
    }

    /// If not 0, more records follow, perhaps in this number.
    public var more: UInt8 { bytes[3] }
    /// The nine bytes of time and weight, the identity of this weighing.
    public var key: [UInt8] { Array(bytes[4..<13]) }
    /// The time on the scale's clock; `nil` if its bytes are not a date.
    public var time: WallTime? { WallTime(family7: bytes[4..<11]) }
    public var tenthsOfKilogram: Int { Int(bigEndian: bytes[11..<13]) }
}
