import HubCore
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// Behaviour with a hub that is not always reachable.
    static let sessions: [Rule] = [
        Rule(
            "greets-again", .silver, "When the hub no longer knows its session, it greets again, within 30 s.",
            repair: "At ERROR hello-first, send HELLO, and then again all that was not STORED."
        ) { examination in
            let stage = try await examination.stage { $0.heartbeat = Heartbeat(interval: 500, timeout: 2_000) }
            let life = stage.start()
            guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
            await stage.hub.forgetSessions()
            let isBack = await stage.comes { $0.hellos.count > 1 || $0.byes > 0 }
            _ = await life.stop(stage.hub)
            return isBack ? [] : ["no second HELLO came"]
        },
        Rule(
            "answers-pings", .silver, "It answers PING with PONG, and sends PING itself in a silence.",
            repair: "Answer PING with PONG and its body; after heartbeat.interval of silence send PING (Protocol §4.4)."
        ) { examination in
            let stage = try await examination.stage { $0.heartbeat = Heartbeat(interval: 500, timeout: 5_000) }
            let life = stage.start()
            guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
            await stage.hub.send(.ping(.emptyObject))
            var seen: [String] = []
            if !(await stage.comes { $0.pongs > 0 || $0.byes > 0 }) { seen.append("no PONG came") }
            // A plugin that has done its work has nothing to ask for.
            if !(await stage.comes { $0.pings > 0 || $0.byes > 0 }) {
                seen.append("no PING came, with an interval of 0.5 s")
            }
            _ = await life.stop(stage.hub)
            return seen
        },
        Rule(
            "silent-hub", .silver, "When the hub is silent for longer than the heartbeat's timeout it greets again.",
            repair: "If no message came for heartbeat.timeout, consider the session lost and send HELLO."
        ) { examination in
            let stage = try await examination.stage { $0.heartbeat = Heartbeat(interval: 500, timeout: 1_500) }
            let life = stage.start()
            guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
            await stage.hub.change { $0.answers = false }
            let isBack = await stage.comes { $0.hellos.count > 1 }
            await stage.hub.change { $0.answers = true }
            _ = await life.stop(stage.hub)
            return isBack ? [] : ["no second HELLO came in a long silence, with a timeout of 1.5 s"]
        },
        Rule(
            "newer-hub", .gold, "It ignores members that it does not know, of a newer hub.",
            repair: "Read the members you need, and ignore all others, in every message (R3.5)."
        ) { examination in
            let lasting = try await examination.lasting()
            let stage = try await examination.stage { $0.addsUnknownMembers = true }
            let life = stage.start()
            guard await stage.comes({ !$0.hellos.isEmpty }) else { return ["it never came"] }
            let missing = await stage.missing(lasting)
            let ending = await life.stop(stage.hub)
            return missing + (ending == .exited(0) ? [] : ["it \(ending.words)"]) + (await stage.hub.violations)
        },
    ]
}
