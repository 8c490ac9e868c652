import Platform

/// A model of the vendor's scales; the raw value is its name.
public enum ScaleModel: String, Sendable, Hashable, CaseIterable {
    case hs3 = "HS3"
    case hs4 = "HS4"
    case hs5 = "HS5"
}

/// The class of a scale's error, which determines the remedy.
public enum ScaleErrorClass: String, Sendable, Hashable, CaseIterable {
    /// The scale itself needs something: a battery, a service.
    case device
    /// This weighing failed; weigh again.
    case measurement
    /// The connection failed; the program tries again.
    case link
    /// The scale does not accept this user, or has no free position.
    case userManagement = "user management"
    /// The scale is busy; the program asks again.
    case busy
    /// The person is not allowed to use the scale.
    case authorisation
    /// Information, not a failure.
    case information
    /// An undocumented code.
    case unknown
}

/// An error of a scale, with the number and name of the vendor's `HS3DeviceError`, `HS4DeviceError` or `HS5DeviceError`.
///
/// The same number means different things on different models.
public struct ScaleError: Sendable, Hashable {
    public let model: ScaleModel
    /// The vendor's number; `nil` if the scale sent a byte that maps to none.
    public let code: Int?
    /// The vendor's name in its spelling; `unknown` without one.
    public let name: String
    /// The class, which determines the remedy.
    public let errorClass: ScaleErrorClass
    /// A sentence for the person at the scale.
    public let sentence: String
    /// The byte from the scale; `nil` if the host detected the error.
    public private(set) var raw: UInt8?

    private init(
        _ model: ScaleModel, _ code: Int?, _ name: String, _ errorClass: ScaleErrorClass, _ sentence: String,
        raw: UInt8? = nil
    ) {
        (self.model, self.code, self.name, self.errorClass, self.raw) = (model, code, name, errorClass, raw)
        self.sentence = "\(model.rawValue): \(sentence)"
    }

    /// An error with an undocumented number: the number stays, and no meaning is guessed.
    static func undocumented(_ code: Int, raw: UInt8?, of model: ScaleModel) -> ScaleError {
        let sentence = "the scale reported error \(code), which is not documented"
        return ScaleError(model, code, "unknown", .unknown, sentence, raw: raw)
    }

    /// All errors of a model that have a number, ordered by number.
    public static func all(of model: ScaleModel) -> [ScaleError] {
        switch model {
        case .hs3: hs3
        case .hs4: hs4
        case .hs5: hs5
        }
    }

    /// The error of the vendor's number `code`; `nil` if there is none.
    ///
    /// Later versions of the vendor's software use 400 for 111.
    /// - Parameter raw: the scale's own byte, if it was reported along with the number.
    public static func numbered(_ code: Int, of model: ScaleModel, raw: UInt8? = nil) -> ScaleError? {
        var error = all(of: model).first { $0.code == (code == 400 ? 111 : code) }
        error?.raw = raw
        return error
    }

    /// The error of the byte in an error frame.
    ///
    /// The table is a parameter, because no capture confirms it, and a person with better knowledge can pass another one. A byte without a row
    /// is reported as unknown, never guessed.
    /// - Parameter table: `nil` for the default table.
    public static func sent(_ raw: UInt8, by model: ScaleModel, table: [UInt8: Int]? = nil) -> ScaleError {
        if let error = (table ?? defaultTable(of: model))[raw].flatMap({ numbered($0, of: model, raw: raw) }) {
            return error
        }
        // The HS5's software passes a small number on unchanged.
        let code = model == .hs5 && raw <= 0x10 ? Int(raw) : nil
        let hex = [raw].hexadecimal.uppercased()
        let sentence = "the scale reported error byte \(hex), which is not documented"
        return ScaleError(model, code, "unknown", .unknown, sentence, raw: raw)
    }

    /// Maps error bytes to the vendor's numbers.
    ///
    /// The HS4's table comes from the vendor's software; the others are inferred from the display names they share with it.
    public static func defaultTable(of model: ScaleModel) -> [UInt8: Int] {
        switch model {
        case .hs3: [0xA0: 1, 0xE2: 2, 0xE4: 3, 0xE7: 4, 0x01: 1, 0x02: 2, 0x03: 3, 0x04: 4, 0x05: 5, 0x06: 6, 0x07: 7]
        case .hs4: [0xA0: 1, 0xE0: 2, 0xE1: 3, 0xE2: 4, 0xE4: 5, 0xE7: 6, 0xE8: 7, 0xE9: 8]
        case .hs5:
            [
                0xA0: 6, 0xE0: 7, 0xE1: 8, 0xE2: 9, 0xE7: 10, 0xE8: 11, 0xE9: 12, 0x00: 0, 0x05: 5, 0x06: 6, 0x07: 7,
                0x08: 8, 0x09: 9, 0x0A: 10, 0x0B: 11, 0x0C: 12, 0x0D: 13, 0x0E: 14, 0x0F: 15, 0x10: 16,
            ]
        }
    }
}

// MARK: - Errors that the host detects

extension ScaleError {
    /// The scale has no stored weighings: information, no failure.
    public static func noMemory(_ model: ScaleModel) -> ScaleError { own(5, 9, 14, model) }
    /// The link is closed.
    public static func disconnected(_ model: ScaleModel) -> ScaleError { own(6, 10, 16, model) }
    /// The scale does not answer.
    public static func noAnswer(_ model: ScaleModel) -> ScaleError { own(7, 11, 0, model) }
    /// A weight beyond the capacity of the model.
    public static func overCapacity(_ model: ScaleModel) -> ScaleError { own(2, 3, 8, model) }
    /// The person may not use the scale.
    public static func notVerified(_ model: ScaleModel) -> ScaleError { own(111, 111, 111, model) }
    /// The log-in was refused, or the scale is busy; the vendor's software reports this error in both cases.
    public static func refused(_ model: ScaleModel) -> ScaleError { own(7, 5, 13, model) }

