import TortureDiary

/// Finds records that were lost, doubled or miscounted, and faults that were not reported.
///
/// It knows the promises (Docs/Protocol.md, Storage.md, Operating.md) and the evidence, but not how the hub works. Only records that a restore
/// or a disk has taken back may be missing, and the hub must have reported that to its peers.
struct Checker {
    let evidence: Evidence
    private(set) var findings: [String] = []
    let losses: Losses
    /// The versions that each source gave of each record, in order, without repeats.
    let said: [Identity: [Step]]
    var stories: [Identity: Story] = [:]
    /// The versions in the store, by their sequence.
    var versions: [Int64: (identity: Identity, step: Step, type: String)] = [:]

    /// The number of findings that include the story of their record.
    private static let stories = 8

    init(_ evidence: Evidence) {
        self.evidence = evidence
        var said: [Identity: [Step]] = [:]
        for (device, lines) in evidence.sources {
            for step in lines.lazy.filter({ $0.event == .giving }).flatMap({ $0.steps ?? [] }) {
                let identity = Identity(device: device, key: step.key)
                // A repeat adds nothing.
                if said[identity]?.last?.version ?? 0 < step.version { said[identity, default: []].append(step) }
            }
        }
        // Each reading was given once, without a device.
        for key in evidence.readings {
            said[Identity(device: "", key: key)] = [Step(key: key, version: 1, isRetraction: false)]
        }
        self.said = said
        losses = Losses(evidence, said)
    }

    mutating func judge() -> [String] {
        judgeSources()
        judgeStore()
        judgeAccounts()
        for name in evidence.sinks.keys.sorted() { judgeSink(name) }
        judgeArchive()
        judgeFollower()
        judgeWords()
        return findings
    }

    mutating func find(_ text: String, _ identity: Identity? = nil) {
        // A story takes long to make, and a few are enough to understand an error.
        let story = findings.count < Self.stories ? identity.map { "\n\(Timeline(evidence, $0))" } : nil
        findings.append(text + (story ?? ""))
    }

    // MARK: - Sources and store

    /// A source that has finished must have got everything confirmed.
    private mutating func judgeSources() {
        for (device, lines) in evidence.sources.sorted(by: { $0.key < $1.key }) {
            if lines.last?.event != .finished { find("\(device) did not finish; last lines: \(lines.suffix(3))") }
            var open: [Int64: [Step]] = [:]
            for line in lines {
                guard let operation = line.operation else { continue }
                if line.event == .giving { open[operation] = line.steps }
                guard line.event == .given, let steps = open.removeValue(forKey: operation) else { continue }
                for (step, answer) in zip(steps, line.answers ?? [])
                where !["stored", "duplicate"].contains(answer.result) {
                    // The record that it retracts was already taken back.
                    if step.isRetraction, losses.mayMiss(step, Identity(device: device, key: step.key)) { continue }
                    find(
                        "\(device) was refused version \(step.version) of \(step.key): \(answer.result)",
                        Identity(device: device, key: step.key))
                }
                if let answers = line.answers, answers.count != steps.count {
                    find("\(device), operation \(operation): \(answers.count) answers to \(steps.count) records")
                }
            }
            for operation in open.keys.sorted() { find("\(device), operation \(operation) was never confirmed") }
        }
    }

    /// Every confirmed version must be in the store, once and in order, and nothing besides.
    private mutating func judgeStore() {
        for story in evidence.stories {
            guard let first = story.versions.first?.record else {
                find("record \(story.number) has no versions")
                continue
            }
            let identity = Identity(device: first.source.device ?? "", key: first.key)
            if let other = stories.updateValue(story, forKey: identity) {
                find("\(identity) is in the store twice: as \(other.number) and as \(story.number)", identity)
            }
            if said[identity] == nil { find("\(identity) is in the store, but no program gave it", identity) }
            for record in story.versions.map(\.record) {
                let isRetraction = record.kind == "retraction"
                guard let version = isRetraction ? record.reason.flatMap({ Int($0) }) : record.value.map({ Int($0) })
                else {
                    find("\(identity): version \(record.seq) differs from the given content", identity)
                    continue
                }
                let step = Step(key: record.key, version: version, isRetraction: isRetraction)
                if versions.updateValue((identity, step, record.type), forKey: record.seq) != nil {
                    find("sequence \(record.seq) was assigned twice", identity)
                }
                if record.type != Step.type(ofKey: record.key) {
                    find("\(identity) has the type \(record.type)", identity)
                }
            }
        }
        for (identity, steps) in said.sorted(by: { $0.key.description < $1.key.description }) {
            let isExcused = { [losses] in losses.mayMiss($0, identity) }
            guard let story = stories[identity] else {
                if !steps.allSatisfy(isExcused) {
                    find("LOST: \(identity) was confirmed, but is not in the store", identity)
                }
                continue
            }
            let there = story.versions.compactMap { versions[$0.record.seq]?.step }
            if there != steps.filter({ there.contains($0) || !isExcused($0) }) {
                find("\(identity) has the versions \(Self.text(there)), and was given \(Self.text(steps))", identity)
            }
        }
        // After a power cut, sequences may be skipped.
        let isGapless = !evidence.trials.contains {
            ["powerCut", "lyingDisk", "lostFile", "cutTail"].contains($0.kind)
        }
        let newest = versions.keys.max() ?? 0
        if let head = evidence.last?.head, head < newest || isGapless && (versions.count != head || newest != head) {
            find("the head is \(head), but the store has \(versions.count) versions up to \(versions.keys.max() ?? 0)")
        }
        judgeAnswers()
    }

