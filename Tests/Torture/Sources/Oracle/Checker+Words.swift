import TortureDiary

/// The reports that the hub owes: why it confirms nothing, why it ended, and that it has found damage.
extension Checker {
    mutating func judgeWords() {
        for trial in evidence.trials where trial.obstacle == nil { judgeSilence(trial) }
        for life in evidence.lives where life.isByItself { judgeEnding(life) }
        for trial in evidence.trials where trial.kind == StoreFault.damagedPage.rawValue { judgeDamage(trial) }
        if slowest > 45_000 { find("after the end of a fault the hub confirmed nothing for \(slowest) ms") }
    }

    /// The longest time in milliseconds from the end of a fault to the next confirmation.
    var slowest: Int64 {
        let confirmed = evidence.sources.values.joined().filter { $0.event == .given && $0.answers != nil }.map(\.at)
            .sorted()
        return evidence.trials.compactMap { trial in
            trial.lifted.flatMap { end in confirmed.first { $0 >= end }.map { $0 - end } }
        }.max() ?? 0
    }

    /// Milliseconds until plugins are connected to a restarted hub.
    private static let greeting: Int64 = 2_000

    /// If a source waits without success, undisturbed like the hub itself, the hub must have reported the reason.
    private mutating func judgeSilence(_ trial: Trial) {
        guard let patience = trial.patience, let lifted = trial.lifted else { return }
        for (device, lines) in evidence.sources where device == "source-inside" {
            for (index, line) in lines.enumerated() where line.event == .giving {
                let given = lines[(index + 1)...].first { $0.event == .given }?.at ?? .max
                let events = evidence.disturbances.filter { $0.victim == Scene.hub || $0.victim == device }.map(\.at)
                let end = min(given, lifted)
                var begin = max(line.at, trial.applied)
                // The last period without other disturbances.
                for event in events.sorted() where event < end {
                    if event >= begin - Self.greeting { begin = max(begin, event + Self.greeting) }
                }
                guard end - begin > patience, !isTold(trial, until: end + 1_000) else { continue }
                find(
                    "SILENCE: \(trial.kind): from \(begin) to \(end) nothing was confirmed, and the hub gave no reason (expected one of \(trial.words))"
                )
                return
            }
        }
    }

    private func isTold(_ trial: Trial, until end: Int64) -> Bool {
        func names(_ text: String?) -> Bool { trial.words.contains { text?.contains($0) == true } }
        return evidence.sightings.contains { sighting in
            let store = sighting.status.store
            return sighting.answered >= trial.applied && sighting.asked <= end
                && (names(store.state) || names(store.error) || names(store.warning))
        }
            || evidence.lives.contains { life in
                life.ended >= trial.applied && life.began <= end && life.said.contains { names($0) }
            }
    }

    /// A hub may end without a request only because of a fault, which it must name.
    private mutating func judgeEnding(_ life: Kept.Life) {
        let reasons = evidence.trials.filter { trial in
            life.ended >= trial.applied && life.began <= (trial.lifted ?? .max)
        }
        let isSaid = reasons.contains { trial in
            trial.words.contains { word in life.said.contains { $0.contains(word) } }
        }
        if !isSaid {
            find(
                "the hub ended unexpectedly with \(life.code) at \(life.ended), during \(reasons.map(\.kind)), and printed \(life.said.suffix(3))"
            )
        }
    }

    /// After the hub has reported damage, it must confirm nothing until a person has decided.
    private mutating func judgeDamage(_ trial: Trial) {
        let decided =
            evidence.disturbances.first { $0.what == "damage found" && $0.at >= trial.applied }?.at ?? trial.lifted
            ?? .max
        guard
            let told = evidence.sightings.first(where: {
                $0.asked >= trial.applied && $0.answered < decided && $0.status.store.state == "corrupt"
            })
        else { return }
        for (device, lines) in evidence.sources {
            for (index, line) in lines.enumerated() where line.event == .giving && line.at > told.answered {
                guard let given = lines[(index + 1)...].first(where: { $0.event == .given }), given.at < decided,
                    given.answers?.contains(where: { $0.result == "stored" }) == true
                else { continue }
                find(
                    "\(device), operation \(line.operation ?? 0), was confirmed after damage was reported and before a person decided"
                )
            }
        }
    }
}
