import TortureDiary

extension Checker {
    /// One delivery of a record to a sink.
    struct Visit {
        var begin: Int64
        var end: Int64?
        var got: SinkLine.Got
        var answer: SinkLine.Answer?
        var result: SinkLine.Answer.Result? { answer?.result }
    }

    /// Everything wanted must come, or be refused with its reason on record; nothing may come again after it was counted.
    mutating func judgeSink(_ name: String) {
        guard let sink = evidence.sinks[name] else { return }
        var visits: [Identity: [Visit]] = [:]
        for handover in Handover.all(sink.lines) {
            for (got, answer) in handover.items {
                let identity = Identity(device: got.device, key: got.step.key)
                visits[identity, default: []].append(
                    Visit(begin: handover.begin, end: handover.end, got: got, answer: answer))
            }
        }
        let voids = voids(of: name, sink)
        for (identity, visits) in visits.sorted(by: { $0.key.description < $1.key.description }) {
            judge(identity, visits, name, sink)
            judgeRepeats(identity, visits, name, voids)
        }
        for identity in said.keys.sorted(by: { $0.description < $1.description }) {
            guard sink.types?.contains(Step.type(ofKey: identity.key)) != false else { continue }
            judgeEnd(identity, visits[identity] ?? [], name)
        }
        judgeAccount(name, sink, visits.values.flatMap(\.self))
    }

    // MARK: - Records that came

    private mutating func judge(_ identity: Identity, _ visits: [Visit], _ name: String, _ sink: Evidence.Sink) {
        var last: Int64 = 0
        var before: Visit?
        for visit in visits {
            let got = visit.got
            let version = versions[got.seq]
            let isThere =
                version?.identity == identity && version?.step == got.step && version?.type == got.type
                && stories[identity]?.number == got.number
            let isExcused = losses.mayHaveLost(got.step, identity) && losses.isUncertain(at: visit.begin, lag: Self.lag)
            if !isThere, !isExcused { find("\(name) got \(got), but the store has another version", identity) }
            let epochs = losses.epochs(at: visit.begin, lag: Self.lag) ?? [evidence.last?.epoch ?? ""]
            if !epochs.contains(got.epoch) {
                find("\(name) got the epoch \(got.epoch) with \(identity) when it was \(epochs)", identity)
            }
            if sink.types?.contains(got.type) == false { find("\(name) got \(got), which it does not want", identity) }
            // After a restore it counts from the backup, and in another epoch.
            if let before,
                before.got.epoch != got.epoch || losses.haveTakenBack(between: before.begin, and: visit.begin)
            {
                last = 0
            }
            before = visit
            if got.seq < last { find("\(name) got \(identity), sequence \(got.seq), after \(last)", identity) }
            last = max(last, got.seq)
        }
    }

    /// The times at which records under way to a sink may have been lost: its process or the hub's ended, or it subscribed again.
    private func voids(of name: String, _ sink: Evidence.Sink) -> [ClosedRange<Int64>] {
        var moments = sink.lines.filter { $0.event == .started || $0.event == .again }.map(\.at)
        var stops: [String: Int64] = [:]
        var pauses: [ClosedRange<Int64>] = []
        var silences: [ClosedRange<Int64>] = []
        for event in evidence.disturbances where event.victim == name || event.victim == "hub" {
            switch event.what {
            case "stop": stops[event.victim] = event.at
            case "continue":
                guard let since = stops.removeValue(forKey: event.victim), since <= event.at else { continue }
                if event.victim == name { pauses.append(since...event.at) }
                // A session that is silent for more than 15 s ends (R4.6).
                if event.at - since > 15_000 { silences.append(since...event.at + Self.lag) }
            default: moments.append(event.at)
            }
        }
        return silences + losses.times.map { $0.lowerBound...$0.upperBound + Self.lag }
            + moments.map { moment in
                // If a hub sent records and died, a stopped sink reads them when it continues.
                let read = pauses.first { $0.contains(moment) }?.upperBound ?? moment
                return moment...read + Self.lag
            }
    }

    /// Milliseconds until a running sink has handled everything that an earlier session sent it.
    private static let lag: Int64 = 2_000

    /// R10.3, R10.6, R10.19: the same version comes again only if its answer may not have been counted.
    private mutating func judgeRepeats(
        _ identity: Identity, _ visits: [Visit], _ name: String, _ voids: [ClosedRange<Int64>]
    ) {
        for (index, visit) in visits.enumerated() {
            guard let later = visits[(index + 1)...].first(where: { $0.got.seq == visit.got.seq }) else { continue }
            // The clock has milliseconds, so two events of the same millisecond may have happened in either order.
            let isVoid = voids.contains { $0.overlaps(visit.begin - 1...max(visit.begin, later.begin) + 1) }
            switch visit.result {
            case .retry, .unauthorized: continue
            case .delivered, .refused, nil:
                if !isVoid {
                    find(
                        "DOUBLED: \(name) got \(identity), sequence \(visit.got.seq), again after \(visit.answer.map { "\($0.result)" } ?? "no answer"), without a fault in between",
                        identity)
                }
            }
            // For a first version, the cursor alone shows whether it was counted.
            guard visit.result == .delivered, index == 0, visit.got.number == visit.got.seq, let end = visit.end else {
                continue
            }
            let counted = evidence.sightings.first { sighting in
                sighting.asked >= end && sighting.answered < later.begin
                    && !losses.isTakenBack(sighting.answered, before: later.begin)
                    && sighting.status.sinks.contains {
                        $0.name == "\(name)/all" && Checker.sequence($0.cursor) >= visit.got.seq
                    }
            }
            if let counted {
                find(
                    "DOUBLED: \(name) got \(identity), sequence \(visit.got.seq), again after the hub had counted it at \(counted.answered)",
                    identity)
            }
        }
    }

