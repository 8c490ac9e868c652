import HubSettings
import HubWire

/// The changes that lead from the current configuration to that of a file.
struct ApplyPlan {
    /// Keys of `[hub]` that take effect only when the hub is restarted.
    static let hubKeysOfStart: Set<String> = [
        "data", "run", "clock", "log_level", "live_per_second", "tcp", "insecure",
    ]

    /// The configuration of the file, except for ``needsRestart``.
    let configuration: HubConfiguration
    let needsRestart: [String]
    let persons: [String]
    let retention: [String]
    let changesPriorities: Bool
    let steps: [ApplyReport.Step]
    /// Instances in ``steps`` whose process the hub does not start.
    private let elsewhere: Set<String>

    /// - Parameter replaced: instances whose program file on the disk differs from the one that was started.
    init(
        from running: CheckedConfiguration, _ current: HubConfiguration, to wanted: CheckedConfiguration,
        _ next: HubConfiguration, replaced: Set<String>
    ) {
        let plan = ConfigurationPlan(from: current, to: next)
        needsRestart = plan.hubChanges.filter(Self.hubKeysOfStart.contains)
        (persons, retention, changesPriorities) = (plan.personChanges, plan.retentionChanges, plan.prioritiesChange)
        var followed = next
        followed.hub = current.hub
        (followed.hub.memoryLimit, followed.hub.keepRaw) = (next.hub.memoryLimit, next.hub.keepRaw)
        (followed.hub.zone, followed.hub.assignCertainty) = (next.hub.zone, next.hub.assignCertainty)
        configuration = followed
        let (before, after) = (Self.sections(current), Self.sections(next))
        elsewhere = Set(plan.remoteChanges)
        let awaySteps = plan.remoteChanges.map {
            ApplyReport.Step(instance: $0, action: .restart, why: "on another machine: its sessions begin again")
        }
        steps =
            awaySteps
            + plan.instances.sorted { $0.key < $1.key }.map { name, action in
                let path = wanted.executables[name] ?? ""
                return switch action {
                case .start:
                    ApplyReport.Step(instance: name, action: .start, why: "it is new, enabled or can start now")
                case .stop: ApplyReport.Step(instance: name, action: .stop, why: "it is gone or disabled")
                case .restart where before[name] == after[name]:
                    ApplyReport.Step(instance: name, action: .restart, why: "the persons have changed")
                case .restart: ApplyReport.Step(instance: name, action: .restart, why: "its section has changed")
                case .greet
                where running.executables[name] == wanted.executables[name] && !replaced.contains(name)
                    && running.manifests[name] == wanted.manifests[name]:
                    ApplyReport.Step(
                        instance: name, action: .greet, why: "its grants have changed: its session begins again")
                case .greet: ApplyReport.Step(instance: name, action: .restart, why: "its section has changed")
                case .leave where running.executables[name] != wanted.executables[name]:
                    ApplyReport.Step(instance: name, action: .restart, why: "its program is \(path) now")
                case .leave where replaced.contains(name):
                    ApplyReport.Step(
                        instance: name, action: .restart,
                        why: "its program \(path) is another file now than when it was started")
                case .leave where running.manifests[name] != wanted.manifests[name]:
                    ApplyReport.Step(
                        instance: name, action: .restart, why: "its program \(path) reports another manifest now")
                case .leave: ApplyReport.Step(instance: name, action: .leave)
                }
            }
    }

    func instances(_ action: ApplyReport.Step.Action) -> Set<String> {
        Set(steps.filter { $0.action == action }.map(\.instance)).subtracting(elsewhere)
    }

    /// The problems for which the hub does not apply a file at all.
    ///
    /// - Parameter lacking: instances of the current configuration whose programs could not be asked.
    ///
    /// They do not include an unanswered question to the program of an instance that the current configuration has too, and that does not run
    /// now. That is not the file's fault, and must not block all other changes. For a new section the program must answer: otherwise its name is
    /// probably mistyped.
    static func blocking(
        _ checked: CheckedConfiguration, running: HubConfiguration, lacking: Set<String>
    ) -> [SettingsProblem] {
        let runs = Set(running.plugins.filter(\.enabled).map(\.name))
        let had = lacking.union(running.plugins.map(\.name))
        return checked.loaded.problems.filter { problem in
            guard problem.severity == .error else { return false }
            guard let table = problem.table, table.hasPrefix("plugin."), problem.key == "executable" else {
                return true
            }
            let name = String(table.dropFirst("plugin.".count))
            let isUnknown = !had.contains(name) && checked.missing.contains(name)
            return runs.contains(name) || isUnknown || checked.faults[name] == nil
        }
    }

    private static func sections(_ configuration: HubConfiguration) -> [String: PluginInstance] {
        Dictionary(configuration.plugins.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }
}
