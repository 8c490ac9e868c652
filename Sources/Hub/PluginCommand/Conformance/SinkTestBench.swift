import Foundation
import HubWire
import PluginTesting
import Samples

/// A sink beside a hub, and the faults found so far.
final class SinkTestBench {
    let stage: PluginTestBench
    var life: TestedProcess
    var seen: [String] = []

    init(_ stage: PluginTestBench, _ life: TestedProcess) { (self.stage, self.life) = (stage, life) }

    /// Its first subscription by name; `nil` before it asks for one.
    var want: WantRequest? { get async { await stage.hub.wants.min { $0.key < $1.key }?.value } }

    /// Delivers records and expects that the sink answers `delivered` for each.
    func deliver(_ records: [String]) async throws {
        guard let results = await results(of: records) else {
            seen.append("no DONE came")
            return
        }
        for (number, result) in results.enumerated() {
            if case .delivered = result { continue }
            seen.append("record \(number + 1) of the delivery: \(result.words)")
        }
    }

    /// Delivers records and waits for the answer; delivers again if the plugin begins another session meanwhile, as the hub does.
    ///
    /// - Parameter limit: the subject's patience if not given.
    /// - Returns: `nil` if no answer came in time.
    func results(of records: [String], within limit: Duration? = nil) async -> [DeliveryResult]? {
        guard let want = await want?.want else { return nil }
        while true {
            let times = await stage.hub.timesWanted[want]
            guard let place = await stage.hub.deliver(records, to: want) else {
                seen.append("its credit does not cover \(records.count) records")
                return []
            }
            _ = await stage.comes(within: limit) { hub in
                hub.deliveries[place].report != nil || hub.timesWanted[want] != times
            }
            if let report = await stage.hub.deliveries[place].report { return report.results }
            if await stage.hub.timesWanted[want] == times { return nil }
        }
    }

    /// Three ordinary records that match a subscription, encoded as the hub does it.
    ///
    /// - Parameter hub: also stores them if they are days, because the hub looks up the wanted parts of a day when it delivers it.
    static func plain(_ want: WantRequest, in hub: FakeHub) async throws -> [String] {
        guard let type = GeneratedRecords.type(among: want.types ?? ["weight"], mayBeNamed: !want.selection.isOfDays)
        else {
            throw ConformanceTest.Verdict.open(
                "the kit has no records of the types that it wants, which are no quantities and no categories")
        }
        let person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
        let records =
            want.selection.isOfDays
            ? GeneratedRecords.dayValues(type, person: person.name, before: Date())
            : GeneratedRecords.samples(type, of: "conformance", device: "scale", before: Date())
        let stored =
            want.selection.isOfDays
            ? await hub.hold(days: records, of: person)
            : records.enumerated().map { place, record in
                let number = Int64(place + 1)
                return StoredRecord(
                    record: record, number: number, sequence: number, assignment: .person(person), type: type.id)
            }
        return stored.map { record in
            var bytes: [UInt8] = []
            RecordEncoder.append(record, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension KindSelection {
    fileprivate var isOfDays: Bool { standing == [.day] }
}

extension DeliveryResult {
    var words: String {
        switch self {
        case .delivered: "delivered"
        case .retry(_, let reason): "retry\(reason.map { ": " + $0 } ?? "")"
        case .refused(let reason): "refused: \(reason)"
        case .unauthorized(let reason): "unauthorized: \(reason)"
        }
    }
}
