import HubStore
import HubWire

extension OwnCommands.Retention: CommandWork {
    func run(_ call: OwnCommandCall, on hub: Commands) async throws -> Result {
        let rules = hub.facts.retention.filter { rule == nil || $0.name == rule }
        if let rule, rules.isEmpty {
            let names = hub.facts.retention.map(\.name)
            let hint =
                nearestName(to: rule, among: names).map { "; did you mean \($0)?" } ?? "; hub retention lists the rules"
            throw OwnCommandFailure(problems: ["rule: hub.conf has no [retention.\(rule.prefix(64))]\(hint)"])
        }
        if trust {
            guard !call.isDryRun else { throw OwnCommandFailure(problems: ["trust: has no dry run"]) }
            try await hub.retainer.trustClock()
        }
        var counts: [RetentionCount] = []
        if call.isDryRun {
            counts = try await hub.retainer.look(at: hub.facts.retention, only: rule, hub.zones)
        } else {
            for rule in rules { counts.append(try await hub.retainer.carryOut(rule, hub.knownTypes, hub.zones)) }
        }
        let reports = zip(rules, counts).map { RetentionReport($0.name, $1) }
        return Result(dryRun: call.isDryRun, rules: reports)
    }
}

extension RetentionReport {
    init(_ rule: String, _ count: RetentionCount) {
        self.init(
            rule: rule, thinned: count.thinned, removed: count.removed, left: count.left, reason: count.reason,
            waiting: count.waiting, waitingFor: count.waitingFor.map(\.description).sorted())
    }
}
