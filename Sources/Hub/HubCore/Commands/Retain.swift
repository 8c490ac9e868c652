import HubStore
import HubWire

/// `retention`: applies the retention rules of `hub.conf` at once, or reports their expected effect (R8.44).
struct Retain: OwnCommand {
    static let declaration = CommandDeclaration(
        "retention", help: "Thins and removes records by the retention rules of hub.conf.",
        arguments: [
            SettingDeclaration(
                "rule", .string(), help: "Only this rule, [retention.NAME] of hub.conf; all if not set."),
            SettingDeclaration(
                "trust", .boolean,
                help: "The hub's clock is right, although it is far ahead of when it was last trusted.",
                default: .boolean(false)),
        ], canDryRun: true)

    var rule: String?
    var trust: Bool

    private struct Result: Encodable {
        var dryRun: Bool
        var rules: [RetentionReport]
    }

    func run(_ call: CommandCall, on hub: isolated Commands) async throws -> RawJSON {
        let rules = hub.facts.retention.filter { rule == nil || $0.name == rule }
        if let rule, rules.isEmpty {
            let names = hub.facts.retention.map(\.name)
            let hint =
                nearestName(to: rule, among: names).map { "; did you mean \($0)?" } ?? "; hub retention lists the rules"
            throw CommandFailure(problems: ["rule: hub.conf has no [retention.\(rule.prefix(64))]\(hint)"])
        }
        if trust {
            guard !call.isDryRun else { throw CommandFailure(problems: ["trust: has no dry run"]) }
            try await hub.retainer.trustClock()
        }
        var counts: [RetentionCount] = []
        if call.isDryRun {
            counts = try await hub.retainer.look(at: hub.facts.retention, only: rule, hub.zones)
        } else {
            for rule in rules { counts.append(try await hub.retainer.carryOut(rule, hub.knownTypes, hub.zones)) }
        }
        let reports = zip(rules, counts).map { RetentionReport($0.name, $1) }
        return RawJSON(encoding: Result(dryRun: call.isDryRun, rules: reports))
    }
}

/// The effect of a rule, or the effect that it would have.
public struct RetentionReport: Codable, Hashable, Sendable {
    public var rule: String
    /// Samples thinned to one value a day; records removed completely.
    public var thinned, removed: Int64
    /// Samples that could not be thinned, with the reason.
    public var left: Int64
    public var reason: String?
    /// Records that stay until the sinks in `waitingFor` have them.
    public var waiting: Int64
    public var waitingFor: [String]

    init(_ rule: String, _ count: RetentionCount) {
        (self.rule, thinned, removed, waiting) = (rule, count.thinned, count.removed, count.waiting)
        (left, reason) = (count.left, count.reason)
        waitingFor = count.waitingFor.map(\.description).sorted()
    }
}
