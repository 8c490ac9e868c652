import Foundation
import TortureDiary

/// Something was done to a process.
struct Disturbance: Sendable {
    var at: Int64
    /// Which of the five.
    var victim: String
    /// `kill -9`, `stop`, `continue`, `start`.
    var what: String
}

/// A sample of what the hub said of itself: when it was asked, when it had answered.
struct Sighting: Sendable {
    var asked, answered: Int64
    var status: StatusSample
}

/// All that the judge may look at: what the sources wrote down, what the sinks received, what the hub says through its door; and when
/// who was disturbed.
struct Evidence: Sendable {
    /// By instance, which is also the device of its records.
    var sources: [String: [SourceLine]] = [:]
    var sinks: [String: Sink] = [:]
    var disturbances: [Disturbance] = []
    var sightings: [Sighting] = []
    /// What the hub says at the end.
    var last: StatusSample?
    var stories: [Story] = []

    struct Sink: Sendable {
        var lines: [SinkLine] = []
        /// `nil` for all.
        var types: [String]?
        /// Of the hub's process: what a kill of the hub also ends.
        var isChildOfHub = false
    }
}

/// What names a record for its source, and so for everyone.
struct Identity: Hashable, Sendable, CustomStringConvertible {
    var device, key: String
    var description: String { "\(device)/\(key)" }
}
