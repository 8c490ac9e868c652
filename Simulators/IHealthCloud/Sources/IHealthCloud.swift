import Synchronization
public import WebFaults

/// A stand-in for iHealth's Open API with one account: log-in, renewal, and pages of weights.
///
/// It follows the only available description (OAuth with different names, fifty records a page), which does not cover refusals. This stand-in
/// uses status 401 for a token, and OAuth's error codes for the rest.
public final class IHealthCloud: StandInService {
    /// The credentials of an application.
    public struct Application: Sendable {
        public var id = "client"
        public var secret = "shh"
        public var serial = "serial"
        public var right = "right"
        public var redirect = "http://127.0.0.1:8737/"

        public init() {}
    }

    /// A weighing in the account.
    public struct Weight: Sendable {
        public var id: String
        /// Seconds since 1970 of the local date, computed as if it were UTC.
        public var date: Int
        /// The zone as the service writes it: `"-0800"`, or a number.
        public var zone: JSONTree = "+0100"
        public var source = "FromDevice"
        public var weight: Double
        public var fat = 0.0
        public var water = 0.0
        public var muscle = 0.0
        public var bone = 0.0
        public var visceral = 0
        public var calories = 0

        public init(_ id: String, date: Int, weight: Double) { (self.id, self.date, self.weight) = (id, date, weight) }
    }

    private struct State {
        var application = Application()
        var weights: [Weight] = []
        var unit = 0
        var access: Set<String> = []
        var refresh: Set<String> = []
        var codes: Set<String> = []
        var number = 0
        var requests: [String] = []
    }

    private let state: Mutex<State>

    public init(_ application: Application = Application()) { state = Mutex(State(application: application)) }

    public static let forms: [String] = []
    public static let user = "u1b2c3d4"

    // MARK: Changes by tests

    /// - Parameter unit: the unit of the weights: 0 kilograms, 1 pounds, 2 stones.
    public func put(_ weights: [Weight], unit: Int = 0) {
        state.withLock { ($0.weights, $0.unit) = (weights, unit) }
    }

    /// Ends the access tokens; with `refresh`, the whole log-in.
    public func end(access: Bool = true, refresh: Bool = false) {
        state.withLock { state in
            if access { state.access = [] }
            if refresh { state.refresh = [] }
        }
    }

    /// Changes the credentials of the application.
    public func change(_ body: (inout Application) -> Void) { state.withLock { body(&$0.application) } }

    /// The paths of the carried out requests, in their order.
    public var requests: [String] { state.withLock(\.requests) }

    // MARK: Answers

    public func isDisturbed(_ path: String) -> Bool { true }
    public func note(_ request: WebRequest, status: Int?, fault: Fault) {}
    public func control(_ request: WebRequest) -> WebAnswer? { nil }

    public func answer(_ request: WebRequest, faults: [Fault]) -> WebAnswer {
        state.withLock { state in
            state.requests.append(request.path)
            switch request.path {
            case "/OpenApiV2/OAuthv2/userauthorization/": return Self.logIn(request, &state)
            case "/openapiv2/user/\(Self.user)/weight.json/": return Self.weights(request, &state)
            default: return WebAnswer(404)
            }
        }
    }

    private static func logIn(_ request: WebRequest, _ state: inout State) -> WebAnswer {
        guard request.query("client_id") == state.application.id else { return .refusedToken("invalid_client") }
        let redirect = request.query("redirect_uri")
        if request.query("response_type") == "code" {
            guard let redirect, redirect == state.application.redirect, request.query("APIName") == "OpenApiWeight"
            else {
                return .refusedToken("invalid_request")
            }
            let code = secret("code", &state)
            state.codes.insert(code)
            return .back(to: redirect, [("code", code)])
        }
        guard request.query("client_secret") == state.application.secret else { return .refusedToken("invalid_client") }
        let isGood =
            if request.query("response_type") == "refresh_token" {
                request.query("UserID") == user && state.refresh.remove(request.query("refresh_token") ?? "") != nil
            } else {
                request.query("grant_type") == "authorization_code" && redirect == state.application.redirect
                    && state.codes.remove(request.query("code") ?? "") != nil
            }
        guard isGood else { return .refusedToken("invalid_grant") }
        let (access, refresh) = (secret("access", &state), secret("refresh", &state))
        state.access = [access]
        state.refresh.insert(refresh)
        return .json([
            "APIName": "OpenApiWeight", "AccessToken": .text(access), "Expires": 3_672_000,
            "RefreshToken": .text(refresh), "RefreshTokenExpires": 999_999_999, "UserID": .text(user),
            "client_para": "",
        ])
    }

    private static func weights(_ request: WebRequest, _ state: inout State) -> WebAnswer {
        let own = state.application
        guard request.query("client_id") == own.id, request.query("client_secret") == own.secret,
            request.query("sc") == own.serial, request.query("sv") == own.right,
            request.query("redirect_uri") == own.redirect, let token = request.query("access_token"),
            state.access.contains(token)
        else { return WebAnswer(401) }
        let since = request.query("start_time").flatMap { Int($0) } ?? 0
        let page = max(1, request.query("page_index").flatMap { Int($0) } ?? 1)
        let all = state.weights.filter { $0.date >= since }
        let items = all.dropFirst((page - 1) * 50).prefix(50)
        return .json([
            "CurrentRecordCount": JSONTree(items.count), "NextPageUrl": "", "PageLength": 50,
            "PageNumber": JSONTree(page), "PrevPageUrl": "", "RecordCount": JSONTree(all.count),
            "WeightUnit": JSONTree(state.unit), "WeightDataList": .list(items.map(json)),
        ])
    }

    private static func json(_ weight: Weight) -> JSONTree {
        func number(_ value: Double) -> JSONTree { .number("\(value)") }
        return [
            "BMI": 0, "BoneValue": number(weight.bone), "DCI": JSONTree(weight.calories), "DataID": .text(weight.id),
            "DataSource": .text(weight.source), "FatValue": number(weight.fat), "LastChangeTime": JSONTree(weight.date),
            "MDate": JSONTree(weight.date), "MuscaleValue": number(weight.muscle), "Note": "", "TimeZone": weight.zone,
            "VFR": JSONTree(weight.visceral), "WaterValue": number(weight.water), "WeightValue": number(weight.weight),
        ]
    }

    private static func secret(_ word: String, _ state: inout State) -> String {
        state.number += 1
        return "\(word)-\(state.number)"
    }
}
