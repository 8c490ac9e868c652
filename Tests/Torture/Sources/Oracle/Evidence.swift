import Foundation
import TortureDiary

/// Something was done to a program, or happened to it.
struct Disturbance: Codable, Sendable {
    var at: Int64
    var victim: String
    /// What was done: `kill -9`, `stop`, `continue`, `start`.
    var what: String
}

/// One fault of the schedule, as it came.
struct Trial: Codable, Sendable {
    var kind: String
    var applied: Int64
    var lifted: Int64?
    /// Why it could not be made.
    var obstacle: String?
    var words: [String] = []
    var patience: Int64?
}

/// The store was put back to what it had been at some time: by a person who restored a backup, or by a disk.
struct Takeback: Codable, Sendable {
    /// What was confirmed before is still there.
    var since: Int64
    /// From then on all runs with what is left.
    var until: Int64
    var why: String
    /// The epochs; the same where the hub cannot know.
    var before, after: String

    var times: ClosedRange<Int64> { since...max(since, until) }
}

/// A sample of what the hub said of itself: when it was asked, when it had answered.
struct Sighting: Sendable {
    var asked, answered: Int64
    var status: StatusSample
}

/// What a follower of the feed was shown.
struct FeedLine: Sendable {
    enum Event: Sendable {
        case record(epoch: String, Story.Record)
        /// What it has handed out does not count any more: all comes again from the beginning.
        case restored
        case away, back
        case failed(String)
    }
    var at: Int64
    var event: Event
}

/// All that the judge may look at: what the sources wrote down, what the sinks and the follower received, what the hub says through its door; and what
/// was done to whom, when.
struct Evidence: Sendable {
    /// By instance, which is also the device of its records.
    var sources: [String: [SourceLine]] = [:]
    var sinks: [String: Sink] = [:]
    /// The keys of what the platinum source read, and what the platinum sink wrote.
    var readings: [String] = []
    var archive: [Story.Record] = []
    var follower: [FeedLine] = []
    var disturbances: [Disturbance] = []
    var trials: [Trial] = []
    var takebacks: [Takeback] = []
    var sightings: [Sighting] = []
    /// Each run of the hub, and what it said.
    var lives: [Kept.Life] = []
    /// What the hub says at the end.
    var last: StatusSample?
    var stories: [Story] = []

    struct Sink: Sendable {
        var lines: [SinkLine] = []
        /// `nil` for all.
        var types: [String]?
    }
}

/// What names a record for its source, and so for everyone.
struct Identity: Hashable, Sendable, CustomStringConvertible {
    var device, key: String
    var description: String { "\(device)/\(key)" }
}
