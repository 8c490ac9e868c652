import HubCore
import HubWire
import JSON
import PluginTesting
import Samples

extension Rule {
    /// Behaviour when its service no longer accepts its log-in.
    static let logIns: [Rule] = [
        Rule(
            "log-in-lost", .gold,
            "When its service rejects a token, the plugin reports that to people, loses no record, and goes on with the next token.",
            repair:
                "If the service refuses a token and no refresh helps: release it with failure auth, answer deliveries with auth, keep running, and ask for the token again in the next session (Protocol §11)."
        ) { examination in
            let stage = try await examination.stage()
            let lost = try stage.tokens.mapValues { try LostToken($0) }
            guard !lost.isEmpty else {
                throw ConformanceTest.Verdict.notConcerned("its simulator names no token of an account")
            }
            let isSource = stage.trial.manifest.isSource
            let lasting = isSource ? try await examination.lasting() : []
            for (account, token) in lost { await stage.hub.setToken(token.json, of: account) }
            let bench = SinkTestBench(stage, stage.start())
            var records: [String] = []
            if stage.trial.manifest.sink != nil {
                // A sink that asks for nothing before its log-in has nothing to lose.
                _ = await stage.comes { !$0.wants.isEmpty || $0.hasSeenLogIn }
                if let want = await bench.want {
                    records = try await SinkTestBench.plain(want, in: stage.hub)
                    // A sink that answers nothing before its log-in has lost nothing either.
                    for result in await bench.results(of: records, within: .seconds(5)) ?? [] {
                        switch result {
                        case .unauthorized, .retry: continue
                        case .delivered, .refused: bench.seen.append("without a log-in it said \(result.words)")
                        }
                    }
                }
            }
            if !(await stage.comes { $0.hasSeenLogIn }) {
                bench.seen.append("no TOKEN with failure auth came, and no result auth")
            }
            if bench.life.hasEnded {
                bench.seen.append("it ended: \(await bench.life.ending().words)")
                bench.life = stage.start()
            }
            // As after hub login: the token is there, and the session begins again.
            for (account, token) in stage.tokens { await stage.hub.setToken(token, of: account) }
            await stage.hub.forgetSessions()
            if stage.trial.manifest.sink != nil {
                if await stage.comes({ !$0.wants.isEmpty }), let want = await bench.want {
                    if records.isEmpty { records = try await SinkTestBench.plain(want, in: stage.hub) }
                    try await bench.deliver(records)
                } else {
                    bench.seen.append("no WANT came after the log-in")
                }
            }
            if isSource { bench.seen += await stage.missing(lasting) }
            _ = await bench.life.stop(stage.hub)
            let printed = stage.printed
            if lost.values.flatMap(\.secrets).contains(where: { secret in printed.contains { $0.contains(secret) } }) {
                bench.seen.append("its log has a token in it")
            }
            return bench.seen + (await stage.hub.violations)
        }
    ]
}

/// A token that no service accepts: like the good one, except for the texts that let its holder in.
private struct LostToken {
    let json: RawJSON
    /// The texts of both tokens that would let their holder in.
    let secrets: [String]

    init(_ good: RawJSON) throws {
        guard let members = JSONTree(Array(good.text.utf8))?.members else {
            throw PluginError("a token of the simulator is not a JSON object")
        }
        var secrets: [String] = []
        let spoiled = members.map { member in
            guard !TokenPut.openMembers.contains(member.name), let text = member.value.text, !text.isEmpty else {
                return member
            }
            let other = String(text.reversed()) + "0"
            secrets += [text, other].filter { $0.utf8.count >= 8 }
            return JSONTree.Member(member.name, .text(other))
        }
        (json, self.secrets) = (RawJSON(trusted: JSONTree.object(spoiled).bytes), secrets)
    }
}

extension FakeHub {
    /// Whether a person would learn that a log-in has failed.
    fileprivate var hasSeenLogIn: Bool {
        tokenFailures.contains { $0.kind == .auth }
            || deliveries.contains { delivery in
                delivery.report?.results.contains { if case .unauthorized = $0 { true } else { false } } == true
            }
    }
}
