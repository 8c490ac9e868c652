import Foundation
public import HubWire
public import Samples
import Synchronization

extension PluginContext {
    /// Gives samples to the hub; when the call returns, they are on the disk.
    ///
    /// They are sent, and sent again, until the hub has stored them.
    ///
    /// Use it for data that the device does not show again after an acknowledgement. Samples with the same `group` must be given in one call. A
    /// call costs one fsync, which simultaneous calls share.
    /// - Parameters:
    ///   - samples: at least one sample.
    ///   - changes: state to save in the same commit, such as the device's cursor; `nil` removes a key.
    /// - Throws: ``GiveError``; nothing of the call was saved then.
    public func give(_ samples: [Sample], saving changes: [String: StateValue?] = [:]) async throws(GiveError) {
        try await give(samples.map { .sample($0) }, saving: changes)
    }

    /// Gives records of any kind to the hub, like ``give(_:saving:)-([Sample],_)``.
    public func give(_ records: [Record], saving changes: [String: StateValue?] = [:]) async throws(GiveError) {
        try await link.give(try SubmittedGroups(records).groups, saving: changes, in: state)
        noteGiven()
    }

    /// Gives records to the hub without the spool and waits until the hub has answered each of them.
    ///
    /// Use it for a source that can ask its service again: move the cursor when the call returns. The call waits while the hub is away. Records
    /// with the same `group` are sent in one batch. The call costs no fsync in the plugin. Cancelling the task does not interrupt it, but
    /// stopping the plugin does.
    /// - Parameters:
    ///   - records: at least one record.
    ///   - isBackfill: marks history, which the hub stores and delivers but does not publish record by record.
    /// - Returns: one result per record, in their order. Do not send a rejected record again unchanged.
    /// - Throws: ``GiveError`` `invalid`, `refused` or `stopping`. The hub may hold some of the records then, and repeating the call is
    ///   harmless.
    public func store(_ records: [Record], isBackfill: Bool = false) async throws(GiveError) -> [RecordResult] {
        let groups = try SubmittedGroups(records)
        let results = try await link.store(GroupedRecords(groups.groups), isBackfill: isBackfill)
        noteGiven()
        return groups.inSubmittedOrder(results)
    }

    /// Gives samples to the hub and waits for its answers, like ``store(_:isBackfill:)-([Record],_)``.
    public func store(_ samples: [Sample], isBackfill: Bool = false) async throws(GiveError) -> [RecordResult] {
        try await store(samples.map { .sample($0) }, isBackfill: isBackfill)
    }

    /// Publishes a transient value, such as a weight that has not settled yet; it is dropped while the hub is away.
    public func live(_ value: LiveValue) async {
        await link.sendIfReady(.live(value))
    }

    /// Reports an event, for example that the device has connected; it is dropped while the hub is away.
    public func event(_ event: DeviceEvent) async {
        await link.sendIfReady(.event(event))
    }

    /// Returns when a record has left the spool since it was found full, or when the plugin is being stopped.
    ///
    /// Call it after ``GiveError/Code/full``, then give the rejected records again.
    public func waitForRoom() async {
        await link.waitForRoom()
    }
}

/// The records of one call as JSON, grouped, with the position of each record in the call.
struct SubmittedGroups {
    /// The groups, in the order of their first records.
    private(set) var groups: [[[UInt8]]] = []
    /// The position in the call of each record, in the order of `groups`.
    private var places: [[Int]] = []

    /// - Throws: ``GiveError`` `invalid` if the call has no records, or a record has an impossible time or exceeds the hub's size limit.
    init(_ records: [Record]) throws(GiveError) {
        guard !records.isEmpty else { throw GiveError(.invalid, "there are no records in the call") }
        let limits = Limits()
        var named: [String: Int] = [:]
        for (place, record) in records.enumerated() {
            // The encoder would stop the program, because a text with a wrong time would be worse.
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

    /// Sorts values that belong to the records of `groups` into the order of the call.
    func inSubmittedOrder<Value>(_ values: [Value]) -> [Value] {
        zip(places.joined(), values).sorted { $0.0 < $1.0 }.map(\.1)
    }
}

extension Record {
    /// Whether all its times can be written as text.
    fileprivate var timesAreRepresentable: Bool {
        guard case .sample(let sample) = self else { return true }
        return sample.start.isRepresentable && sample.end.isRepresentable
    }
}

/// The maximum size of a batch under the terms of a session.
struct BatchBounds {
    /// The maximum size of the SAMPLES envelope: `{"batch":9007199254740991,"backfill":true,"records":[]}`.
    static let envelopeBytes = 64

    var records: Int
    /// The bytes of the records alone, without the commas between them.
    var bytes: Int

    init(_ welcome: Welcome) {
        records = max(1, min(welcome.limits.batchRecords, welcome.credit.records))
        bytes = max(1, min(welcome.limits.frameBytes, welcome.credit.bytes) - Self.envelopeBytes - records)
    }

    /// Whether groups fit into one batch.
    func fit(_ groups: [[[UInt8]]]) -> Bool {
        groups.reduce(0) { $0 + $1.count } <= records
            && groups.reduce(0) { $0 + $1.reduce(0) { $0 + $1.count } } <= bytes
    }

    static func size(of records: [[UInt8]]) -> Int { records.reduce(records.count) { $0 + $1.count } }
}

/// Gives records as text, in groups: for ``PluginContext``, and for a program that relays the records of others.
extension HubLink {
    /// Puts groups into the spool; when the call returns, they are on the disk.
    ///
    /// - Parameters:
    ///   - changes: state to save in the same commit; `nil` removes a key.
    ///   - noting: receives the records' numbers in the spool before any of them is sent.
    /// - Throws: ``GiveError``; nothing of the call was saved then.
    package nonisolated func give(
        _ groups: [[[UInt8]]], saving changes: [String: StateValue?] = [:], in state: PluginState,
        noting: @escaping @Sendable (Range<Int64>) -> Void = { _ in }
    ) async throws(GiveError) {
        let removals = spoolRemovals.load(ordering: .relaxed)
        let ids: Range<Int64>
        do {
            ids = try await state.transaction { transaction in
                let ids = try transaction.spool(groups)
                noting(ids)
                for (key, value) in changes { try transaction.set(key, to: value) }
                return ids
            }
        } catch let error as PluginStateError {
            switch error.code {
            case .full:
                await spoolIsFull(error.message, after: removals)
                throw GiveError(.full, error.message)
            case .invalid: throw GiveError(.invalid, error.message)
            default: throw GiveError(.storage, error.message)
            }
        } catch {
            preconditionFailure("a transaction of PluginState throws PluginStateError: \(type(of: error))")
        }
        await spoolHasGrown(by: groups, as: ids)
    }
}
