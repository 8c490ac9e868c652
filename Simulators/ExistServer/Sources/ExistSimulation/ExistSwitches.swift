public import WebFaults

/// Switches for behaviour that is undocumented, or that changes from day to day.
public struct ExistSwitches: Sendable {
    public enum Consent: String, CaseIterable, Sendable { case allow, deny, ask }

    /// The value of days without data: `null`, or 0 for quantities.
    var zeroForMissing = false
    /// Whether the rate window is a clock hour instead of the last sixty minutes.
    var hourByTheClock = false
    var callsPerHour = 300
    /// `Retry-After` of 429.
    var retryAfter: Int?
    /// Whether values out of their range are refused.
    var checksRange = false
    var largestBatch = 35
    /// The scheme in `next` of pages.
    var nextScheme = "https"
    /// Whether a missing scope makes the service refuse the whole call.
    var scopeRefusesCall = false
    var consent = Consent.allow
    /// The user signed in in the browser; `nil` for the first user.
    var signedIn: String?
    /// Whether the answer contains `state`.
    var returnsState = true
    /// Seconds.
    var tokenLife = 31_535_999
    var codeLife = 600

    public init() {}

    /// The name, the values with the default first, and the meaning.
    public static let known: [(name: String, values: String, help: String)] = [
        ("missing_value", "null|zero_for_quantities", "the value of a day without data"),
        ("rate_window", "rolling60|clock_hour", "which hour the limit counts"),
        ("rate_limit", "300", "calls an hour for each user and client"),
        ("retry_after", "absent|SECONDS", "the field of 429"),
        ("range_check", "off|on", "whether values out of their range are refused"),
        ("max_batch", "35|N", "objects of one call"),
        ("next_scheme", "https|http", "in the links of pages"),
        ("scope_denied", "per_object|http403", "how a missing scope is reported"),
        ("consent", "allow|deny|ask", "a person's answer to a log-in; ask shows a page"),
        ("signed_in", "NAME", "the person who answers; the first user by default"),
        ("state", "returned|dropped", "whether it comes back from a log-in"),
        ("token_life", "31535999|SECONDS", "of access tokens handed out from now on"),
        ("code_life", "600|SECONDS", "of authorization codes"),
    ]

    /// Sets one switch.
    /// - Throws: ``WebFaultsError`` with the expected values.
    public mutating func set(_ name: String, _ value: String) throws(WebFaultsError) {
        guard apply(name, value) else {
            if let known = Self.known.first(where: { $0.name == name }) {
                throw WebFaultsError("switch \(name): '\(value)': expected \(known.values) (\(known.help))")
            }
            throw WebFaultsError(
                "there is no switch '\(name)'; there are \(Self.known.map(\.name).joined(separator: ", "))")
        }
    }

    private mutating func apply(_ name: String, _ value: String) -> Bool {
        func choice(_ first: String, _ second: String) -> Bool? {
            value == first ? false : value == second ? true : nil
        }
        func set<Value>(_ place: inout Value, _ value: Value?) -> Bool {
            if let value { place = value }
            return value != nil
        }
        let number = Int(value).flatMap { $0 >= 0 ? $0 : nil }
        switch name {
        case "missing_value": return set(&zeroForMissing, choice("null", "zero_for_quantities"))
        case "rate_window": return set(&hourByTheClock, choice("rolling60", "clock_hour"))
        case "rate_limit": return set(&callsPerHour, number)
        case "retry_after": return set(&retryAfter, value == "absent" ? .some(nil) : number.map { .some($0) })
        case "range_check": return set(&checksRange, choice("off", "on"))
        case "max_batch": return set(&largestBatch, number)
        case "next_scheme": return set(&nextScheme, ["http", "https"].contains(value) ? value : nil)
        case "scope_denied": return set(&scopeRefusesCall, choice("per_object", "http403"))
        case "consent": return set(&consent, Consent(rawValue: value))
        case "signed_in":
            signedIn = value
            return true
        case "state": return set(&returnsState, choice("returned", "dropped").map { !$0 })
        case "token_life": return set(&tokenLife, number)
        case "code_life": return set(&codeLife, number)
        default: return false
        }
    }

    /// The values in the form that ``set(_:_:)`` accepts.
    var json: JSONTree {
        .object([
            .init("missing_value", .text(zeroForMissing ? "zero_for_quantities" : "null")),
            .init("rate_window", .text(hourByTheClock ? "clock_hour" : "rolling60")),
            .init("rate_limit", .text("\(callsPerHour)")),
            .init("retry_after", .text(retryAfter.map { "\($0)" } ?? "absent")),
            .init("range_check", .text(checksRange ? "on" : "off")),
            .init("max_batch", .text("\(largestBatch)")),
            .init("next_scheme", .text(nextScheme)),
            .init("scope_denied", .text(scopeRefusesCall ? "http403" : "per_object")),
            .init("consent", .text(consent.rawValue)),
            .init("signed_in", JSONTree(signedIn)),
            .init("state", .text(returnsState ? "returned" : "dropped")),
            .init("token_life", .text("\(tokenLife)")),
            .init("code_life", .text("\(codeLife)")),
        ])
    }
}