    // MARK: - Records that did not come

    private mutating func judgeEnd(_ identity: Identity, _ visits: [Visit], _ name: String) {
        guard let story = stories[identity] else { return }  // Already a finding.
        guard let delivery = story.deliveries.first(where: { $0.sink == "\(name)/all" }) else {
            return find("LOST: the hub has no delivery of \(identity) to \(name)", identity)
        }
        guard delivery.seq == story.seq else {
            return find(
                "\(name) and \(identity): the hub reports sequence \(delivery.seq), which is not the last", identity)
        }
        let last = visits.filter { $0.got.seq == story.seq && $0.got.step == versions[story.seq]?.step }
        switch delivery.state {
        case "delivered":
            if !last.contains(where: { $0.result == .delivered }) {
                find("LOST: the hub counts \(identity) as delivered, but \(name) never confirmed it", identity)
            }
        case "refused":
            if !last.contains(where: { $0.result == .refused && $0.answer?.reason == delivery.reason }) {
                find(
                    "LOST: the hub counts \(identity) as refused (\(delivery.reason ?? "")), but \(name) did not refuse it",
                    identity)
            }
        case "skipped":
            if versions[story.seq]?.step.isRetraction != true || knowable(visits).allSatisfy(Self.mayHaveIt) {
                find("LOST: \(identity) was skipped (\(delivery.reason ?? "")), but \(name) may have it", identity)
            }
        default: find("LOST: \(identity) is \(delivery.state) for \(name)", identity)
        }
    }

    /// The visits to a target that the hub may know of, one list for each possible state of the store.
    ///
    /// A store that was put back has the state of some moment in the takeback's range. Later visits of the old epoch were never delivered for it.
    private func knowable(_ visits: [Visit]) -> [[Visit]] {
        let visits = visits.filter { !losses.wasSentBefore($0.got.epoch, at: $0.begin) }
        return losses.times.reduce([visits]) { all, times in
            all.flatMap { visits in
                let doubtful = visits.filter { times.contains($0.begin) }
                return (0...doubtful.count).map { count in
                    let lost = doubtful.dropFirst(count).first?.begin ?? .max
                    return visits.filter { !times.contains($0.begin) || $0.begin < lost }
                }
            }
        }
    }

    /// Whether the target may have the record after all these visits.
    ///
    /// It has a record that it confirmed, until it confirms a retraction. It may have a record that it did not answer, even if its next answer was
    /// another one.
    private static func mayHaveIt(_ visits: [Visit]) -> Bool {
        var (has, isDoubtful) = (false, false)
        for visit in visits {
            switch visit.result {
            case .delivered: (has, isDoubtful) = (!visit.got.step.isRetraction, false)
            case nil where !visit.got.step.isRetraction: isDoubtful = true
            case .retry, .refused, .unauthorized, nil: continue
            }
        }
        return has || isDoubtful
    }

    private mutating func judgeAccount(_ name: String, _ sink: Evidence.Sink, _ visits: [Visit]) {
        func ends(_ result: SinkLine.Answer.Result) -> [Int64: Int64] {
            Dictionary(
                visits.filter { $0.result == result }.map { ($0.got.seq, $0.end ?? .max) }, uniquingKeysWith: min)
        }
        let (delivered, refused) = (ends(.delivered), ends(.refused))
        for sighting in evidence.sightings {
            guard let account = sighting.status.sinks.first(where: { $0.name == "\(name)/all" }) else { continue }
            let most = delivered.values.count { $0 <= sighting.answered + 1 }
            if account.delivered > most {
                find("at \(sighting.answered) \(name) had confirmed \(most) versions, and the hub counted \(account)")
            }
        }
        guard let account = evidence.last?.sinks.first(where: { $0.name == "\(name)/all" }) else {
            return find("\(name) has no account")
        }
        let wanted = versions.values.count { sink.types?.contains($0.type) != false }
        if account.wanted != wanted { find("\(name) wants \(wanted) versions: \(account)") }
        if account.pending != 0 || account.retrying != 0 { find("\(name) did not finish: \(account)") }
        if account.delivered > delivered.count || account.refused > refused.count {
            find("\(name) has confirmed \(delivered.count) and refused \(refused.count) versions: \(account)")
        }
    }
}
