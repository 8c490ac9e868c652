import Platform

/// Six bytes before the checksum that identify the sender of a frame over UDP.
public struct HS5SenderID: Sendable, Hashable, CustomStringConvertible {
    public let bytes: [UInt8]

    /// Returns `nil` if there are not six bytes.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 6 else { return nil }
        self.bytes = Array(bytes)
    }

    /// For bytes whose number is fixed by the calling code.
    package init(checked bytes: [UInt8]) { self.bytes = bytes }

    /// Twelve upper-case hex digits, the form of scale ids.
    public var description: String { bytes.hexadecimal.uppercased() }
}

/// The content of a message from a HS5.
public enum HS5ScaleMessage: Sendable, Hashable {
    /// The user's number by position; `nil` if it is free.
    case users([UInt32?])
    /// Whether the change was made.
    case userCreated(Bool), userModified(Bool), userDeleted(Bool)
    case measure(accepted: Bool)
    /// False if the user is not on the scale.
    case memoryReady(Bool)
    case error(UInt8)
    /// Tenths of a kilogram.
    case unstableWeight(Int), stableWeight(Int), impedanceWeight(Int)
    case composition(HS5Record)
    case ended
    /// 0: no records.
    case memorySummary(UInt8)
    /// The records of a packet, whether more packets follow, and the number of bytes outside records.
    case memoryPacket([HS5Record], more: Bool, announced: Int, trailing: Int)
    case busy
    case identity(ScaleIdentity)
    case cloudTaken(Bool)
    case logIn(LogInMessage)
    case unknown
    case malformed

    /// Reads a message without its sender id.
    ///
    /// It never fails: content that cannot be understood becomes `unknown` or `malformed`.
    public init(_ message: FamilyMessage) {
        let data = message.data
        let isYes = data.first == 1
        func weight(_ make: (Int) -> HS5ScaleMessage) -> HS5ScaleMessage {
            data.count == 2 ? make(Int(bigEndian: data[...])) : .malformed
        }
        switch FamilyCommand(rawValue: message.command) {
        case .users: self = Self.users(in: data).map { .users($0) } ?? .malformed
        case .createUser: self = data.isEmpty ? .malformed : .userCreated(isYes)
        case .modifyUser: self = data.isEmpty ? .malformed : .userModified(isYes)
        case .deleteUser: self = data.isEmpty ? .malformed : .userDeleted(isYes)
        case .measure: self = .measure(accepted: message.isAnswer)
        case .openMemory: self = data.isEmpty ? .malformed : .memoryReady(data[0] == 2)
        case .error: self = data.count == 1 ? .error(data[0]) : .malformed
        case .unstableWeight: self = weight { .unstableWeight($0) }
        case .stableWeight: self = weight { .stableWeight($0) }
        case .impedanceWeight: self = weight { .impedanceWeight($0) }
        case .composition: self = HS5Record(data).map { .composition($0) } ?? .malformed
        case .end: self = .ended
        case .memorySummary: self = data.count >= 2 ? .memorySummary(data[1]) : .malformed
        case .memoryRecords: self = Self.packet(data)
        case .busy: self = .busy
        case .identity: self = ScaleIdentity(data).map { .identity($0) } ?? .malformed
        case .cloudHost, .cloudPath: self = data.isEmpty ? .malformed : .cloudTaken(isYes)
        default: self = LogInMessage(message).map { .logIn($0) } ?? .unknown
        }
    }

    /// Whether a scale sends it only as an answer.
    var isAnswer: Bool {
        switch self {
        case .users, .userCreated, .userModified, .userDeleted, .measure, .memoryReady, .memorySummary, .memoryPacket,
            .cloudTaken, .logIn:
            true
        case .error, .unstableWeight, .stableWeight, .impedanceWeight, .composition, .ended, .busy, .identity,
            .unknown, .malformed:
            false
        }
    }

    package static let free: UInt32 = 0xFFFF_FFFF

    private static func users(in data: [UInt8]) -> [UInt32?]? {
        guard data.count == 4 * HS5Position.count else { return nil }
        return stride(from: 0, to: data.count, by: 4).map { start in
            let serial = UInt32(truncatingIfNeeded: Int(bigEndian: data[start..<start + 4]))
            return serial == free ? nil : serial
        }
    }

    private static func packet(_ data: [UInt8]) -> HS5ScaleMessage {
        guard data.count >= 4 else { return .malformed }
        let rest = data[4...]
        let starts = stride(from: rest.startIndex, to: rest.endIndex - rest.count % 16, by: 16)
        return .memoryPacket(
            starts.compactMap { HS5Record(rest[$0..<$0 + 16]) }, more: data[3] != 0, announced: Int(data[2]),
            trailing: rest.count % 16)
    }
}

/// The content of a message from the host to a HS5.
public enum HS5HostMessage: Sendable, Hashable {
    case search
    case users(WallTime)
    case createUser(HS5Position, HS5Profile)
    case modifyUser(HS5Position, HS5Profile)
    case deleteUser(HS5Position, serial: UInt32)
    case measure(HS5Position, serial: UInt32)
    case openMemory(HS5Position, serial: UInt32, WallTime)
    case memorySummary
    case memoryPacket
    /// Confirms that the scale's message has arrived.
    case confirm(FamilyCommand)
    /// End this connection.
    case end
    case logInNonce([UInt8])
    case logInAnswer([UInt8])
    case cloudHost(String)
    case cloudPath(String)
    /// A command that the scale does not know, or data of the wrong form.
    case unknown

    /// The transmitted content; `nil` for a time or text that does not fit, and for `unknown`.
    public var content: (command: UInt8, data: [UInt8], isAnswer: Bool)? {
        func plain(_ command: FamilyCommand, _ data: [UInt8]?) -> (UInt8, [UInt8], Bool)? {
            data.map { (command.rawValue, $0, false) }
        }
        func padded(_ text: String, to size: Int) -> [UInt8]? {
            let bytes = Array(text.utf8)
            return bytes.count > size ? nil : bytes + Array(repeating: 0, count: size - bytes.count)
        }
        switch self {
        case .search: return plain(.search, [])
        case .users(let time): return plain(.users, time.family6)
        case .createUser(let place, let profile): return plain(.createUser, [place.index] + profile.bytes)
        case .modifyUser(let place, let profile): return plain(.modifyUser, [place.index] + profile.bytes)
        case .deleteUser(let place, let serial): return plain(.deleteUser, [place.index] + serial.bigEndianBytes())
        case .measure(let place, let serial): return plain(.measure, [place.index] + serial.bigEndianBytes())
        case .openMemory(let place, let serial, let time):
            return plain(.openMemory, time.family6.map { [place.index] + serial.bigEndianBytes() + $0 })
        case .memorySummary: return plain(.memorySummary, [])
        case .memoryPacket: return plain(.memoryRecords, [])
        case .confirm(let command): return (command.rawValue, [], command == .end)
        case .end: return plain(.end, [])
        case .logInNonce(let nonce): return plain(.logInNonce, nonce)
        case .logInAnswer(let answer): return plain(.logInAnswer, answer)
        case .cloudHost(let name): return plain(.cloudHost, padded(name, to: 48))
        case .cloudPath(let path): return plain(.cloudPath, padded(path, to: 64))
        case .unknown: return nil
        }
    }
}
