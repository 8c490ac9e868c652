import TortureDiary

/// The versions that may be missing by the rules: those confirmed after the time to which a restore or a disk has put the store back.
struct Losses {
    private let takebacks: [Takeback]
    /// The versions that may be missing, by record.
    private let missable: [Identity: Set<Int>]
    /// The versions that were given at an uncertain time; they may be in the store, or come again.
    private let uncertain: [Identity: Set<Int>]

    init(_ evidence: Evidence, _ said: [Identity: [Step]]) {
        takebacks = evidence.takebacks.sorted { $0.since < $1.since }
        guard !takebacks.isEmpty else {
            (missable, uncertain) = ([:], [:])
            return
        }
        var missable: [Identity: Set<Int>] = [:]
        var uncertain: [Identity: Set<Int>] = [:]
        // A plugin gives its whole file again to a restored hub: no reading may be missing, but each may have another sequence.
        for key in evidence.readings { uncertain[Identity(device: "", key: key)] = [1] }
        for (device, lines) in evidence.sources {
            var safe: [Identity: Set<Int>] = [:]
            for call in Self.calls(lines) {
                let isUncertain = takebacks.contains { call.begin <= $0.until && call.end >= $0.since }
                for step in call.steps {
                    let identity = Identity(device: device, key: step.key)
                    if isUncertain {
                        uncertain[identity, default: []].insert(step.version)
                    } else {
                        safe[identity, default: []].insert(step.version)
                    }
                }
            }
            for (identity, steps) in said where identity.device == device {
                var isBeforeMissable = false
                for step in steps {
                    // A retraction of a missing version is refused or changes nothing.
                    isBeforeMissable =
                        safe[identity]?.contains(step.version) != true || step.isRetraction && isBeforeMissable
                    if isBeforeMissable { missable[identity, default: []].insert(step.version) }
                }
            }
        }
        (self.missable, self.uncertain) = (missable, uncertain)
    }

    /// The times from the beginning of each call until the hub had confirmed it.
    private static func calls(_ lines: [SourceLine]) -> [(begin: Int64, end: Int64, steps: [Step])] {
        var calls: [Int64: (begin: Int64, end: Int64, steps: [Step])] = [:]
        for line in lines {
            guard let operation = line.operation else { continue }
            switch line.event {
            case .giving: calls[operation] = (line.at, .max, line.steps ?? [])
            // Without answers, the spool has confirmed, not the hub.
            case .given where line.answers != nil: calls[operation]?.end = line.at
            case .emptied:
                for (number, call) in calls where number <= operation && call.end == .max {
                    calls[number]?.end = line.at
                }
            case .started, .given, .finished: break
            }
        }
        return Array(calls.values)
    }

    var times: [ClosedRange<Int64>] { takebacks.map(\.times) }

    /// Whether this version of a record may be missing from the store.
    func mayMiss(_ step: Step, _ identity: Identity) -> Bool { missable[identity]?.contains(step.version) == true }

    /// Whether a confirmation or a delivery of this version may not count any more.
    func mayHaveLost(_ step: Step, _ identity: Identity) -> Bool { uncertain[identity]?.contains(step.version) == true }

    /// Whether a delivery at this time may have been taken back.
    func isUncertain(at time: Int64, lag: Int64) -> Bool {
        takebacks.contains { ($0.since...$0.until + lag).contains(time) }
    }

    /// Whether the store was put back between two moments.
    func haveTakenBack(between first: Int64, and last: Int64) -> Bool {
        takebacks.contains { first <= $0.until && last >= $0.since }
    }

    /// Whether a delivery was sent by the hub before its store was put back; a stopped sink reads it when it continues.
    func wasSentBefore(_ epoch: String, at time: Int64) -> Bool {
        takebacks.contains { $0.before == epoch && $0.after != epoch && time > $0.until }
    }

    /// Whether a fact of one time may have been taken back before a later time.
    func isTakenBack(_ time: Int64, before later: Int64) -> Bool {
        takebacks.contains { $0.since <= time && time <= $0.until && later >= $0.since }
    }

    /// The epochs that a message of this time may have; `nil` if the epoch never changed.
    func epochs(at time: Int64, lag: Int64) -> Set<String>? {
        guard let first = takebacks.first else { return nil }
        var epochs: Set<String> = []
        for (index, takeback) in takebacks.enumerated() {
            let since = index == 0 ? Int64.min : takebacks[index - 1].since
            if (since...takeback.until + lag).contains(time) { epochs.insert(takeback.before) }
            let until = index + 1 < takebacks.count ? takebacks[index + 1].until + lag : Int64.max
            if (takeback.since...max(until, takeback.since)).contains(time) { epochs.insert(takeback.after) }
        }
        return epochs.isEmpty ? [first.before] : epochs
    }
}
