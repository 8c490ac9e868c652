import DoorPeer
import Foundation
import HubProcess
import TortureDiary

/// One round: it sets up a scene, carries out a schedule of faults, and judges the evidence.
struct Round {
    let schedule: Schedule

    /// The result of a round.
    struct Result: Sendable {
        var seed: UInt64
        /// The faults of the schedule without kills and stops; those that were not possible are in brackets.
        var faults: [String] = []
        var disturbances = 0
        var records = 0
        /// The number of records that sinks received.
        var deliveries = 0
        /// The longest time in milliseconds from the end of a fault to the next record that the hub confirmed.
        var slowest: Int64 = 0
        var seconds = 0.0
        var findings: [String] = []
        /// The folder with all files of the round; `nil` if it was removed.
        var folder: String?
    }

    func run(isKept: Bool) async -> Result {
        let began = ContinuousClock.now
        var result = Result(seed: schedule.seed)
        do {
            let scene = try await Scene(seed: schedule.seed)
            if isKept { scene.host.folder.keep() }
            do { try await run(in: scene, &result) } catch {
                result.findings = scene.findings + result.findings + ["the round failed: \(error)"]
            }
            if !result.findings.isEmpty || isKept {
                scene.host.folder.keep()
                result.folder = scene.host.folder.path
                try keep(scene, result)
            }
        } catch { result.findings.append("the round could not start: \(error)") }
        result.seconds = began.duration(to: .now) / .seconds(1)
        return result
    }

    private func run(in scene: Scene, _ result: inout Result) async throws {
        let watcher = Watcher(scene.door)
        let follower = Follower(feed: scene.host.environment["HUB_FEED"] ?? "", door: scene.door)
        let trials = try await carryOut(in: scene)
        try await scene.finish(within: .seconds(60))

        var evidence = try scene.evidence()
        (evidence.trials, evidence.sightings) = (trials, await watcher.end())
        let answer = try await scene.host.command("status", "--json")
        try scene.askAll(&evidence)
        let stories = evidence.stories
        _ = await poll(within: .seconds(5)) { FeedPicture(follower.lines).differences(from: stories).isEmpty }
        evidence.follower = await follower.end()
        let ends = await scene.end()
        (evidence.lives, evidence.disturbances) = (scene.programs[Scene.hub]?.lives ?? [], scene.journal.disturbances)

        var judge = Checker(evidence)
        result.findings = scene.findings + judge.judge()
        if ![0, 1].contains(answer.status) { result.findings.append("hub status ended with \(answer.status)") }
        for (name, code) in ends.sorted(by: { $0.key < $1.key }) where code != 0 {
            result.findings.append("after SIGTERM \(name) ended with \(code)")
        }
        for program in scene.programs.values {
            if let failure = program.failure { result.findings.append(failure) }
        }
        result.faults = trials.map { trial in trial.obstacle.map { "(\(trial.kind): \($0))" } ?? trial.kind }
        result.disturbances = evidence.disturbances.count
        result.records = judge.said.count
        result.deliveries = evidence.sinks.values.reduce(0) {
            $0 + Handover.all($1.lines).reduce(0) { $0 + $1.items.count }
        }
        result.slowest = judge.slowest
    }

    /// Carries out the schedule, one event after the other, and lifts all faults at the end.
    private func carryOut(in scene: Scene) async throws -> [Trial] {
        var plans = schedule.plans
        var trials: [Int: Trial] = [:]
        var open: Set<Int> = []
        let began = ContinuousClock.now
        func lift(_ index: Int) async throws {
            guard open.remove(index) != nil else { return }
            defer { trials[index]?.lifted = millisecondsNow() }
            do { try await plans[index].fault.lift(from: scene) } catch let error as NotPossible {
                trials[index]?.obstacle = "\(error)"
            }
        }
        do {
            for event in schedule.events {
                try await Task.sleep(until: began + .milliseconds(event.at))
                if event.isEnd {
                    try await lift(event.plan)
                    continue
                }
                let plan = plans[event.plan]
                var trial = Trial(
                    kind: plan.kind ?? "", applied: millisecondsNow(), words: plan.fault.words,
                    patience: plan.fault.patience)
                do {
                    try await plans[event.plan].fault.apply(to: scene)
                    open.insert(event.plan)
                } catch let error as NotPossible { trial.obstacle = "\(error)" }
                trials[event.plan] = trial
            }
        } catch {
            // A disk that stays frozen would block every program, including this one.
            for index in open.sorted() { try? await lift(index) }
            throw error
        }
        return trials.sorted { $0.key < $1.key }.map(\.value).filter { !$0.kind.isEmpty }
    }

    /// Saves the logs that a person needs to understand the round, beside the diaries and the store.
    private func keep(_ scene: Scene, _ result: Result) throws {
        for program in scene.programs.values {
            let text = program.lives.map { life in
                "— from \(life.began) to \(life.ended), ended with \(life.code)\n" + life.said.joined(separator: "\n")
            }
            try scene.host.folder.write(text.joined(separator: "\n"), to: "\(program.name).log")
        }
        let journal = scene.journal.disturbances.map { "\($0.at) \($0.victim): \($0.what)" }
        try scene.host.folder.write(journal.joined(separator: "\n"), to: "journal.txt")
        try scene.host.folder.write(schedule.lines.joined(separator: "\n"), to: "schedule.txt")
        try scene.host.folder.write(result.findings.joined(separator: "\n\n"), to: "findings.txt")
        // The disk disappears with this program.
        if scene.disk != nil {
            try FileManager.default.copyItem(atPath: scene.data, toPath: scene.host.folder.path + "/data.kept")
        }
    }
}

extension Scene {
    /// The diaries of sources and sinks, and the files of the platinum plugins.
    func evidence() throws -> Evidence {
        var evidence = Evidence()
        evidence.takebacks = takebacks
        (evidence.readings, evidence.archive) = (platinum.readings, try platinum.lines())
        for name in Self.sources { evidence.sources[name] = try Diary<SourceLine>.lines(diary(name)) }
        for (name, types) in Self.sinks {
            evidence.sinks[name] = .init(lines: try Diary<SinkLine>.lines(diary(name)), types: types)
        }
        return evidence
    }

    /// Asks the hub at its door for the story of every record, and for its accounts.
    func askAll(_ evidence: inout Evidence) throws {
        let door = try DoorPeer(door, instance: "torture", #","mode":"once""#, patience: .seconds(30))
        let status = try door.ask("\"want\":\"status\"", "status", as: StatusSample.self)
        evidence.last = status
        var cursor = "\(status.epoch)-0"
        while true {
            let page = try JSONDecoder().decode(
                Page.self, from: try door.ask("\"want\":\"records\",\"since\":\"\(cursor)\""))
            for record in page.records {
                evidence.stories.append(try door.ask("\"want\":\"trace\",\"number\":\(record.number)", "trace"))
            }
            cursor = page.cursor
            if page.next == nil { return }
        }
    }

    private struct Page: Decodable {
        struct Record: Decodable { var number: Int64 }
        var records: [Record]
        var next: String?
        var cursor: String
    }
}
