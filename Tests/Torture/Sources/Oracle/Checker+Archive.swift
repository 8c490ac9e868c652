import TortureDiary

extension Checker {
    /// The files of the platinum sink must have the last version of each record that the hub counts as delivered, and no line twice.
    ///
    /// The files have no epochs. If the store was put back, a line may be there once for each past, and the last line of a record
    /// need not be the hub's last version.
    mutating func judgeArchive() {
        struct Line: Hashable {
            var identity: Identity
            var step: Step
            var seq: Int64
        }
        let name = PlatinumPlugins.sink
        guard evidence.last?.sinks.contains(where: { $0.name == "\(name)/files" }) == true else { return }
        let pasts = 1 + evidence.takebacks.count
        var counts: [Line: Int] = [:]
        var last: [Identity: Line] = [:]
        for record in evidence.archive {
            let identity = Identity(device: record.source.device ?? "", key: record.key)
            guard let step = record.step else {
                find("\(name) has \(record), which was never given", identity)
                continue
            }
            let line = Line(identity: identity, step: step, seq: record.seq)
            counts[line, default: 0] += 1
            last[identity] = line
            if counts[line] == pasts + 1 {
                find("DOUBLED: \(name) has \(identity), sequence \(record.seq), more than \(pasts) times", identity)
            }
            if said[identity]?.contains(step) != true {
                find("\(name) has version \(Self.text([step])) of \(identity), which was never given", identity)
            }
        }
        for (identity, story) in stories.sorted(by: { $0.key.description < $1.key.description }) {
            guard let delivery = story.deliveries.first(where: { $0.sink == "\(name)/files" }) else {
                find("LOST: the hub has no delivery of \(identity) to \(name)", identity)
                continue
            }
            guard let step = versions[story.seq]?.step else { continue }  // Already a finding.
            let line = Line(identity: identity, step: step, seq: story.seq)
            let (isThere, isLast) = (counts[line] != nil, last[identity] == line)
            switch delivery.state {
            case "delivered" where isThere && (isLast || pasts > 1): break
            case "delivered":
                find("LOST: the hub counts \(identity) as delivered, but the files of \(name) lack it", identity)
            case "skipped" where step.isRetraction && (last[identity].map(\.step.isRetraction) ?? true || pasts > 1):
                break
            default: find("LOST: \(identity) is \(delivery.state) for \(name) (\(delivery.reason ?? ""))", identity)
            }
        }
    }
}
