public import ScaleProtocols

extension HS5HostMessage {
    /// Reads a message without its sender id.
    public init(_ message: FamilyMessage) {
        let data = message.data
        func positioned(_ size: Int, _ make: (HS5Position, ArraySlice<UInt8>) -> HS5HostMessage?) -> HS5HostMessage {
            guard data.count == size, let position = HS5Position(Int(data[0])) else { return .unknown }
            return make(position, data[1...]) ?? .unknown
        }
        func serial(_ bytes: ArraySlice<UInt8>) -> UInt32 {
            UInt32(truncatingIfNeeded: Int(bigEndian: bytes.prefix(4)))
        }
        func text() -> String { String(decoding: data.prefix { $0 != 0 }, as: UTF8.self) }
        switch FamilyCommand(rawValue: message.command) {
        case .search: self = .search
        case .users: self = WallTime(family6: data[...]).map { .users($0) } ?? .unknown
        case .createUser: self = positioned(9) { place, rest in HS5Profile(rest).map { .createUser(place, $0) } }
        case .modifyUser: self = positioned(9) { place, rest in HS5Profile(rest).map { .modifyUser(place, $0) } }
        case .deleteUser: self = positioned(5) { .deleteUser($0, serial: serial($1)) }
        case .measure: self = positioned(5) { .measure($0, serial: serial($1)) }
        case .openMemory:
            self = positioned(11) { place, rest in
                WallTime(family6: rest.dropFirst(4)).map { .openMemory(place, serial: serial(rest), $0) }
            }
        case .memorySummary: self = .memorySummary
        case .memoryRecords: self = .memoryPacket
        case .error: self = .confirm(.error)
        case .stableWeight: self = .confirm(.stableWeight)
        case .impedanceWeight: self = .confirm(.impedanceWeight)
        case .composition: self = .confirm(.composition)
        case .end: self = message.isAnswer ? .confirm(.end) : .end
        case .cloudHost: self = .cloudHost(text())
        case .cloudPath: self = .cloudPath(text())
        case .logInNonce: self = .logInNonce(data)
        case .logInAnswer: self = .logInAnswer(data)
        default: self = .unknown
        }
    }
}

extension HS5ScaleMessage {
    /// The data of a list of users as a scale sends it; missing positions of the 20 are free.
    package static func listData(_ users: [UInt32?]) -> [UInt8] {
        (0..<HS5Position.count).flatMap { place in
            (place < users.count ? users[place] ?? free : free).bigEndianBytes()
        }
    }
}
