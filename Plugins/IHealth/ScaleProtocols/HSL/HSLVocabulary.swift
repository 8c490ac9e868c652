/// A request of a connector to a device.
public enum HSLOperation: String, Sendable, Hashable, CaseIterable {
    case listDevices = "devices.list"
    case hs3Init = "hs3.init"
    case hs3AutoConnectOff = "hs3.btauto.off"
    case hs3AutoConnectOn = "hs3.btauto.on"
    case hs4Measure = "hs4.measure"
    case hs4Memory = "hs4.memory"
    case hs5OpenUsers = "hs5.users.open"
    case hs5CreateUser = "hs5.users.create"
    case hs5ModifyUser = "hs5.users.modify"
    case hs5DeleteUser = "hs5.users.delete"
    case hs5Measure = "hs5.measure"
    case hs5Memory = "hs5.memory"
    case hs5Cloud = "hs5.cloud"
    case stopSession = "session.stop"

    /// `nil` for operations that belong to no model.
    public var model: ScaleModel? {
        switch self {
        case .listDevices, .stopSession: nil
        case .hs3Init, .hs3AutoConnectOff, .hs3AutoConnectOn: .hs3
        case .hs4Measure, .hs4Memory: .hs4
        case .hs5OpenUsers, .hs5CreateUser, .hs5ModifyUser, .hs5DeleteUser, .hs5Measure, .hs5Memory, .hs5Cloud: .hs5
        }
    }
}

/// An event of a device.
public enum HSLEventName: String, Sendable, Hashable, CaseIterable {
    case deviceConnected, deviceDisconnected, deviceError, battery
    case authentication, serialNub, userList, result, error
    case memoryStart, memoryCount, memoryProgress, memoryFinish
    case unstableWeight, impedanceWeight
    case memoryRecord, stableWeight, bodyComposition, cloudRecord

    /// Whether the device repeats it until it is acknowledged.
    public var isDurable: Bool {
        switch self {
        case .memoryRecord, .stableWeight, .bodyComposition, .cloudRecord: true
        default: false
        }
    }
}

/// The family of a device, which decides its error numbers and behaviour.
public enum HSLFamily: String, Sendable, Hashable, CaseIterable {
    /// An app with the vendor's library for iOS; also the default if the device does not report a family.
    case ios
    /// An app with the library for Android, which has some different error numbers.
    case android
    /// A driver of the scale's own protocol.
    case wire
    /// A simulated device.
    case sim

    /// The error of a number in this family; `nil` for numbers that are not errors of a scale: 400 and 500 on Android.
    public func error(_ code: Int, raw: UInt8? = nil, of model: ScaleModel) -> ScaleError? {
        if self == .android {
            switch code {
            // The vendor's "failed to create measurement connection" and "instruction timeout".
            case 13, 600, 14, 700: return .noAnswer(model)
            case 400, 500: return nil
            default: break
            }
        }
        return ScaleError.numbered(code, of: model, raw: raw) ?? .undocumented(code, raw: raw, of: model)
    }
}

/// Errors of the protocol itself, by the code in `error`.
public enum HSLProtocolError: String, Sendable, Hashable, CaseIterable {
    case lineTooLong = "line_too_long"
    case badJSON = "bad_json"
    case badMessage = "bad_message"
    case unknownType = "unknown_type"
    case unsupportedVersion = "unsupported_version"
    case authFailed = "auth_failed"
    case timeout
    case busy
    case unsupported
    case invalidArgument = "invalid_argument"
    case unknownDevice = "unknown_device"
    case networkDown = "network_down"
    case tooManyUnacknowledged = "too_many_unacknowledged"
}

/// One scale of a session: `HS3:020000003001`.
public struct HSLDeviceID: Sendable, Hashable, CustomStringConvertible {
    public let model: ScaleModel
    /// Twelve upper-case hex digits, its Bluetooth or WiFi address.
    public let deviceId: String

    /// `nil` if the address is not twelve hex digits; lower-case digits are converted.
    public init?(_ model: ScaleModel, _ deviceId: String) {
        let digits = deviceId.uppercased()
        guard digits.utf8.count == 12, digits.utf8.allSatisfy({ (48...57).contains($0) || (65...70).contains($0) })
        else { return nil }
        (self.model, self.deviceId) = (model, digits)
    }

    /// Reads `MODEL:ADDRESS`.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let model = ScaleModel(rawValue: String(parts[0])) else { return nil }
        self.init(model, String(parts[1]))
    }

    public var description: String { "\(model.rawValue):\(deviceId)" }
}
