/// A connector's data about one scale and its session; a program behind an hsl link may have several scales.
struct ServedScale {
    /// The id in its records; `nil` until it is known.
    var device: String?
    var known: KnownWeighings
    var reports: ScaleReports
    /// The error of the scale's clock in seconds when the session opened, and now; `nil` until it has reported its time.
    var deviation: (found: Int?, now: Int?) = (nil, nil)
    /// The users by position.
    var users: [UInt32?] = []
    /// The user whose measurement is open.
    var openUser: UInt32?
    /// The weight at the impedance measurement of a weighing that has not been stored yet.
    var impedanceWeight: Int?
    var isConnected = false
}
