import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// What becomes of what it is given to deliver.
    static let deliveries: [Rule] = [
        Rule(
            "wants", .bronze, of: .sinks,
            "It asks for what it delivers: WANT within 30 s, with types that its manifest reads.",
            repair: "Send WANT after each WELCOME (Protocol §10)."
        ) { examination in
            let course = try await examination.course()
            guard !course.wants.isEmpty else { return ["no WANT came"] + course.printed.suffix(3) }
            guard !course.manifest.reads.contains("*") else { return [] }
            let foreign = course.wants.values.flatMap { $0.types ?? [] }.filter { !course.manifest.reads.contains($0) }
            return foreign.map { "it wants \($0), which its manifest does not read" }
        },
        Rule(
            "answers-deliveries", .bronze, of: .sinks,
            "It answers each delivery with one result for each record, and delivers what is plain.",
            repair: "Send DONE with as many results as records, in their order; delivered only where the target has it."
        ) { examination in try await delivered(examination) { _, _ in } },
        Rule(
            "delivered-twice", .silver, of: .sinks,
            "What is delivered again, because its answer was lost, is delivered.",
            repair:
                "Name records at the target by number and version, so that the second delivery writes the same again."
        ) { examination in
            try await delivered(examination) { bench, records in
                await bench.stage.hub.forgetSessions()
                guard await bench.stage.comes({ !$0.wants.isEmpty }) else {
                    bench.seen.append("no WANT came after the session was lost")
                    return
                }
                try await bench.deliver(records)
            }
        },
        Rule(
            "stopped-delivery", .silver, of: .sinks,
            "Killed in the middle of deliveries, it delivers them at its next start.",
            repair: "Keep no account of your own: the hub delivers again whatever was not answered."
        ) { examination in
            try await delivered(examination) { bench, records in
                _ = await bench.stage.hub.deliver(records, to: bench.want)
                await bench.life.kill()
                await bench.stage.hub.forgetSessions()
                bench.life = bench.stage.start()
                guard await bench.stage.comes({ !$0.wants.isEmpty }) else {
                    bench.seen.append("no WANT came after the second start")
                    return
                }
                try await bench.deliver(records)
            }
        },
        Rule(
            "newer-records", .gold, of: .sinks,
            "A record with members that it does not know is delivered like any other.",
            repair: "Read the members of a record that you need, and ignore or pass on the others."
        ) { examination in
            try await delivered(examination) { bench, records in
                let newer = records.map { $0.dropLast() + #","later":{"members":[1,null,"x"]}}"# }
                try await bench.deliver(newer.map { String($0) })
            }
        },
    ]

    /// A sink beside a hub, and what it did wrong.
    private final class Bench {
        let stage: Stage
        var life: Life
        let want: String
        var seen: [String] = []

        init(_ stage: Stage, _ life: Life, _ want: String) { (self.stage, self.life, self.want) = (stage, life, want) }

        /// Delivers, and looks at the answer; again where the plugin begins another session meanwhile, as the hub does.
        func deliver(_ records: [String]) async throws {
            var report: DeliveryReport?
            var isAgain = false
            repeat {
                let (want, times) = (want, await stage.hub.timesWanted[want])
                guard let place = await stage.hub.deliver(records, to: want) else {
                    seen.append("its credit does not cover \(records.count) records")
                    return
                }
                _ = await stage.comes { $0.deliveries[place].report != nil || $0.timesWanted[want] != times }
                report = await stage.hub.deliveries[place].report
                isAgain = await stage.hub.timesWanted[want] != times
            } while report == nil && isAgain
            guard let report else {
                seen.append("no DONE came")
                return
            }
            for (number, result) in report.results.enumerated() where !result.isGood {
                seen.append("record \(number + 1) of the delivery: \(result.words)")
            }
        }
    }

    private static func delivered(
        _ examination: Examination, then more: (Bench, [String]) async throws -> Void
    ) async throws -> [String] {
        let stage = try await examination.stage()
        let life = stage.start()
        guard await stage.comes({ !$0.wants.isEmpty }),
            let want = await stage.hub.wants.min(by: { $0.key < $1.key })?.value
        else {
            return ["no WANT came"]
        }
        let bench = Bench(stage, life, want.want)
        let records = try await plain(want, in: stage.hub)
        try await bench.deliver(records)
        try await more(bench, records)
        _ = await bench.life.stop(stage.hub)
        return bench.seen + (await stage.hub.violations)
    }

    /// Three records that a subscription asks for, nothing unusual in them, as the hub writes them.
    ///
    /// - Parameter hub: holds them too, where they are days: what is wanted of a day may be asked for when it is delivered.
    private static func plain(_ want: WantRequest, in hub: FakeHub) async throws -> [String] {
        guard let type = MadeUpRecords.type(among: want.types ?? ["weight"], mayBeNamed: !want.selection.isOfDays)
        else {
            throw Examination.Unknown(
                reason: "the kit has no records of the types that it wants, which are no quantities and no categories")
        }
        let person = Person(uid: "6f1c2a9e5b7d4c30", name: "me")
        let records =
            want.selection.isOfDays
            ? MadeUpRecords.dayValues(type, person: person.name, before: Date())
            : MadeUpRecords.samples(type, of: "conformance", device: "scale", before: Date())
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
    fileprivate var isGood: Bool { if case .delivered = self { true } else { false } }

    fileprivate var words: String {
        switch self {
        case .delivered: "delivered"
        case .retry(_, let reason): "retry\(reason.map { ": " + $0 } ?? "")"
        case .refused(let reason): "refused: \(reason)"
        case .unauthorized(let reason): "unauthorized: \(reason)"
        }
    }
}
