/// User Control Point, `2A9F`: requests that the host writes.
public enum SIGUserRequest: Sendable, Hashable {
    /// Registers a new user with this consent code, 0–9999.
    case register(consent: Int)
    case consent(index: UInt8, consent: Int)
    /// Deletes the data of the consenting user.
    case deleteData
    case listUsers
    case deleteUser(index: UInt8)

    public init(_ value: [UInt8]) throws(SIGError) {
        var reader = SIGReader(value)
        switch try reader.byte() {
        case 1: self = .register(consent: try reader.pair())
        case 2:
            let index = try reader.byte()
            self = .consent(index: index, consent: try reader.pair())
        case 3: self = .deleteData
        case 4: self = .listUsers
        case 5: self = .deleteUser(index: try reader.byte())
        case let operation: throw .unknown(operation)
        }
    }

    /// The value to transmit; `nil` for a consent code outside 0–9999.
    public var bytes: [UInt8]? {
        func code(_ consent: Int) -> [UInt8]? {
            (0...9999).contains(consent) ? UInt16(consent).littleEndianBytes : nil
        }
        switch self {
        case .register(let consent): return code(consent).map { [1] + $0 }
        case .consent(let index, let consent): return code(consent).map { [2, index] + $0 }
        case .deleteData: return [3]
        case .listUsers: return [4]
        case .deleteUser(let index): return [5, index]
        }
    }
}

/// User Control Point, `2A9F`: the scale's answers.
public struct SIGUserResponse: Sendable, Hashable {
    public enum Result: UInt8, Sendable, Hashable, CaseIterable {
        case success = 1
        case notSupported = 2
        case invalidParameter = 3
        case failed = 4
        case notAuthorised = 5
    }

    /// The first byte of the request.
    public var operation: UInt8
    public var result: Result
    /// For a registration the new user's index; for a list the number of users and their indexes.
    public var parameter: [UInt8]

    public init(to operation: UInt8, _ result: Result, parameter: [UInt8] = []) {
        (self.operation, self.result, self.parameter) = (operation, result, parameter)
    }

    public init(_ value: [UInt8]) throws(SIGError) {
        var reader = SIGReader(value)
        let kind = try reader.byte()
        guard kind == 0x20 else { throw .unknown(kind) }
        operation = try reader.byte()
        let code = try reader.byte()
        guard let result = Result(rawValue: code) else { throw .unknown(code) }
        (self.result, parameter) = (result, Array(value.dropFirst(3)))
    }

    public var bytes: [UInt8] { [0x20, operation, result.rawValue] + parameter }
}

/// Current Time, `2A2B`.
public struct SIGCurrentTime: Sendable, Hashable {
    public var time: WallTime
    /// 1 Monday to 7 Sunday; `nil` if the other side does not report it.
    public var weekday: Int?
    /// Parts of 256 of a second.
    public var fraction: UInt8
    /// Bits: 0 by hand, 1 external reference, 2 time zone, 3 summer time.
    public var reasons: UInt8

    public init(_ time: WallTime, reasons: UInt8 = 0) {
        (self.time, weekday, fraction, self.reasons) = (time, time.weekday, 0, reasons)
    }

    /// Returns `nil` if the bytes are not a date.
    public init?(_ value: [UInt8]) throws(SIGError) {
        var reader = SIGReader(value)
        let date = try reader.time()
        let day = Int(try reader.byte())
        (fraction, reasons) = (try reader.byte(), try reader.byte())
        guard let date else { return nil }
        (time, weekday) = (date, (1...7).contains(day) ? day : nil)
    }

    /// The value to transmit; `nil` if two bytes cannot hold the year.
    public var bytes: [UInt8]? { time.sig.map { $0 + [UInt8(weekday ?? 0), fraction, reasons] } }
}
