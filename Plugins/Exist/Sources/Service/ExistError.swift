import PluginKit

/// Why a run of calls ended early.
///
/// The texts appear in `hub status`; they contain no value and no token.
enum ExistError: Error, Sendable {
    /// A person has to log in.
    case logIn(String)
    /// The service is unavailable or refuses calls for a while; the rest is already recorded.
    ///
    /// `hadNoEffect` is true if the last call certainly had no effect.
    case resting(hadNoEffect: Bool)
    /// The account or the person differs from the one before.
    case mixedUp(String)

    /// Whether the failed call certainly changed nothing.
    var hadNoEffect: Bool { if case .resting(let hadNoEffect) = self { hadNoEffect } else { true } }
}
