import Foundation
import Logging
import PluginKit
import Synchronization

/// A stand-in for the hub, which answers the plugin as the input says.
final class StandInHub: IngestHub {
    let kind = "http-ingest"
    let persons = [Welcome.PersonEntry(name: "me", zone: "Europe/Berlin")]
    let clock: HubClock
    let state: PluginState
    let logger: Logger
    private let behaviour: Input.Hub

    struct Counts: Sendable {
        var calls = 0
        var (stored, duplicate, rejected, retracted) = (0, 0, 0, 0)
        /// Records that were accepted for later.
        var given = 0
        var events: [String] = []
    }

    private struct Held {
        var records: [Key: Record] = [:]
        var counts = Counts()
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isReleased = false
    }

    /// The identity of a record in the hub.
    enum Key: Hashable {
        case sample(Source, RecordKey)
        case other(String)
    }

    private let held = Mutex(Held())

    init(_ behaviour: Input.Hub, state: PluginState, clock: HubClock, logger: Logger) {
        (self.behaviour, self.state, self.clock, self.logger) = (behaviour, state, clock, logger)
    }

    /// Returns the counts since the last call.
    func takeCounts() -> Counts {
        held.withLock { held in
            defer { held.counts = Counts() }
            return held.counts
        }
    }

    var isStopping: Bool { behaviour == .isStopping }

    /// The absent hub is back: all waiting calls go on.
    func release() {
        let waiting = held.withLock { held in
            held.isReleased = true
            defer { held.waiting = [] }
            return held.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func store(_ records: [Record], isBackfill: Bool) async throws(GiveError) -> [RecordResult] {
        demand(!records.isEmpty, "there are no records in the call")
        let calls = held.withLock { held in
            held.counts.calls += 1
            return held.counts.calls
        }
        switch behaviour {
        case .stopsMeanwhile where calls > 1: throw GiveError(.stopping, "the plugin is being stopped")
        case .isStopping: throw GiveError(.stopping, "the plugin is being stopped")
        case .refusesCalls: throw GiveError(.refused, "refused by the stand-in")
        case .refusesGroups where records.count > 1: throw GiveError(.invalid, "too many records at once")
        case .isAway:
            await withCheckedContinuation { continuation in
                let isReleased = held.withLock { held in
                    if !held.isReleased { held.waiting.append(continuation) }
                    return held.isReleased
                }
                if isReleased { continuation.resume() }
            }
        default: break
        }
        return held.withLock { held in records.map { answer($0, &held) } }
    }

    private func answer(_ record: Record, _ held: inout Held) -> RecordResult {
        let key = Self.key(record)
        if case .retraction = record {
            let isThere = held.records.removeValue(forKey: key) != nil
            if isThere { held.counts.retracted += 1 }
            return isThere ? .stored(number: 1, sequence: 1) : .rejected(.unknown, reason: "there is no such record")
        }
        if behaviour == .rejectsSome, "\(key)".utf8.reduce(0, { $0 &+ Int($1) }) % 3 == 0 {
            held.counts.rejected += 1
            return .rejected(.value, reason: "rejected by the stand-in")
        }
        guard held.records.updateValue(record, forKey: key) != record else {
            held.counts.duplicate += 1
            return .duplicate(number: 1, sequence: 1)
        }
        held.counts.stored += 1
        return .stored(number: 1, sequence: 1)
    }

    static func key(_ record: Record) -> Key {
        switch record {
        case .sample(let sample): .sample(sample.source, sample.key)
        case .day(let day): .other("\(day.type) \(day.date.text) \(day.series)")
        case .retraction(let retraction):
            if case .sample(let source, let key) = retraction.identity { .sample(source, key) } else { .other("-") }
        }
    }

    func give(_ records: [Record]) async throws(GiveError) {
        demand(!records.isEmpty, "there are no records in the call")
        held.withLock { $0.counts.given += records.count }
    }

    func retract(
        _ keys: [RecordKey], of source: Source, reason: String
    ) async throws(GiveError) -> [RecordResult] {
        demand(!keys.isEmpty, "there is nothing to take back")
        return try await store(
            keys.map { .retraction(Retraction(identity: .sample(source, $0), source: source, reason: reason)) },
            isBackfill: false)
    }

    func event(_ event: DeviceEvent) async { held.withLock { $0.counts.events.append(event.text ?? "") } }
}

/// A log that checks its lines for a token and for their length, and drops them.
struct WatchedLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = "\(event.message) \(event.metadata.map { "\($0)" } ?? "")"
        demand(!text.contains(Scene.secret), "the log contains a token")
        demand(text.utf8.count < 4_096, "a log line is longer than 4,095 bytes")
    }
}
