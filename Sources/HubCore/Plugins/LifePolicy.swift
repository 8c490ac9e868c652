import HubSessions

/// How patient the hub is with the processes of its plugins; times are milliseconds.
struct LifePolicy: Sendable, Hashable {
    /// The first pause before a restart; each further one doubles it.
    var firstPause: Int64 = 1_000
    /// No pause is longer.
    var longestPause: Int64 = 300_000
    /// The part of a pause that chance may take away, so that plugins that fell together do not rise together.
    var jitter = 0.25
    /// After so long with a session a plugin is well: its next pause is the first again.
    var healthyAfter: Int64 = 60_000
    /// So many crashes within ``crashWindow``, and the instance is quarantined.
    var crashLimit = 5
    var crashWindow: Int64 = 600_000
    /// From the start of the process to its HELLO.
    var startLimit: Int64 = 30_000
    /// How long a process may live on after its session was lost; the session itself ends after `heartbeat.timeout` of silence.
    var silenceLimit: Int64 = 30_000
    /// The pause after an ending that only a person can mend, such as wrong settings.
    var hopelessPause: Int64 = 300_000
    /// From STOP and the end of stdin to SIGTERM.
    var stopGrace = Duration.seconds(5)
    /// From SIGTERM to SIGKILL.
    var killGrace = Duration.seconds(1)
    /// How often the memory of the processes is looked at; five times as often while one holds half of its limit.
    var memoryInterval: Int64 = 1_000
    /// How long a process runs at least before it is started again to see a file that has replaced another.
    var sightPause: Int64 = 10_000
    /// Between the starts of a program that runs `immediate`, at least.
    var runFloor: Int64 = 10_000
    /// How often it is looked whether something waits for a program that runs now and then, or whether it is done.
    var runLook: Int64 = 1_000
    /// How long it may go on when nothing waits for it any more.
    var runLinger: Int64 = 30_000
    /// How long it may run at a time.
    var longestRun: Int64 = 3_600_000
    /// After a change of `hub.conf`, how long a plugin that turns sick gets its former settings back.
    var watchPeriod: Int64 = 300_000

    /// The pause before restart number `attempt`, which counts from 1 since the plugin was last well.
    ///
    /// - Parameter chance: 0 to 1.
    func pause(attempt: Int, chance: Double) -> Int64 {
        var pause = min(firstPause, longestPause)
        for _ in 1..<max(1, attempt) where pause < longestPause { pause = min(longestPause, pause * 2) }
        return pause - Int64(Double(pause) * jitter * min(1, max(0, chance)))
    }
}
