import ScaleProtocols

/// What a connector knows of one scale, and of the session with it; a program behind an hsl link may have several.
struct ServedScale {
    /// The id in its records; nil until it is known.
    var device: String?
    var known: KnownWeighings
    var reports: ScaleReports
    /// By how many seconds the scale's clock was wrong when the session opened, and is now; nil before it has said its time.
    var deviation: (found: Int?, now: Int?) = (nil, nil)
    /// By position.
    var users: [UInt32?] = []
    /// The user whose measurement is held open.
    var openUser: UInt32?
    /// The weight while the impedance of the weighing was measured that has not been kept yet.
    var impedanceWeight: Int?
    var isConnected = false
}
