public import ScaleProtocols

extension HS4HostMessage {
    /// Reads a message like the scale does.
    ///
    /// It never fails: content that cannot be understood becomes `unknown`.
    public init(_ message: FamilyMessage) {
        let data = message.data
        switch FamilyCommand(rawValue: message.command) {
        case .measure:
            guard data.count == 12, let time = WallTime(family7: data.prefix(7)),
                let unit = ScaleDisplayUnit(rawValue: data[7])
            else {
                self = .unknown
                return
            }
            self = .measure(time, unit: unit, user: UInt32(truncatingIfNeeded: Int(bigEndian: data[8...])))
        case .openMemory: self = WallTime(family7: data[...]).map { .openMemory($0) } ?? .unknown
        case .memorySummary: self = .memorySummary
        case .memoryRecords: self = .memoryRecord
        case .end: self = data == [1] ? .stop : .unknown
        case .error: self = .confirm(.error)
        case .stableWeight: self = .confirm(.stableWeight)
        case .identity: self = .confirm(.identity)
        case .identify: self = .identify
        case .logInNonce: self = .logInNonce(data)
        case .logInAnswer: self = .logInAnswer(data)
        default: self = .unknown
        }
    }
}
