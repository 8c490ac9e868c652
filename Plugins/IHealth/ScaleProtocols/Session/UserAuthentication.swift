/// The result of the check whether a person may use a scale, by the vendor's number.
public enum UserAuthentication: Int, Sendable, Hashable, CaseIterable {
    case registered = 1
    case loggedIn = 2
    /// The person has an account of the vendor, too.
    case combined = 3
    /// Used without a network, within the ten days of the trial.
    case trial = 4
    case wrongUser = 5
    case programNotAllowed = 6
    case userNotAllowed = 7
    case networkFailed = 8

    /// Converts the vendor's number, including those that later versions added (9–13).
    public init?(code: Int) {
        switch code {
        case 9: self = .loggedIn
        case 10, 11: self = .wrongUser
        case 12, 13: self = .programNotAllowed
        default: self.init(rawValue: code)
        }
    }

    /// The vendor's name in its spelling.
    public var name: String {
        switch self {
        case .registered: "UserAuthen_RegisterSuccess"
        case .loggedIn: "UserAuthen_LoginSuccess"
        case .combined: "UserAuthen_CombinedSuccess"
        case .trial: "UserAuthen_TrySuccess"
        case .wrongUser: "UserAuthen_InvalidateUserInfo"
        case .programNotAllowed: "UserAuthen_SDKInvalidateRight"
        case .userNotAllowed: "UserAuthen_UserInvalidateRight"
        case .networkFailed: "UserAuthen_InternetError"
        }
    }

    /// Whether measuring continues after this result; a HS5 has no trial.
    public func allowsMeasuring(on model: ScaleModel) -> Bool { rawValue <= (model == .hs5 ? 3 : 4) }
}
