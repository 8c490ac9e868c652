import HTTPServing

/// Time limits.
struct IngestLimits: Sendable {
    var connection = TimeoutLimits()
    /// Waits for the hub once a post has arrived; phones allow about 30 seconds for everything.
    var post = Duration.seconds(20)
    /// The same for senders that do not repeat a failed post.
    var forgotten = Duration.seconds(6)
    /// Waits for an earlier post of the same phone.
    var turn = Duration.seconds(8)
    /// Delays the answer to a wrong token, so that guessing is slow.
    var guess = Duration.milliseconds(500)
    /// Waits for running answers when the plugin is stopped; part of the five seconds that it has.
    var farewell = Duration.milliseconds(1_500)
}
