public import HubWire

/// The steps that make a running hub follow a new configuration.
public struct ConfigurationPlan: Sendable, Hashable {
    /// Changed keys of `[hub]`; if there are any, the hub itself must be restarted.
    public var hubChanges: [String]
    /// Persons that were added, removed or changed, sorted.
    public var personChanges: [String]
    /// Retention rules that were added or changed, by name.
    public var retentionChanges: [String]
    /// Whether the order of sources changes for some type and person.
    public var prioritiesChange: Bool
    /// Instances on other machines that were added, removed or changed, sorted: their sessions begin again.
    public var remoteChanges: [String]
    /// The step for each instance that runs here now or will run here.
    public var instances: [String: ApplyReport.Step.Action]

    /// The steps from `old` to `new`.
    ///
    /// A pure function.
    ///
    /// An instance restarts if its own table changed, or the set of persons that its `"all"` stands for. If only the types that it may write
    /// or its owner's rights changed, it only greets again.
    public init(from old: HubConfiguration, to new: HubConfiguration) {
        hubChanges = [
            ("data", old.hub.data == new.hub.data), ("run", old.hub.run == new.hub.run),
            ("clock", old.hub.clock == new.hub.clock), ("memory_limit", old.hub.memoryLimit == new.hub.memoryLimit),
            ("log_level", old.hub.logLevel == new.hub.logLevel), ("keep_raw", old.hub.keepRaw == new.hub.keepRaw),
            ("zone", old.hub.zone == new.hub.zone),
            ("assign_certainty", old.hub.assignCertainty == new.hub.assignCertainty),
            ("tcp", old.hub.tcp == new.hub.tcp), ("insecure", old.hub.isInsecure == new.hub.isInsecure),
            ("live_per_second", old.hub.livePerSecond == new.hub.livePerSecond),
        ].filter { !$0.1 }.map(\.0)

        let (before, after) = (Self.byName(old.persons, \.name), Self.byName(new.persons, \.name))
        personChanges = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }.sorted()

        let former = Self.byName(old.retention, \.name)
        retentionChanges = new.retention.filter { former[$0.name] != $0 }.map(\.name)

        prioritiesChange = old.priorities != new.priorities

        let samePersons = Set(before.keys) == Set(after.keys)
        let running = Self.byName(old.plugins.filter(\.startsHere), \.name)
        let wanted = Self.byName(new.plugins.filter(\.startsHere), \.name)
        let away = Self.byName(old.plugins.filter(\.comesFromElsewhere), \.name)
        let expected = Self.byName(new.plugins.filter(\.comesFromElsewhere), \.name)
        remoteChanges = Set(away.keys).union(expected.keys).filter { name in
            away[name] != expected[name] || away[name]?.persons == .all && !samePersons
        }.sorted()
        instances = [:]
        for name in Set(running.keys).union(wanted.keys) {
            instances[name] =
                switch (running[name], wanted[name]) {
                case (nil, _): .start
                case (_, nil): .stop
                case (let run?, let want?):
                    if want.persons == .all && !samePersons {
                        .restart
                    } else {
                        run == want ? .leave : run.withTypes(of: want) == want ? .greet : .restart
                    }
                }
        }
    }

    private static func byName<Element>(_ elements: [Element], _ name: (Element) -> String) -> [String: Element] {
        Dictionary(elements.map { (name($0), $0) }) { first, _ in first }
    }
}

extension PluginInstance {
    /// The instance with `write` and `owner` of another one.
    ///
    /// If the types that it may read change, it must read from the beginning again.
    fileprivate func withTypes(of other: PluginInstance) -> PluginInstance {
        var instance = self
        (instance.grants.write, instance.grants.owner) = (other.grants.write, other.grants.owner)
        return instance
    }
}
