import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

/// Looks at one plugin, rule by rule.
package actor Examination {
    let subject: Subject
    /// As the first stage learned it.
    private(set) var manifest: Manifest?
    private var first: Task<Course, any Error>?
    private var second: Task<Course, any Error>?
    /// Those of the rule that is looked at.
    private var open: [Stage] = []
    private var homes: [Home] = []
    private var isClosed = false

    package init(_ subject: Subject) { self.subject = subject }

    /// What a quiet life with a friendly hub was like: greeted, all given, idle for a while, ended as asked.
    struct Course: Sendable {
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

    /// Why a rule cannot be looked at.
    struct Unknown: Error { let reason: String }

    /// A hub and a folder for one plugin; what runs there ends with the rule.
    func stage(_ behaviour: @Sendable (inout FakeHub.Behaviour) -> Void = { _ in }) async throws -> Stage {
        let stage = try await Stage(subject, behaviour)
        open.append(stage)
        if isClosed { await close() }
        manifest = stage.trial.manifest
        return stage
    }

    /// Ends all that runs, and takes away its folders; nothing is examined after it.
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

    /// A whole hub for the plugin; it ends with the rule.
    func home() async throws -> Home {
        let home = try Home(subject)
        homes.append(home)
        if isClosed { await close() }
        return home
    }

    /// The same for all rules.
    func course() async throws -> Course {
        let task = first ?? Task { try await run() }
        first = task
        return try await task.value
    }

    /// What every life gives: a source that never ends, or one of live readings, gives something else each time.
    ///
    /// - Throws: ``Unknown`` where nothing is the same.
    func lasting() async throws -> Set<RecordIdentity> {
        let known = try await course().records
        let task = second ?? Task { try await run() }
        second = task
        let lasting = known.intersection(try await task.value.records)
        if lasting.isEmpty, !known.isEmpty {
            throw Unknown(reason: "two lives gave different records: it needs a stand-in that says the same each time")
        }
        return lasting
    }

    /// What it costs when it has given all it has.
    ///
    /// - Throws: ``Rule/Excuse`` where it has done its work and ended by then.
    func idleCost() async throws -> ProcessFacts {
        let stage = try await stage()
        let life = stage.start()
        _ = await stage.comes { !$0.hellos.isEmpty }
        await stage.settle(atLeast: stage.trial.manifest.isSource ? 1 : 0)
        let cost = await ProcessFacts.watched(await life.pid, for: .seconds(3))
        if !life.hasEnded, let cost { return cost }
        let ending = await life.ending()
        guard ending == .exited(0) else { throw Unknown(reason: "it \(ending.words) before it was measured") }
        throw Rule.Excuse(reason: "it had done its work and ended before it was measured")
    }

    private func run() async throws -> Course {
        let stage = try await stage()
        let life = stage.start()
        _ = await stage.comes { !$0.hellos.isEmpty }
        await stage.settle(atLeast: stage.trial.manifest.isSource ? 1 : 0)
        if stage.trial.manifest.sink != nil { _ = await stage.comes { !$0.wants.isEmpty } }
        let (hub, wants) = (stage.hub, await stage.hub.wants)
        let ending = await life.stop(hub)
        // What it sent last may come after its end.
        _ = await stage.comes(within: .seconds(2)) { $0.byes > 0 }
        let held = await hub.held.map(\.record)
        return Course(
            manifest: stage.trial.manifest, secrets: stage.trial.secrets, hello: await hub.hellos.first,
            records: Set(held.map(\.identity)), held: held, wants: wants, violations: await hub.violations,
            printed: stage.printed, byes: await hub.byes, ending: ending, endsByItself: life.endsByItself)
    }

    /// What a rule has found.
    package enum Verdict: Hashable, Sendable {
        case kept
        /// What was seen instead, a sentence each.
        case broken([String])
        /// Why it does not concern this plugin.
        case notConcerned(String)
        /// Why it could not be looked at.
        case open(String)
    }

    /// Looks at the rules, each after the one before; where the first of all is broken, at no other.
    ///
    /// - Parameter heard: called before each rule, with its place from 0.
    /// - Throws: ``Subject/Refusal`` where the plugin cannot be examined.
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
        } catch let unknown as Unknown {
            verdict = .open(unknown.reason)
        } catch let excuse as Rule.Excuse {
            verdict = .notConcerned(excuse.reason)
        } catch let refusal as Subject.Refusal {
            await endStages()
            throw refusal
        } catch {
            verdict = .broken(["\(error)".split(separator: "\n").joined(separator: "; ")])
        }
        await endStages()
        if isClosed { throw CancellationError() }
        return verdict
    }
}

extension Rule {
    /// Why a rule does not concern a plugin, where its manifest alone does not tell.
    struct Excuse: Error { let reason: String }
}

extension Rule.Concern {
    /// Why it does not concern a plugin; `nil` where it does.
    func excuse(_ manifest: Manifest) -> String? {
        switch self {
        case .sources where !manifest.isSource:
            manifest.writes.isEmpty ? "it writes nothing" : "it writes what a person enters"
        case .sinks where manifest.sink == nil: "it is not a sink"
        case .commands where manifest.commands.isEmpty: "it has no commands"
        case .judges where !manifest.checksSettings: "it leaves its settings to the hub"
        default: nil
        }
    }
}

extension Manifest {
    /// Whether it gives records by itself.
    ///
    /// What asks to have the hub `log` writes what a person enters, and has none to give.
    var isSource: Bool { !writes.isEmpty && !owner.contains("log") }
}
