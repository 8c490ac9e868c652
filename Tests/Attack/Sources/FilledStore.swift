import Foundation
import HubProcess
import HubStore
import Samples

/// A store that is written directly, before its hub starts.
///
/// At the door, millions of records would take minutes and make the same file.
struct FilledStore {
    /// The number of records, which `ATTACK_RECORDS` can change.
    static func size(_ usual: Int) -> Int {
        ProcessInfo.processInfo.environment["ATTACK_RECORDS"].flatMap { Int($0) } ?? usual
    }

    static let now: Int64 = 1_700_000_000_000_000

    let store: Store
    let me: Assignment

    init(of host: HubHost) async throws {
        let data = host.folder.path + "/data"
        try FileManager.default.createDirectory(
            atPath: data, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        store = try Store(path: data + "/hub.sqlite", now: FilledStore.now)
        me = .person(try await store.ensurePersons(["me"], recordedAt: 1)[0])
    }

    func give(
        _ count: Int, _ instance: String, _ limits: InstanceLimits = InstanceLimits(),
        _ record: (Int) throws -> IntakeRecord
    ) async throws {
        for first in stride(from: 0, to: count, by: 5_000) {
            let items = try items(first..<min(first + 5_000, count), record)
            let batch = IntakeBatch(instance: instance, items: items, limits: limits)
            _ = try await store.commit([batch], recordedAt: FilledStore.now)
        }
    }

    /// A separate function, because Swift 6.3 crashes when it optimises an asynchronous function that contains this code.
    @inline(never)
    private func items(_ numbers: Range<Int>, _ record: (Int) throws -> IntakeRecord) throws -> [IntakeItem] {
        try numbers.map { IntakeItem.success(try record($0)) }
    }

    static func sample(
        _ key: String, _ type: String = "weight", device: String = "a", at microseconds: Int64 = now,
        _ value: Double = 70, unit: String = "kg"
    ) throws -> Sample {
        guard let key = RecordKey(key) else { throw CocoaError(.formatting) }
        let moment = Timestamp(microseconds: microseconds, offsetMinutes: 60)
        return Sample(
            source: Source(plugin: "filler", device: device), key: key, type: try TypeID(type),
            value: .quantity(value, unit: unit), start: moment, end: moment)
    }
}
