import Foundation
import HubCore
import HubSettings
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// Its commands.
    static let commands: [Rule] = [
        Rule(
            "unknown-command", .gold, of: .commands,
            "A command that it does not have is answered with OUTCOME failed, code command.",
            repair: "Answer every COMMAND; answer failed, code command, to those that are not in the manifest (R8.17)."
        ) { examination in
            try await asked(examination, "no-such-command") { outcome, _ in
                if case .failed(code: "command", _) = outcome { [] } else { ["it answered otherwise"] }
            }
        },
        Rule(
            "dry-run", .gold, of: .commands,
            "A dry run of a command that needs no argument is answered, and gives no record.",
            repair: "If COMMAND has dryRun, report the effect, and do nothing."
        ) { examination in
            let manifest = try await examination.course().manifest
            var seen: [String] = []
            for command in manifest.commands where command.canDryRun && !command.arguments.contains(where: \.isRequired)
            {
                seen += try await asked(examination, command.name, isDryRun: true) { outcome, given in
                    switch outcome {
                    // It may need arguments that only people know.
                    case .failed(code: "unsupported", let reason): ["\(command.name): \(reason)"]
                    default: given > 0 ? ["\(command.name) gave \(given) records in its dry run"] : []
                    }
                }
            }
            return seen
        },
    ]

    /// Runs a command; the judge gets the outcome and the number of records that came and that a quiet life does not give.
    private static func asked(
        _ examination: ConformanceTest, _ command: String, isDryRun: Bool = false,
        judge: @Sendable (CommandOutcome.Content, Int) -> [String]
    ) async throws -> [String] {
        let course = try await examination.course()
        let stage = try await examination.stage()
        let life = stage.start()
        guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
        // Ask at once: it may end when its work is done.
        let call = await stage.hub.begin(command, isDryRun: isDryRun, deadline: 20_000)
        let isAnswered = await stage.comes { $0.isOver(call) }
        let outcome = isAnswered ? await stage.hub.outcome(of: call) : nil
        await stage.settle()
        await life.stop(stage.hub)
        guard let outcome else { return ["no OUTCOME of \(command) came"] }
        let given = await stage.hub.held.map(\.record.identity)
        return judge(outcome, Set(given).subtracting(course.records).count)
    }

    /// The data that it must keep private.
    static let privacy: [Rule] = [
        Rule(
            "no-secret-in-log", .gold, "Its log contains no secret setting.",
            repair: "Log the name of a setting and never its value; the hub's hiding of secrets is the last resort."
        ) { examination in
            let course = try await examination.course()
            let secrets = course.secrets.filter { !$0.isEmpty }
            return course.printed.filter { line in secrets.contains { line.contains($0) } }.prefix(3)
                .map { line in secrets.reduce(line) { $0.replacing($1, with: "<secret>") } }
        },
        Rule(
            "no-value-in-log", .gold, of: .sources, "Its log contains none of the quantities that it gave.",
            repair: "Log numbers of records, keys and reasons, but never measured values."
        ) { examination in
            let course = try await examination.course()
            // Only numbers with at least three digits, one of them a decimal: shorter ones appear in logs for many reasons.
            let values = Set(
                course.held.compactMap { record -> String? in
                    guard case .sample(let sample) = record, case .quantity(let value, _) = sample.value else {
                        return nil
                    }
                    let text = "\(value)"
                    return !text.hasSuffix(".0") && text.count > 3 ? text : nil
                })
            return course.printed.enumerated().filter { _, line in
                line.split { !("0123456789.".contains($0)) }.contains { number in
                    values.contains(String(number.drop { $0 == "." }.reversed().drop { $0 == "." }.reversed()))
                }
            }.prefix(3).map { place, _ in "line \(place + 1) of its log has a value" }
        },
    ]

    /// Its cost while nothing happens.
    static let costs: [Rule] = [
        Rule(
            "memory", .platinum, "In an undisturbed run it never has more than 128 MiB of memory.",
            repair: "Read and send in pieces, and bound every queue."
        ) { examination in
            let cost = try await examination.idleCost()
            return cost.peakBytes > 128 << 20 ? ["it had \(cost.peakBytes >> 20) MiB"] : []
        },
        Rule(
            "idle", .platinum, "With nothing to do it takes at most 2 % of a processor.",
            repair: "Wait in poll for the socket and the device; look at files and services every few seconds at most."
        ) { examination in
            let cost = try await examination.idleCost()
            return cost.share > 0.02 ? ["it took \(Int(cost.share * 1_000) / 10) %"] : []
        },
        Rule(
            "described", .platinum,
            "Its manifest helps the person who sets it up: a summary, a version, help for each setting and command.",
            repair: "Write one sentence each for a reader new to the plugin."
        ) { examination in
            let manifest = try await examination.course().manifest
            var seen: [String] = []
            if manifest.summary.count < 10 || !manifest.summary.hasSuffix(".") {
                seen.append("summary is not a sentence of ten letters that ends with a full stop")
            }
            if manifest.version.isEmpty { seen.append("version is empty") }
            for setting in manifest.settings where setting.help.count < 10 {
                seen.append("settings.\(setting.name).help says too little")
            }
            for command in manifest.commands where command.help.count < 10 {
                seen.append("commands.\(command.name).help says too little")
            }
            return seen
        },
        Rule(
            "confined", .platinum, "It works confined by hub-confine, without confine = false.",
            repair: "Name in reaches, and by access of a setting, all that it needs (Protocol §13.7)."
        ) { examination in
            let trial = try await examination.stage().trial
            return trial.instance.confinement.isOn ? [] : ["its section says confine = false"]
        },
    ]
}
