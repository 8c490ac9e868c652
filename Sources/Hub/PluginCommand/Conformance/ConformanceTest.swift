import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

/// Examines one plugin, rule by rule.
package actor ConformanceTest {
    let subject: PluginUnderTest
    /// The answers of the program about itself and its settings, once the first stage has asked for them.
    private var checked: CheckedConfiguration?
    private var first: Task<QuietRun, any Error>?
    private var second: Task<QuietRun, any Error>?
    private var cost: Task<ProcessUsage, any Error>?
    /// The stages of the current rule.
    private var open: [PluginTestBench] = []
    private var homes: [HostedPlugin] = []
    private var isClosed = false

    package init(_ subject: PluginUnderTest) { self.subject = subject }

    /// The course of a quiet life with a friendly hub: greeted, all records given, idle for a while, ended when asked.
    struct QuietRun: Sendable {
        var manifest: Manifest
        var secrets: [String]
        var hello: Hello?
        var records: Set<RecordIdentity>
        var held: [Record]
        var wants: [String: WantRequest]
        var violations: [String]
        var printed: [String]
        var byes: Int
        var ending: ProcessEnding
        /// Whether it ended without a signal.
        var endsByItself: Bool
    }

    /// Makes a hub and a folder for one plugin; everything that runs there ends with the rule.
    func stage(_ behaviour: @Sendable (inout FakeHub.Behaviour) -> Void = { _ in }) async throws -> PluginTestBench {
        let stage = try await PluginTestBench(subject, knowing: checked, behaviour)
        open.append(stage)
        if isClosed { await close() }
        checked = stage.checked
        return stage
    }

    /// The manifest, once the first stage has read it.
    var manifest: Manifest? { checked?.manifests[subject.name] }

    /// Ends everything that runs and removes its folders; nothing can be examined afterwards.
    package func close() async {
        isClosed = true
        await endStages()
    }

    private func endStages() async {
        let stages = open
        open = []
        for stage in stages { await stage.close() }
        let places = homes
        homes = []
        for home in places { await home.close() }
    }

    /// Makes a whole hub for the plugin; it ends with the rule.
    func home() async throws -> HostedPlugin {
        let home = try HostedPlugin(subject)
        homes.append(home)
        if isClosed { await close() }
        return home
    }

    /// The quiet life, which all rules share.
    func course() async throws -> QuietRun {
        let task = first ?? Task { try await run() }
        first = task
        return try await task.value
    }

    /// The records that every life gives: a source that never ends, or one of live readings, gives different ones each time.
    ///
    /// - Throws: ``Verdict`` if two lives have no record in common.
    func lasting() async throws -> Set<RecordIdentity> {
        let known = try await course().records
        let task = second ?? Task { try await run() }
        second = task
        let lasting = known.intersection(try await task.value.records)
        if lasting.isEmpty, !known.isEmpty {
            throw Verdict.open("two lives gave different records: it needs a stand-in that says the same each time")
        }
        return lasting
    }

    /// The cost of the plugin when it has given all its records and is idle, measured in one life.
    ///
    /// - Throws: ``Verdict`` if it has done its work and ended by then.
    func idleCost() async throws -> ProcessUsage {
        let task = cost ?? Task { try await measure() }
        cost = task
        return try await task.value
    }

    private func measure() async throws -> ProcessUsage {
        let stage = try await stage()
        let life = stage.start()
        _ = await stage.comes { !$0.hellos.isEmpty }
        await stage.settle(atLeast: stage.trial.manifest.isSource ? 1 : 0)
        let cost = await ProcessUsage.watched(await life.pid, for: .seconds(3))
        if !life.hasEnded, let cost { return cost }
        let ending = await life.ending()
        guard ending == .exited(0) else { throw Verdict.open("it \(ending.words) before it was measured") }
        throw Verdict.notConcerned("it had done its work and ended before it was measured")
    }

    private func run() async throws -> QuietRun {
        let stage = try await stage()
        let life = stage.start()
        _ = await stage.comes { !$0.hellos.isEmpty }
        await stage.settle(atLeast: stage.trial.manifest.isSource ? 1 : 0)
        if stage.trial.manifest.sink != nil { _ = await stage.comes { !$0.wants.isEmpty } }
        let (hub, wants) = (stage.hub, await stage.hub.wants)
        let ending = await life.stop(hub)
        // Its last message may arrive after its end.
        _ = await stage.comes(within: .seconds(2)) { $0.byes > 0 }
        let held = await hub.held.map(\.record)
        return QuietRun(
            manifest: stage.trial.manifest, secrets: stage.trial.secrets, hello: await hub.hellos.first,
            records: Set(held.map(\.identity)), held: held, wants: wants, violations: await hub.violations,
            printed: stage.printed, byes: await hub.byes, ending: ending, endsByItself: life.endsByItself)
    }

    /// The result of examining a rule.
    ///
    /// A rule throws one if it cannot be examined, or if it shows only then that it does not apply to the plugin.
    package enum Verdict: Error, Hashable {
        case kept
        /// The violations that were seen, a sentence each.
        case broken([String])
        /// The reason why it does not apply to this plugin.
        case notConcerned(String)
        /// The reason why it could not be examined.
        case open(String)

        var isConcerned: Bool { if case .notConcerned = self { false } else { true } }
        /// Whether it keeps a plugin from the rule's tier.
        var isFault: Bool { isConcerned && self != .kept }
    }

    /// Examines the rules one after the other; if the very first is broken, it examines no other.
    ///
    /// - Parameter heard: called before each rule, with its place from 0.
    /// - Throws: ``PluginError`` if the plugin cannot be examined.
    package nonisolated(nonsending) func examine(
        _ rules: [Rule] = Rule.all, heard: (Int, Rule) -> Void = { _, _ in }
    ) async throws -> ConformanceReport {
        var findings: [ConformanceReport.Finding] = []
        for (place, rule) in rules.enumerated() {
            heard(place, rule)
            let began = ContinuousClock.now
            let verdict: Verdict
            if place > 0, findings[0].verdict != .kept {
                verdict = .open("\(rules[0].name) is broken")
            } else if place > 0, let reason = await manifest.flatMap(rule.concern.excuse) {
                verdict = .notConcerned(reason)
            } else {
                verdict = try await look(rule)
            }
            findings.append(.init(rule: rule, verdict: verdict, time: ContinuousClock.now - began))
        }
        let manifest = await manifest
        return ConformanceReport(
            plugin: manifest?.name ?? subject.name, version: manifest?.version, program: subject.program,
            findings: findings)
    }

    private func look(_ rule: Rule) async throws -> Verdict {
        let verdict: Verdict
        do {
            let seen = try await rule.look(self)
            verdict = seen.isEmpty ? .kept : .broken(seen)
        } catch let found as Verdict {
            verdict = found
        } catch let refusal as PluginError {
            await endStages()
            throw refusal
        } catch { verdict = .broken(["\(error)".split(separator: "\n").joined(separator: "; ")]) }
        await endStages()
        if isClosed { throw CancellationError() }
        return verdict
    }
}

extension Rule.Concern {
    /// The reason why it does not apply to a plugin; `nil` if it applies.
    func excuse(_ manifest: Manifest) -> String? {
        switch self {
        case .sources where !manifest.isSource:
            manifest.writes.isEmpty ? "it writes nothing" : "it writes a person's entries"
        case .sinks where manifest.sink == nil: "it is not a sink"
        case .commands where manifest.commands.isEmpty: "it has no commands"
        case .judges where !manifest.checksSettings: "it leaves its settings to the hub"
        default: nil
        }
    }
}

extension Manifest {
    /// Whether it gives records on its own initiative.
    ///
    /// A plugin that asks for the right to `log` writes the entries of a person, so it has no records of its own to give.
    var isSource: Bool { !writes.isEmpty && !owner.contains("log") }
}