    /// A version that the hub confirmed with a sequence must have that sequence in the store.
    private mutating func judgeAnswers() {
        for (device, lines) in evidence.sources {
            var steps: [Step] = []
            for line in lines {
                if line.event == .giving { steps = line.steps ?? [] }
                for (step, answer) in zip(steps, line.answers ?? []) where answer.result == "stored" {
                    if losses.mayHaveLost(step, Identity(device: device, key: step.key)) { continue }
                    guard let seq = answer.seq, versions[seq]?.step == step, versions[seq]?.identity.device == device
                    else {
                        let identity = Identity(device: device, key: step.key)
                        find(
                            "\(identity), version \(step.version): confirmed as \(answer), but the store differs",
                            identity)
                        continue
                    }
                }
            }
        }
    }

    static func text(_ steps: [Step]) -> String {
        steps.map { $0.isRetraction ? "\($0.version) (retraction)" : "\($0.version)" }.joined(separator: ", ")
    }

    // MARK: - Accounts

    /// The accounts must balance in every sighting, never go back, and never claim more than the diaries show.
    private mutating func judgeAccounts() {
        var before: Sighting?
        let end = evidence.last.map { Sighting(asked: .max, answered: .max, status: $0) }
        for sighting in evidence.sightings + [end].compactMap(\.self) {
            judge(sighting, before)
            before = sighting
        }
        guard let last = evidence.last else { return find("the hub gave no status at the end") }
        for device in evidence.sources.keys.sorted() {
            guard let account = last.accounts.first(where: { $0.instance == device }) else {
                find("\(device) has no account")
                continue
            }
            // The content of the store has been judged already.
            let own = versions.values.filter { $0.identity.device == device }
            let first = Int64(Set(own.map(\.identity)).count)
            let retractions = Int64(own.count(where: \.step.isRetraction))
            let all = Int64(own.count)
            if (account.stored, account.retractions, account.versions) != (
                first, retractions, all - first - retractions
            )
                || account.rejected > 0 && evidence.takebacks.isEmpty
            {
                find("\(account) of \(first) records, \(all) versions, \(retractions) retractions")
            }
        }
    }

    private mutating func judge(_ sighting: Sighting, _ before: Sighting?) {
        let status = sighting.status
        let isTakenBack = before.map { losses.haveTakenBack(between: $0.asked, and: sighting.answered) } ?? false
        let before = isTakenBack ? nil : before
        let when = "at \(sighting.answered)"
        for account in status.accounts {
            let sum = account.stored + account.versions + account.retractions + account.duplicates + account.rejected
            if account.received != sum { find("\(when) the account does not balance: \(account)") }
            let old = before?.status.accounts.first { $0.instance == account.instance }
            if let old,
                old.stored > account.stored || old.versions > account.versions || old.received > account.received
            {
                find("\(when) \(account) was \(old) before: something confirmed was taken back")
            }
        }
        for sink in status.sinks {
            let sum = sink.delivered + sink.pending + sink.retrying + sink.refused + sink.superseded + sink.skipped
            if sink.wanted != sum { find("\(when) the account does not balance: \(sink)") }
            let parts = [sink.delivered, sink.pending, sink.retrying, sink.refused, sink.superseded, sink.skipped]
            if parts.contains(where: { $0 < 0 }) { find("\(when) the account has a negative count: \(sink)") }
            let old = before?.status.sinks.first { $0.name == sink.name }
            if let old, old.delivered > sink.delivered || Self.sequence(old.cursor) > Self.sequence(sink.cursor) {
                find("\(when) \(sink) was \(old) before: something counted was taken back")
            }
        }
        if let old = before?.status, old.head > status.head || old.epoch != status.epoch {
            find("\(when) the head is \(status.epoch)-\(status.head) and was \(old.epoch)-\(old.head)")
        }
    }

    static func sequence(_ cursor: String) -> Int64 {
        cursor.split(separator: "-").last.flatMap { Int64($0) } ?? -1
    }
}
