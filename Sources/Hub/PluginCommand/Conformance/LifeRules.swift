import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// The answers about itself that it gives without working.
    static let describing: [Rule] = [
        Rule(
            "manifest", .bronze,
            "--describe prints a manifest as Protocol §13.3 has it, and the settings of the test obey it.",
            repair: "Print one JSON object by the tables of Protocol §13.3; write settings that work into test.conf."
        ) { examination in
            do {
                _ = try await examination.stage()
                return []
            } catch let error as HubError { return error.message.split(separator: "\n").map(String.init) }
        },
        Rule(
            "describes-only", .bronze,
            "--describe prints the same manifest each time, within 10 s, and no other text on stdout.",
            repair: "Build the manifest from constants: no clock, no random number, no look at devices; log to stderr."
        ) { examination in
            let trial = try await examination.stage().trial
            var answers: Set<String> = []
            for _ in 0..<2 {
                switch await trial.ask(["--describe"]) {
                case .success(let text): answers.insert(text)
                case .failure(let silence): return [silence.message]
                }
            }
            return answers.count == 1 ? [] : ["two answers differ"]
        },
        Rule(
            "arguments", .bronze, "An unknown argument is refused with an exit code other than 0.",
            repair: "End with 64 for any argument that is not one of Protocol §13.1."
        ) { examination in
            let trial = try await examination.stage().trial
            switch await trial.ask(["--no-such-argument"]) {
            case .success: return ["--no-such-argument ended with exit code 0"]
            case .failure(let silence): return silence.code == .exited ? [] : ["--no-such-argument: \(silence.message)"]
            }
        },
        Rule(
            "judges-settings", .bronze, of: .judges,
            "--check-settings answers with objections, and has none to the settings of the test.",
            repair: "Print {\"objections\":[]} and end with 0 if nothing is wrong (Protocol §13.4)."
        ) { examination in
            let trial = try await examination.stage().trial
            switch await trial.ask(["--check-settings"], input: trial.settings.text) {
            case .failure(let silence): return [silence.message]
            case .success(let text):
                guard let verdict = try? JSONDecoder().decode(SettingsVerdict.self, from: Data(text.utf8)) else {
                    return ["it printed no objections: \(text.prefix(200))"]
                }
                return verdict.objections.map { "\($0.setting ?? "settings"): \($0.reason)" }
            }
        },
    ]

    /// Its start and its end.
    static let living: [Rule] = [
        Rule(
            "greets", .bronze,
            "Started with --run it says HELLO within 30 s, as the instance and the plugin kind it is.",
            repair:
                "Send HELLO with instance from HUB_INSTANCE and plugin from the manifest, and log in with the token."
        ) { examination in
            let course = try await examination.course()
            guard let hello = course.hello else {
                return ["no HELLO came in time; the process \(course.ending.words)"] + course.printed.suffix(3)
            }
            var seen: [String] = []
            if hello.instance != examination.subject.name { seen.append("HELLO.instance is \(hello.instance)") }
            if hello.plugin != course.manifest.name { seen.append("HELLO.plugin is \(hello.plugin)") }
            return seen
        },
        Rule(
            "speaks-protocol", .bronze, "It sends nothing that violates the protocol.",
            repair: "Each sentence names the obligation of Protocol.md that was not kept."
        ) { examination in Array(try await examination.course().violations.prefix(10)) },
        Rule(
            "stops", .bronze, "Asked to stop, it sends BYE and ends within 5 s.",
            repair:
                "At STOP, or when stdin ends, finish work in progress, keep records without STORED, send BYE, and end (§13.2)."
        ) { examination in
            let course = try await examination.course()
            guard course.hello != nil else { return ["it never came"] }
            var seen: [String] = []
            if !course.endsByItself { seen.append("it had to be sent a signal after 5 s") }
            if course.endsByItself, case .exited(let code) = course.ending, code != 0 {
                seen.append("it ended with exit code \(code)")
            }
            if course.byes == 0 { seen.append("no BYE came") }
            return seen
        },
        Rule(
            "hub-gone", .bronze, "When its stdin ends without STOP, because the hub was killed, it ends within 10 s.",
            repair: "Read stdin to its end in a thread or with poll, and take its end for the end of the hub."
        ) { examination in
            let stage = try await examination.stage()
            let life = stage.start(stop: .seconds(10))
            guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
            await stage.hub.vanish()
            life.endInput()
            _ = await life.ending()
            return life.endsByItself ? [] : ["it had to be sent a signal 10 s after its stdin had ended"]
        },
        Rule(
            "refused", .gold, "If the hub refuses its HELLO, it ends with exit code 77.",
            repair: "At ERROR forbidden, instance or version in answer to HELLO: say why on stderr, and end with 77."
        ) { examination in
            let stage = try await examination.stage { $0.refusal = WireError(.instance, "this instance is not wanted") }
            let life = stage.start()
            guard let ending = await life.ends(within: examination.subject.patience) else {
                return ["it still ran long after it had been refused, with \(await stage.hub.hellos.count) HELLO"]
            }
            return ending == .exited(77) ? [] : ["it \(ending.words)"]
        },
    ]
}
