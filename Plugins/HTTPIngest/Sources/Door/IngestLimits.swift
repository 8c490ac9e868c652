import HTTPServing

/// How long is waited for what.
struct IngestLimits: Sendable {
    var connection = PatienceLimits()
    /// For the hub, once a post is there: phones have about 30 seconds for everything.
    var post = Duration.seconds(20)
    /// The same for those who forget what is not taken at once.
    var forgotten = Duration.seconds(6)
    /// For an earlier post of the same phone.
    var turn = Duration.seconds(8)
    /// Before a wrong token is answered: who guesses does not guess often.
    var guess = Duration.milliseconds(500)
    /// For the answers of what is under way when the plugin is to stop; a part of the five seconds that it has.
    var farewell = Duration.milliseconds(1_500)
}
