import Foundation
import TortureDiary

/// An action on a program, or an event of it.
struct Disturbance: Codable, Sendable {
    var at: Int64
    var victim: String
    /// The action: `kill -9`, `stop`, `continue`, `start`.
    var what: String
}

/// One fault of the schedule, as it was carried out.
struct Trial: Codable, Sendable {
    var kind: String
    var applied: Int64
    var lifted: Int64?
    /// Why it was not possible.
    var obstacle: String?
    var words: [String] = []
    var patience: Int64?
}

/// The store was put back to an earlier state: by a person who restored a backup, or by a disk.
struct Takeback: Codable, Sendable {
    /// Everything that was confirmed before this time is still there.
    var since: Int64
    /// From this time on, all programs run with the earlier state.
    var until: Int64
    var why: String
    /// The epochs, which are equal if the hub cannot know.
    var before, after: String

    var times: ClosedRange<Int64> { since...max(since, until) }
}

/// A status of the hub, with the times of the request and the answer.
struct Sighting: Sendable {
    var asked, answered: Int64
    var status: StatusSample
}

/// An event of a follower of the feed.
struct FeedLine: Sendable {
    enum Event: Sendable {
        case record(epoch: String, Story.Record)
        /// Earlier events do not count any more: the feed comes again from the beginning.
        case restored
        case away, back
        case failed(String)
    }
    var at: Int64
    var event: Event
}

/// All that the judge may use: the diaries of sources and sinks, the messages of the follower, the hub's answers at its door, and the
/// disturbances with their times.
struct Evidence: Sendable {
    /// By instance, which is also the device of the source's records.
    var sources: [String: [SourceLine]] = [:]
    var sinks: [String: Sink] = [:]
    /// The keys that the platinum source read, and the lines that the platinum sink wrote.
    var readings: [String] = []
    var archive: [Story.Record] = []
    var follower: [FeedLine] = []
    var disturbances: [Disturbance] = []
    var trials: [Trial] = []
    var takebacks: [Takeback] = []
    var sightings: [Sighting] = []
    /// Each run of the hub, with its output.
    var lives: [Kept.Life] = []
    /// The hub's status at the end.
    var last: StatusSample?
    var stories: [Story] = []

    struct Sink: Sendable {
        var lines: [SinkLine] = []
        /// The wanted types; `nil` for all.
        var types: [String]?
    }
}

/// The device and key that identify a record.
struct Identity: Hashable, Sendable, CustomStringConvertible {
    var device, key: String
    var description: String { "\(device)/\(key)" }
}
