import Foundation
public import HubWire
public import PluginState
public import Samples
import Synchronization

extension PluginContext {
    /// Takes samples for the hub; when it returns they are on the disk, and will be sent, and sent again, until the hub
    /// has stored them.
    ///
    /// For what the device will not show again once it was acknowledged. Samples with the same `group` must be given in
    /// one call. Costs one fsync, which calls made at the same time share.
    /// - Parameters:
    ///   - samples: at least one.
    ///   - changes: state to keep in the same commit, such as the device's cursor; nil removes a key.
    /// - Throws: ``GiveError``; nothing of the call was kept then.
    public func give(_ samples: [Sample], saving changes: [String: StateValue?] = [:]) async throws(GiveError) {
        try await give(samples.map { .sample($0) }, saving: changes)
    }

    /// Takes records of any kind for the hub, as ``give(_:saving:)-([Sample],_)`` does.
    public func give(_ records: [Record], saving changes: [String: StateValue?] = [:]) async throws(GiveError) {
        try await link.give(try GivenGroups(records).groups, saving: changes, in: state)
        noteGiven()
    }

    /// Gives records to the hub without the spool and waits until it has answered each.
    ///
    /// For a source that can ask again: move the cursor when this returns. Waits as long as the hub is away. Records with
    /// the same `group` travel together. Costs no fsync here. Cancelling the task does not interrupt it, but stopping the
    /// plugin does.
    /// - Parameters:
    ///   - records: at least one.
    ///   - isBackfill: history, which the hub stores and delivers but does not publish one by one.
    /// - Returns: a result per record, in their order. A rejected record is not to be sent again unchanged.
    /// - Throws: ``GiveError`` `invalid`, `refused` or `stopping`; the hub may hold some of the records then, and a repeat
    ///   is harmless.
    public func store(_ records: [Record], isBackfill: Bool = false) async throws(GiveError) -> [RecordResult] {
        let groups = try GivenGroups(records)
        let results = try await link.storeCalls.store(GroupedRecords(groups.groups), isBackfill: isBackfill)
        noteGiven()
        return groups.inOrderGiven(results)
    }

    /// Gives samples to the hub and waits for its answers, as ``store(_:isBackfill:)-([Record],_)`` does.
    public func store(_ samples: [Sample], isBackfill: Bool = false) async throws(GiveError) -> [RecordResult] {
        try await store(samples.map { .sample($0) }, isBackfill: isBackfill)
    }

    /// Shows a passing value, such as a weight that still settles; dropped while the hub is away.
    public func live(_ value: LiveValue) async {
        await link.sendIfReady(.live(value))
    }

    /// Says that something happened, such as that the device has connected; dropped while the hub is away.
    public func event(_ event: DeviceEvent) async {
        await link.sendIfReady(.event(event))
    }

    /// Returns when something has left the spool since it was found full, or the plugin is being stopped.
    ///
    /// After ``GiveError/Code/full``: wait, then give again what was not taken.
    public func waitForRoom() async {
        await link.spool.waitForRoom()
    }
}

/// The records of one call as JSON, those of one group together, and where each stood in the call.
struct GivenGroups {
    /// In the order in which the groups begin.
    private(set) var groups: [[[UInt8]]] = []
    /// For each record, in the order of `groups`, its place in the call.
    private var places: [[Int]] = []

    /// - Throws: ``GiveError`` `invalid` when there is none, one has a time that no record can have, or one is larger than a hub takes.
    init(_ records: [Record]) throws(GiveError) {
        guard !records.isEmpty else { throw GiveError(.invalid, "there are no records in the call") }
        let limits = Limits()
        var named: [String: Int] = [:]
        for (place, record) in records.enumerated() {
            // The encoder would stop the program: a text that says another time would be worse.
            guard record.timesAreRepresentable else {
                throw GiveError(
                    .invalid,
                    "record \(place + 1) of \(records.count) has a time that no record can have: "
                        + Timestamp.ParseError.instantOutOfRange.description)
            }
            var bytes: [UInt8] = []
            RecordEncoder.append(record, to: &bytes)
            guard bytes.count <= limits.recordBytes else {
                throw GiveError(
                    .invalid,
                    "record \(place + 1) of \(records.count) has \(bytes.count) bytes, and a hub takes \(limits.recordBytes)"
                )
            }
            if case .sample(let sample) = record, let name = sample.group {
                if let group = named[name] {
                    groups[group].append(bytes)
                    places[group].append(place)
                    continue
                }
                named[name] = groups.count
            }
            groups.append([bytes])
            places.append([place])
        }
        for (group, places) in zip(groups, places) where group.count > 1 {
            let size = BatchBounds.size(of: group)
            if group.count > limits.batchRecords || size > limits.frameBytes - BatchBounds.envelopeBytes {
                throw GiveError(
                    .invalid,
                    "the group of record \(places[0] + 1) has \(group.count) records and \(size) bytes, and a hub takes "
                        + "\(limits.batchRecords) and \(limits.frameBytes) in one batch; make smaller groups")
            }
        }
    }

    /// Puts what belongs to the records of `groups` into the order of the call.
    func inOrderGiven<Value>(_ values: [Value]) -> [Value] {
        zip(places.joined(), values).sorted { $0.0 < $1.0 }.map(\.1)
    }
}

extension Record {
    /// Whether all its times have a text.
    fileprivate var timesAreRepresentable: Bool {
        guard case .sample(let sample) = self else { return true }
        return sample.start.isRepresentable && sample.end.isRepresentable
    }
}

/// How large a batch may be, by the terms of a session.
struct BatchBounds {
    /// The most that SAMPLES puts around the records: `{"batch":9007199254740991,"backfill":true,"records":[]}`.
    static let envelopeBytes = 64

    var records: Int
    /// Of the records alone, without the commas between them.
    var bytes: Int

    init(_ welcome: Welcome) {
        records = max(1, min(welcome.limits.batchRecords, welcome.credit.records))
        bytes = max(1, min(welcome.limits.frameBytes, welcome.credit.bytes) - Self.envelopeBytes - records)
    }

    static func size(of records: [[UInt8]]) -> Int { records.reduce(records.count) { $0 + $1.count } }
}
