import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// Its handling of deliveries.
    static let deliveries: [Rule] = [
        Rule(
            "wants", .bronze, of: .sinks,
            "It asks for the types that it delivers: WANT within 30 s, with types that its manifest reads.",
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
            "It answers each delivery with one result for each record, and delivers ordinary records.",
            repair:
                "Send DONE with as many results as records, in their order; delivered only if the target has the record."
        ) { examination in try await delivered(examination) { _, _ in } },
        Rule(
            "delivered-twice", .silver, of: .sinks,
            "It answers delivered for a record that comes again because its answer was lost.",
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
                _ = await bench.stage.hub.deliver(records, to: await bench.want?.want ?? "")
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

    private static func delivered(
        _ examination: ConformanceTest, then more: (SinkTestBench, [String]) async throws -> Void
    ) async throws -> [String] {
        let stage = try await examination.stage()
        let bench = SinkTestBench(stage, stage.start())
        guard await stage.comes({ !$0.wants.isEmpty }), let want = await bench.want else { return ["no WANT came"] }
        let records = try await SinkTestBench.plain(want, in: stage.hub)
        try await bench.deliver(records)
        try await more(bench, records)
        _ = await bench.life.stop(stage.hub)
        return bench.seen + (await stage.hub.violations)
    }
}
