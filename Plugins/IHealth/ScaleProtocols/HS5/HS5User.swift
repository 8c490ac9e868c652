/// The properties of a person that the formulas of a HS5 need.
public struct HS5Profile: Sendable, Hashable {
    /// The host's number of the person, 1–0x7FFFFFFF.
    public let serial: UInt32
    /// 7–99.
    public let age: UInt8
    /// Centimetres, 81–219.
    public let height: UInt8
    public let isAthlete: Bool
    public let isMale: Bool
    /// The birthday, if it is known: a bridge receives it instead of the age.
    public let birthday: WallTime?

    /// Returns `nil` for values that the scale does not accept; the age is the one on the day `today`.
    public init?(
        serial: UInt32, birthday: WallTime, today: WallTime, height: Int, isAthlete: Bool, isMale: Bool
    ) {
        let hadBirthday = (today.month, today.day) >= (birthday.month, birthday.day)
        self.init(
            serial: serial, age: today.year - birthday.year - (hadBirthday ? 0 : 1), height: height,
            isAthlete: isAthlete, isMale: isMale, birthday: birthday)
    }

    /// Returns `nil` for values that the scale does not accept.
    public init?(serial: UInt32, age: Int, height: Int, isAthlete: Bool, isMale: Bool) {
        self.init(serial: serial, age: age, height: height, isAthlete: isAthlete, isMale: isMale, birthday: nil)
    }

    private init?(serial: UInt32, age: Int, height: Int, isAthlete: Bool, isMale: Bool, birthday: WallTime?) {
        guard HS5Profile.isSerial(serial), (7...99).contains(age), (81...219).contains(height) else { return nil }
        (self.serial, self.age, self.height) = (serial, UInt8(age), UInt8(height))
        (self.isAthlete, self.isMale, self.birthday) = (isAthlete, isMale, birthday)
    }

    /// Whether a number can identify a person.
    public static func isSerial(_ number: UInt32) -> Bool { (1...0x7FFF_FFFF).contains(number) }

    package init?(_ data: ArraySlice<UInt8>) {
        let bytes = Array(data)
        guard bytes.count == 8, bytes[6] <= 1, bytes[7] <= 1 else { return nil }
        self.init(
            serial: UInt32(truncatingIfNeeded: Int(bigEndian: bytes[0..<4])), age: Int(bytes[4]), height: Int(bytes[5]),
            isAthlete: bytes[6] == 1, isMale: bytes[7] == 1)
    }

    var bytes: [UInt8] { serial.bigEndianBytes() + [age, height, isAthlete ? 1 : 0, isMale ? 1 : 0] }
}

/// One of the 20 positions for users on a HS5.
public struct HS5Position: Sendable, Hashable, Comparable {
    /// 0–19.
    public let index: UInt8

    /// Returns `nil` outside 0–19.
    public init?(_ index: Int) {
        guard (0..<HS5Position.count).contains(index) else { return nil }
        self.index = UInt8(index)
    }

    /// The number of positions.
    public static let count = 20

    public static func < (left: HS5Position, right: HS5Position) -> Bool { left.index < right.index }
}

extension [UInt32?] {
    /// The position of a user in the list of a scale's users.
    func position(of serial: UInt32) -> HS5Position? { firstIndex { $0 == serial }.flatMap { HS5Position($0) } }

    /// The position for a new user, or the error why there is none.
    func place(for serial: UInt32, at wanted: HS5Position?) -> (position: HS5Position?, error: ScaleError?) {
        func isTaken(_ position: HS5Position) -> Bool {
            indices.contains(Int(position.index)) && self[Int(position.index)] != nil
        }
        if position(of: serial) != nil || wanted.map(isTaken) == true { return (nil, .userExists) }
        let free = (0..<HS5Position.count).compactMap { HS5Position($0) }.first { !isTaken($0) }
        return (wanted ?? free).map { ($0, nil) } ?? (nil, .noPlace)
    }
}
