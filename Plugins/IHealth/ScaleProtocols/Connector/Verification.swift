import FoundationEssentials
import PluginKit

/// The authority that decides whether a person may measure.
public enum VerificationMode: String, Sendable, Hashable, CaseIterable {
    /// This machine, without asking a cloud.
    case local
    /// The vendor's cloud.
    case openapi
    /// The vendor's software at the other end of the link.
    case bridge
}

/// The cloud's answer about a person.
public enum CloudVerdict: Sendable, Hashable {
    /// The account is linked.
    case linked
    /// No account is logged in.
    case notLoggedIn
    /// The cloud rejects the person's token or name.
    case userRefused
    /// The cloud rejects the software's own id.
    case softwareRefused
    /// No answer.
    case unreachable
}

/// Verifies the person before measuring, by the rules of the vendor's software.
///
/// It is a value without I/O; ``memory`` must survive a restart.
public struct Verification: Sendable {
    /// The person to be measured.
    public struct User: Sendable, Hashable {
        /// The e-mail address, or the name of the hub's person; `nil` for the household, which is not registered.
        public var name: String?
        /// Whether `name` is an e-mail address, as a vendor's user id must be.
        public var isAccount = false
        /// Whether only one of client id and secret is known.
        public var isIncomplete = false
        /// False if the hub knows persons and this is none of them.
        public var isAllowed = true

        public init(name: String? = nil, isAccount: Bool = false, isIncomplete: Bool = false, isAllowed: Bool = true) {
            (self.name, self.isAccount, self.isIncomplete) = (name, isAccount, isIncomplete)
            self.isAllowed = isAllowed
        }
    }

    /// The data to remember between runs.
    public struct Memory: Sendable, Hashable, Codable {
        /// Persons who have measured.
        public var known: Set<String> = []
        /// Persons who have accepted the disclaimer.
        public var accepted: Set<String> = []
        /// The first failure to reach the cloud since the last success, in microseconds since 1970.
        public var firstOffline: Int64?

        public init() {}
    }

    /// The result of a verification.
    public struct Verdict: Sendable, Hashable {
        /// `nil` for a new person without an accepted disclaimer.
        public var result: UserAuthentication?
        public var mayMeasure: Bool
        /// The end of validity, if known, in microseconds since 1970.
        public var until: Int64?
        /// The remedy if measuring is not allowed.
        public var help: String?
        /// Whether only a log-in is missing.
        public var isForLogIn = false
    }

    /// Ten days, in microseconds.
    public static let trial: Int64 = 10 * 24 * 3600 * 1_000_000

    public let model: ScaleModel
    public var memory: Memory

    public init(_ model: ScaleModel, memory: Memory = Memory()) { (self.model, self.memory) = (model, memory) }

    /// Verifies by this machine's rules.
    public mutating func local(_ user: User) -> Verdict {
        if let fault = fault(of: user) { return fault }
        guard let name = user.name else { return verdict(.loggedIn) }
        return admit(name)
    }

    /// Verifies by the cloud's answer.
    ///
    /// - Parameter now: microseconds since 1970 by the hub's clock.
    public mutating func online(_ user: User, _ answer: CloudVerdict, at now: Int64) -> Verdict {
        if let fault = fault(of: user) { return fault }
        switch answer {
        case .linked:
            memory.firstOffline = nil
            return verdict(.combined)
        case .notLoggedIn:
            var verdict = refuse(.wrongUser, "no account is linked: hub login INSTANCE")
            verdict.isForLogIn = true
            return verdict
        case .userRefused:
            return refuse(.wrongUser, "the vendor's cloud refuses the account: hub login INSTANCE")
        case .softwareRefused:
            return refuse(.programNotAllowed, "the vendor's cloud refuses client_id and client_secret")
        case .unreachable: return offline(at: now)
        }
    }

    private mutating func offline(at now: Int64) -> Verdict {
        let first = memory.firstOffline ?? now
        memory.firstOffline = first
        guard model != .hs5 else {
            return refuse(.networkFailed, "the vendor's cloud cannot be reached, and a HS5 has no trial without it")
        }
        guard now < first + Self.trial else {
            return refuse(
                .networkFailed, "the vendor's cloud cannot be reached, and the trial of ten days without it is over")
        }
        return Verdict(result: .trial, mayMeasure: true, until: first + Self.trial)
    }

    private func fault(of user: User) -> Verdict? {
        if user.isIncomplete {
            return refuse(.wrongUser, "set both client_id and client_secret, or neither")
        }
        if let name = user.name, user.isAccount, !Self.isMailAddress(name) {
            return refuse(.wrongUser, "user_id is not an e-mail address")
        }
        if !user.isAllowed {
            return refuse(.userNotAllowed, "the setting person names no person whom the hub lets this plugin write of")
        }
        return nil
    }

    /// Registers a new person once the disclaimer is accepted.
    private mutating func admit(_ name: String) -> Verdict {
        if memory.known.contains(name) { return verdict(.loggedIn) }
        guard memory.accepted.contains(name) else {
            return Verdict(
                result: nil, mayMeasure: false,
                help: "a new person has to accept the disclaimer first: hub do INSTANCE disclaimer accept=true")
        }
        memory.known.insert(name)
        return verdict(.registered)
    }

    private func verdict(_ result: UserAuthentication) -> Verdict {
        Verdict(result: result, mayMeasure: result.allowsMeasuring(on: model))
    }

    private func refuse(_ result: UserAuthentication, _ help: String) -> Verdict {
        Verdict(result: result, mayMeasure: false, help: help)
    }

    /// Matches any text, an at sign, and a host with a dot.
    static func isMailAddress(_ text: String) -> Bool {
        let sides = text.split(separator: "@", omittingEmptySubsequences: false)
        guard sides.count == 2, !sides[0].isEmpty, !text.contains(where: \.isWhitespace) else { return false }
        let labels = sides[1].split(separator: ".", omittingEmptySubsequences: false)
        return labels.count >= 2 && labels.allSatisfy { !$0.isEmpty }
    }

    /// The text that a new person accepts.
    public static let disclaimer = """
        This scale and this program are not medical devices. Weights and what is computed from them (body fat, water, \
        muscle, bone, visceral fat, daily calories) are estimates; they neither diagnose nor treat anything, and no \
        treatment should be begun, changed or ended because of them without a physician. A scale that sends a current \
        through the body must not be used with a pacemaker or another electronic implant, and not during pregnancy \
        without asking a physician.
        """
}
