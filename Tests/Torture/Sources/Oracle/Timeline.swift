import TortureDiary

/// Everything that the diaries contain about one record, and the disturbances in between, so that a person can understand a finding.
struct Timeline: CustomStringConvertible {
    let description: String

    init(_ evidence: Evidence, _ identity: Identity) {
        var events: [(at: Int64, text: String)] = []
        for line in evidence.sources[identity.device] ?? [] {
            guard let steps = line.steps?.filter({ $0.key == identity.key }), !steps.isEmpty else { continue }
            events.append(
                (line.at, "\(identity.device): gives version \(Checker.text(steps)), operation \(line.operation ?? 0)"))
            let confirmed = evidence.sources[identity.device]?.first {
                $0.event == .given && $0.operation == line.operation && $0.at >= line.at
            }
            if let confirmed { events.append((confirmed.at, "\(identity.device): that version was confirmed")) }
        }
        for (name, sink) in evidence.sinks {
            for delivery in Handover.all(sink.lines) {
                for (got, answer) in delivery.items where got.device == identity.device && got.step.key == identity.key
                {
                    let what = "number \(got.number), sequence \(got.seq), version \(Checker.text([got.step]))"
                    events.append(
                        (delivery.begin, "\(name): gets \(what), delivery \(delivery.pid)-\(delivery.number)"))
                    guard let answer, let end = delivery.end else { continue }
                    let reason = answer.reason.map { " (\($0))" } ?? ""
                    events.append((end, "\(name): answers \(answer.result)\(reason) to sequence \(got.seq)"))
                }
            }
            for line in sink.lines where line.event == .again { events.append((line.at, "\(name): asks again")) }
        }
        let first = (events.map(\.at).min() ?? 0) - 1_000
        let last = (events.map(\.at).max() ?? 0) + 1_000
        for disturbance in evidence.disturbances where (first...last).contains(disturbance.at) {
            events.append((disturbance.at, "  --- \(disturbance.what) \(disturbance.victim)"))
        }
        let story = evidence.stories.first {
            $0.versions.first?.record.key == identity.key && $0.versions.first?.record.source.device == identity.device
        }
        let start = first + 1_000
        // Disturbances of other times are of no use here.
        let lines = events.sorted { $0.at < $1.at }.filter { (first...last).contains($0.at) }
            .map { "    \($0.at - start) ms: \($0.text)" }
        let end = story.map { story in
            let versions = story.versions.map {
                "\($0.record.seq) \($0.record.kind) \($0.record.reason ?? "\($0.record.value ?? 0)")"
            }
            let deliveries = story.deliveries.map { "\($0.sink): \($0.state) \($0.seq) \($0.reason ?? "")" }
            return [
                "    in the store: \(versions.joined(separator: "; "))", "    \(deliveries.joined(separator: "; "))",
            ]
        }
        description = (lines + (end ?? ["    not in the store"])).joined(separator: "\n")
    }
}

/// One call of a sink: the records it received, and its answers if there are any.
struct Handover: Sendable {
    var pid: Int32
    var number: Int
    var begin: Int64
    var end: Int64?
    var items: [(got: SinkLine.Got, answer: SinkLine.Answer?)]

    static func all(_ lines: [SinkLine]) -> [Handover] {
        var handovers: [Handover] = []
        var places: [[Int]: Int] = [:]
        for line in lines {
            // Process numbers are reused.
            if line.event == .started { places = [:] }
            guard let delivery = line.delivery else { continue }
            switch line.event {
            case .begin:
                places[[Int(line.pid), delivery]] = handovers.count
                handovers.append(
                    Handover(
                        pid: line.pid, number: delivery, begin: line.at, items: (line.records ?? []).map { ($0, nil) }))
            case .end:
                guard let place = places[[Int(line.pid), delivery]] else { continue }
                handovers[place].end = line.at
                for (index, answer) in (line.answers ?? []).enumerated() where index < handovers[place].items.count {
                    handovers[place].items[index].answer = answer
                }
            case .started, .again: break
            }
        }
        return handovers
    }
}
