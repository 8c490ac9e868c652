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
    public let raw: UInt8?

    private init(_ model: ScaleModel, _ row: ScaleErrorRow, raw: UInt8? = nil) {
        (self.model, code, name, errorClass) = (model, row.code, row.name, row.errorClass)
        (sentence, self.raw) = ("\(model.rawValue): \(row.sentence)", raw)
    }

    /// An error with an undocumented number: the number stays, and no meaning is guessed.
    static func undocumented(_ code: Int, raw: UInt8?, of model: ScaleModel) -> ScaleError {
        ScaleError(
            model, undocumented: code, raw: raw,
            "\(model.rawValue): the scale reported error \(code), which is not documented")
    }

    private init(_ model: ScaleModel, undocumented code: Int, raw: UInt8?, _ sentence: String) {
        (self.model, self.code, name, errorClass, self.raw) = (model, code, "unknown", .unknown, raw)
        self.sentence = sentence
    }

    private init(_ model: ScaleModel, unknown raw: UInt8, code: Int?) {
        (self.model, self.code, name, errorClass, self.raw) = (model, code, "unknown", .unknown, raw)
        let hex = [raw].hexadecimal.uppercased()
        sentence =
            "\(model.rawValue): the scale reported error byte \(hex), which is not documented"
    }

    /// All errors of a model that have a number, ordered by number.
    public static func all(of model: ScaleModel) -> [ScaleError] {
        ScaleErrorRow.all(of: model).map { ScaleError(model, $0) }
    }

    /// The error of the vendor's number `code`; `nil` if there is none.
    ///
    /// Later versions of the vendor's software use 400 for 111.
    /// - Parameter raw: the scale's own byte, if it was reported along with the number.
    public static func numbered(_ code: Int, of model: ScaleModel, raw: UInt8? = nil) -> ScaleError? {
        let code = code == 400 ? 111 : code
        return ScaleErrorRow.all(of: model).first { $0.code == code }.map { ScaleError(model, $0, raw: raw) }
    }

    /// The error of the byte in an error frame.
    ///
    /// The table is a parameter, because no capture confirms it, and a person with better knowledge can pass another one. A byte without a row
    /// is reported as unknown, never guessed.
    /// - Parameter table: `nil` for the default table.
    public static func sent(_ raw: UInt8, by model: ScaleModel, table: [UInt8: Int]? = nil) -> ScaleError {
        let code = (table ?? defaultTable(of: model))[raw]
        guard let code, let row = ScaleErrorRow.all(of: model).first(where: { $0.code == code }) else {
            // The HS5's software passes a small number on unchanged.
            return ScaleError(model, unknown: raw, code: model == .hs5 && raw <= 0x10 ? Int(raw) : nil)
        }
        return ScaleError(model, row, raw: raw)
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
