/// What kind of trouble an error of a scale is, and so what helps.
public enum ScaleErrorClass: String, Sendable, Hashable, CaseIterable {
    /// The scale itself needs something: a battery, a service.
    case device
    /// This weighing is no good; weigh again.
    case measurement
    /// The connection failed; it is tried again.
    case link
    /// The person is not allowed to use the scale.
    case authorisation
    /// Nothing is wrong.
    case information
    /// A code nobody has documented.
    case unknown
}

/// An error of an HS3, with the number and name of the vendor's `HS3DeviceError`.
public struct HS3Error: Sendable, Hashable {
    /// The vendor's number; nil where the scale sent a byte that maps to none.
    ///
    /// Numbers mean other things on other models.
    public let code: Int?
    /// The vendor's name for it, spelled as there; `unknown` without a number.
    public let name: String
    /// What helps.
    public let errorClass: ScaleErrorClass
    /// A sentence for the person at the scale.
    public let sentence: String
    /// The byte the scale sent; nil where the host found the error itself.
    public let raw: UInt8?

    private init(_ code: Int, _ name: String, _ errorClass: ScaleErrorClass, _ sentence: String, raw: UInt8? = nil) {
        (self.code, self.name, self.errorClass, self.sentence, self.raw) = (code, name, errorClass, sentence, raw)
    }

    private init(unknown raw: UInt8) {
        (code, name, errorClass, self.raw) = (nil, "unknown", .unknown, raw)
        let hex = String(raw, radix: 16, uppercase: true)
        sentence = "HS3: the scale reported error byte \(hex.count == 1 ? "0" : "")\(hex), which is not documented"
    }

    private func sent(as raw: UInt8) -> HS3Error { HS3Error(code ?? 0, name, errorClass, sentence, raw: raw) }

    /// Every numbered error.
    public static let all: [HS3Error] = [
        lowPower, overCapacity, calibration, movement, noMemory, disconnected, noAnswer, notVerified,
    ]

    public static let lowPower = HS3Error(
        1, "HS3DeviceLowPower", .device, "HS3: the battery is low; replace it (Lo)")
    public static let overCapacity = HS3Error(
        2, "HS3DeviceEr2", .measurement, "HS3: more than the scale can weigh, 150 kg; the weighing is discarded (Er2)")
    public static let calibration = HS3Error(
        3, "HS3DeviceEr4", .device, "HS3: the scale is out of calibration and needs service (Er4)")
    public static let movement = HS3Error(
        4, "HS3DeviceEr7", .measurement, "HS3: stand still, movement while measuring (Er7)")
    public static let noMemory = HS3Error(
        5, "HS3DataZeor", .information, "HS3: the scale has no stored weighings")
    public static let disconnected = HS3Error(
        6, "HS3DeviceDisconnect", .link, "HS3: the scale has gone; it is awaited again")
    public static let noAnswer = HS3Error(
        7, "HS3DeviceSendTimeout", .link, "HS3: the scale does not answer; the connection is made anew")
    public static let notVerified = HS3Error(
        111, "HS3UserInvalidate", .authorisation, "HS3: this person may not use the scale")

    /// The error of the vendor's number `code`; nil where there is none.
    public static func numbered(_ code: Int) -> HS3Error? { all.first { $0.code == code } }

    /// What the byte of an error frame means.
    ///
    /// The table is data, because no capture confirms it: the default is inferred from the display names it shares
    /// with the HS4, and a person who knows better passes another one. A byte without a row is reported as unknown,
    /// never guessed.
    public static func sent(_ raw: UInt8, table: [UInt8: Int] = defaultTable) -> HS3Error {
        table[raw].flatMap(numbered)?.sent(as: raw) ?? HS3Error(unknown: raw)
    }

    /// Error byte → vendor's number.
    public static let defaultTable: [UInt8: Int] = [
        0xA0: 1, 0xE2: 2, 0xE4: 3, 0xE7: 4,
        0x01: 1, 0x02: 2, 0x03: 3, 0x04: 4, 0x05: 5, 0x06: 6, 0x07: 7,
    ]
}