    private static func own(_ hs3: Int, _ hs4: Int, _ hs5: Int, _ model: ScaleModel) -> ScaleError {
        let code = model == .hs3 ? hs3 : model == .hs4 ? hs4 : hs5
        guard let error = numbered(code, of: model) else {
            preconditionFailure("the tables have every number named here")
        }
        return error
    }
}

extension ScaleError {
    /// HS5: the position is occupied, or the person is already a user.
    package static let userExists = own(0, 0, 5, .hs5)
    /// HS5: all 20 positions are occupied.
    package static let noPlace = own(0, 0, 15, .hs5)
}

// MARK: - The vendor's enumerations

extension ScaleError {
    private static let hs3 = [
        ScaleError(.hs3, 1, "HS3DeviceLowPower", .device, "the battery is low; replace it (Lo)"),
        ScaleError(
            .hs3, 2, "HS3DeviceEr2", .measurement,
            "more than the scale can weigh, 150 kg; the weighing is discarded (Er2)"),
        ScaleError(.hs3, 3, "HS3DeviceEr4", .device, "the scale is out of calibration and needs service (Er4)"),
        ScaleError(.hs3, 4, "HS3DeviceEr7", .measurement, "stand still, movement while measuring (Er7)"),
        ScaleError(.hs3, 5, "HS3DataZeor", .information, "the scale has no stored weighings"),
        ScaleError(.hs3, 6, "HS3DeviceDisconnect", .link, "the scale has gone; it is awaited again"),
        ScaleError(.hs3, 7, "HS3DeviceSendTimeout", .link, "the scale does not answer; the connection is made again"),
        ScaleError(.hs3, 111, "HS3UserInvalidate", .authorisation, "this person may not use the scale"),
    ]

    private static let hs4 = [
        ScaleError(.hs4, 1, "HS4DeviceLowPower", .device, "the battery is low; replace it (Lo)"),
        ScaleError(.hs4, 2, "HS4DeviceEr0", .device, "the scale could not start; take its batteries out and in (Er0)"),
        ScaleError(
            .hs4, 3, "HS4DeviceEr1", .measurement,
            "more than the scale can weigh, 180 kg; the weighing is discarded (Er1)"),
        ScaleError(.hs4, 4, "HS4DeviceEr2", .measurement, "no steady reading; stand still and weigh again (Er2)"),
        ScaleError(.hs4, 5, "HS4DeviceEr4", .link, "the Bluetooth connection failed; it is made again (Er4)"),
        ScaleError(.hs4, 6, "HS4DeviceEr7", .measurement, "stand still, movement while measuring (Er7)"),
        ScaleError(.hs4, 7, "HS4DeviceEr8", .measurement, "the weighing is not valid; weigh again (Er8)"),
        ScaleError(.hs4, 8, "HS4DeviceEr9", .device, "the scale cannot read its memory (Er9)"),
        ScaleError(.hs4, 9, "HS4DataZeor", .information, "the scale has no stored weighings"),
        ScaleError(.hs4, 10, "HS4DeviceDisconnect", .link, "the scale has gone; it is awaited again"),
        ScaleError(.hs4, 11, "HS4DeviceSendTimeout", .link, "the scale does not answer; the connection is made again"),
        ScaleError(.hs4, 12, "HS4DeviceRecWeightError", .measurement, "a weight came that cannot be; weigh again"),
        ScaleError(.hs4, 111, "HS4UserInvalidate", .authorisation, "this person may not use the scale"),
    ]

    private static let hs5 = [
        ScaleError(.hs5, 0, "IHSCOverTimeError", .link, "the scale does not answer; it is asked again"),
        ScaleError(.hs5, 5, "IHSCUserInScale", .userManagement, "a user is at this position already"),
        ScaleError(.hs5, 6, "IHSCLowPower", .device, "check the batteries; replace them if this comes again (Lo)"),
        ScaleError(
            .hs5, 7, "IHSCScaleEr0", .device, "take the batteries out, wait a minute and put them in again (Er0)"),
        ScaleError(
            .hs5, 8, "IHSCScaleEr1", .measurement,
            "more than the scale can weigh, 150 kg; the weighing is discarded (Er1)"),
        ScaleError(
            .hs5, 9, "IHSCScaleEr2", .measurement, "stand still with bare feet on all four electrodes (Er2)"),
        ScaleError(.hs5, 10, "IHSCScaleEr7", .link, "the scale could not communicate; weigh again (Er7)"),
        ScaleError(.hs5, 11, "IHSCScaleEr8", .link, "the scale could not communicate; weigh again (Er8)"),
        ScaleError(.hs5, 12, "IHSCScaleEr9", .link, "the scale could not communicate; weigh again (Er9)"),
        ScaleError(.hs5, 13, "IHScaleBusy", .busy, "the scale is busy; it is asked again"),
        ScaleError(.hs5, 14, "HS5DataZeor", .information, "the scale has no stored weighings"),
        ScaleError(.hs5, 15, "IHSCScaleCreateUserTestError", .userManagement, "the scale could not create the user"),
        ScaleError(.hs5, 16, "HS5Disconnect", .link, "the scale has gone; it is searched for again"),
        ScaleError(.hs5, 111, "HS5UserInvalidate", .authorisation, "this person may not use the scale"),
    ]
}
