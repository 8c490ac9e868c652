import HubWire

/// The time limits for the processes of plugins; times are milliseconds.
struct LifecyclePolicy: Sendable, Hashable {
    /// The first pause before a restart; each further pause is twice as long.
    var firstPause: Int64 = 1_000
    /// Maximum length of a pause.
    var longestPause: Int64 = 300_000
    /// The part of a pause that chance may take away, so that plugins that failed together do not restart together.
    var jitter = 0.25
    /// A plugin with a session of this length is well: its next pause is the first one again.
    var healthyAfter: Int64 = 60_000
    /// Maximum number of crashes within ``crashWindow`` before the instance is quarantined.
    var crashLimit = 5
    var crashWindow: Int64 = 600_000
    /// Maximum time from the start of the process to its HELLO.
    var startLimit: Int64 = 30_000
    /// How long a process may run after its session was lost; the session itself ends after `heartbeat.timeout` of silence.
    var silenceLimit: Int64 = 30_000
    /// The pause after a failure that only a person can correct, such as wrong settings.
    var hopelessPause: Int64 = 300_000
    /// The time from STOP and the end of stdin to SIGTERM.
    var stopGrace = Duration.seconds(5)
    /// The time from SIGTERM to SIGKILL.
    var killGrace = Duration.seconds(1)
    /// How often the memory of the processes is measured; five times as often while one of them holds half of its limit.
    var memoryInterval: Int64 = 1_000
    /// Minimum time that a process runs before a restart that lets it see a replaced file.
    var sightPause: Int64 = 10_000
    /// Minimum time between two starts of a program that runs `immediate`.
    var runFloor: Int64 = 10_000
    /// How often to check whether a program that runs on a schedule has work, or is done.
    var runLook: Int64 = 1_000
    /// How long it may continue without waiting work.
    var runLinger: Int64 = 30_000
    /// Maximum length of one run.
    var longestRun: Int64 = 3_600_000
    /// How long after a change of `hub.conf` a plugin that fails gets its former settings back.
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
