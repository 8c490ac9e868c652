import PluginKit

/// Why a run of calls ended early.
///
/// The texts are for `hub status`: no value, no token.
enum Trouble: Error, Sendable {
    /// A person has to log in.
    case logIn(String)
    /// The service is away or wants nothing for a while; the rest has been noted.
    ///
    /// Whether the last call certainly did nothing.
    case resting(hadNoEffect: Bool)
    /// Another Exist account, or another person, than before.
    case mixedUp(String)

    /// Whether the call that failed has certainly changed nothing.
    var hadNoEffect: Bool { if case .resting(let hadNoEffect) = self { hadNoEffect } else { true } }
}
