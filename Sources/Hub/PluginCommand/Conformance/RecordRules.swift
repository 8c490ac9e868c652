import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

extension RecordIdentity {
    /// A description that identifies the record, without a value.
    var words: String {
        switch self {
        case .sample(let source, let key): "the sample \(key.text) of \(source.device ?? source.plugin)"
        case .day(_, let type, let series, let date): "the day \(date.text) of \(type), series \(series)"
        }
    }
}

extension Rule {
    /// The records that it gives.
    static let records: [Rule] = [
        Rule(
            "gives", .bronze, of: .sources, "With the settings of the test it gives at least one record within 30 s.",
            repair: "Write settings into test.conf with which there is something to give; see hub plugin test --help."
        ) { examination in
            let course = try await examination.course()
            return course.records.isEmpty ? ["nothing came in time"] + course.printed.suffix(3) : []
        },
        Rule(
            "killed", .silver, of: .sources,
            "Killed before its records were confirmed, it gives all of them when it is started again.",
            repair:
                "Keep records without STORED in HUB_STATE, or read them again from the device; confirm to the device after STORED."
        ) { examination in try await interrupted(examination) { stage, life in await life.kill() } },
        Rule(
            "stopped", .silver, of: .sources,
            "Stopped before its records were confirmed, it gives all of them at its next start.",
            repair: "At STOP, keep records without STORED in HUB_STATE, or do not confirm them to the device."
        ) { examination in try await interrupted(examination) { stage, life in _ = await life.stop(stage.hub) } },
        Rule(
            "lost-session", .silver, of: .sources,
            "When its session is lost in the middle of a batch it gives that batch again.",
            repair:
                "Keep each batch until its STORED; after another WELCOME send the batches without one (Protocol §4)."
        ) { examination in
            let lasting = try await examination.lasting()
            let stage = try await examination.stage {
                $0.answers = false
                $0.heartbeat = Heartbeat(interval: 500, timeout: 5_000)
            }
            let life = stage.start()
            guard await stage.comes({ $0.batches > 0 }) else { return ["nothing came in time"] }
            await stage.hub.forgetSessions()
            await stage.hub.change { $0.answers = true }
            let missing = await stage.missing(lasting)
            await life.stop(stage.hub)
            return missing
        },
        Rule(
            "full-disk", .silver, of: .sources,
            "When the hub's disk is full (ERROR store), it sends the batch again after `after`, and not before.",
            repair: "At ERROR store wait for the milliseconds of after, and send the same batch again."
        ) { examination in
            let lasting = try await examination.lasting()
            let stage = try await examination.stage { $0.storeErrors = 3 }
            let life = stage.start()
            let missing = await stage.missing(lasting)
            await life.stop(stage.hub)
            return missing + (await stage.hub.violations)
        },
        Rule(
            "credit", .silver, of: .sources, "It never sends more than its credit and the limits of WELCOME allow.",
            repair: "Count records and bytes of each SAMPLES against the credit, and wait for more (Protocol §4.3)."
        ) { examination in
            let lasting = try await examination.lasting()
            let stage = try await examination.stage {
                // A group of records cannot be divided; the groups of a scale that measures composition fit into this.
                $0.limits.batchRecords = 10
                $0.credit = Credit(records: 11, bytes: 131_072)
            }
            let life = stage.start()
            let missing = await stage.missing(lasting)
            await life.stop(stage.hub)
            return missing + (await stage.hub.violations)
        },
        Rule(
            "identity", .silver, of: .sources,
            "After a start with an empty state directory, it gives the same records again.",
            repair:
                "Make the key from the device's data of the reading, never from the clock, a counter or a random number."
        ) { examination in
            let stage = try await examination.stage()
            let life = stage.start()
            await stage.settle(atLeast: 1)
            await life.stop(stage.hub)
            let first = SampleContents(await stage.hub.held.map(\.record))
            try stage.forget()
            let before = await stage.hub.batches
            let second = stage.start()
            // A device that does not keep its readings gives nothing the second time.
            guard await stage.comes({ $0.batches > before }) else { return [] }
            await stage.settle()
            await second.stop(stage.hub)
            return first.doubled(by: await stage.hub.held.map(\.record))
        },
        Rule(
            "rejected", .gold, of: .sources,
            "A record that the hub rejects does not stop other records, nor the plugin.",
            repair: "Read results of STORED one by one: report a rejected record on stderr, and go on with the rest."
        ) { examination in
            let lasting = try await examination.lasting()
            let given = try await examination.course().held.map(\.identity)
            guard let first = given.first(where: lasting.contains) else { return ["it gives nothing"] }
            let stage = try await examination.stage {
                $0.rejects = { $0.identity == first ? (.value, reason: "a test rejects this one") : nil }
            }
            let life = stage.start()
            let missing = await stage.missing(lasting.subtracting([first]))
            // Give it time to read the results.
            await stage.settle()
            let ending = await life.stop(stage.hub)
            return missing + (ending == .exited(0) ? [] : ["it \(ending.words)"])
        },
        Rule(
            "times", .gold, of: .sources, "Each sample has the offset or zone of its time, and none is in the future.",
            repair:
                "Write start with the offset of the place of the measurement, or with zone; read the device's clock with care."
        ) { examination in
            let course = try await examination.course()
            let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
            return course.held.compactMap { record in
                guard case .sample(let sample) = record else { return nil }
                if sample.start.offsetMinutes == nil, sample.zone == nil {
                    return "\(record.identity.words) has neither an offset nor a zone"
                }
                return sample.start.microseconds > now + 300_000_000 ? "\(record.identity.words) is in the future" : nil
            }.prefix(3).map(\.self)
        },
    ]

    /// Whether all records come although the first process ends before the hub confirms any.
    private static func interrupted(
        _ examination: ConformanceTest, by event: (PluginTestBench, TestedProcess) async -> Void
    ) async throws -> [String] {
        let lasting = try await examination.lasting()
        let stage = try await examination.stage { $0.answers = false }
        let life = stage.start()
        guard await stage.comes({ $0.batches > 0 }) else { return ["nothing came in time"] }
        // A faulty plugin makes its mistake after it has sent: give it time.
        try await Task.sleep(for: .milliseconds(300))
        await event(stage, life)
        await stage.hub.change { $0.answers = true }
        await stage.hub.forgetSessions()
        let second = stage.start()
        let missing = await stage.missing(lasting)
        await second.stop(stage.hub)
        return missing
    }
}

/// The contents of samples without their keys and groups.
struct SampleContents {
    private var keys: [String: RecordIdentity] = [:]
    private let known: Set<RecordIdentity>

    init(_ records: [Record]) {
        known = Set(records.map(\.identity))
        for record in records { if let text = Self.text(record) { keys[text] = record.identity } }
    }

    private static func text(_ record: Record) -> String? {
        guard case .sample(var sample) = record, let blank = RecordKey("-") else { return nil }
        (sample.key, sample.group) = (blank, nil)
        return "\(sample)"
    }

    /// The first record that has the same content as one of these and another identity.
    func doubled(by records: [Record]) -> [String] {
        for record in records where !known.contains(record.identity) {
            if let text = Self.text(record), let former = keys[text] {
                return ["\(record.identity.words) says the same as \(former.words)"]
            }
        }
        return []
    }

    /// The first two records with the same content and different identities.
    static func twins(_ records: [Record]) -> [String] {
        var keys: [String: RecordIdentity] = [:]
        for record in records {
            guard let text = text(record) else { continue }
            if let former = keys[text], former != record.identity {
                return ["\(record.identity.words) says the same as \(former.words)"]
            }
            keys[text] = record.identity
        }
        return []
    }
}
