import TortureDiary

/// The content of the store, as a follower of the feed has seen it.
struct FeedPicture {
    struct Version: Hashable {
        var epoch: String
        var seq: Int64
        var step: Step
    }

    /// The newest version of each record since the follower last began again.
    private(set) var newest: [Identity: Version] = [:]
    private(set) var faults: [String] = []

    init(_ lines: [FeedLine]) {
        var shown: Set<Int64> = []
        var epoch: String?
        for line in lines {
            switch line.event {
            case .restored:
                newest = [:]
                (shown, epoch) = ([], nil)
            case .failed(let why): faults.append("the follower of the feed failed: \(why)")
            case .away, .back: break
            case .record(let itsEpoch, let record):
                let identity = Identity(device: record.source.device ?? "", key: record.key)
                guard let step = record.step else {
                    faults.append("the follower got \(record), which was never given")
                    continue
                }
                if let epoch, epoch != itsEpoch {
                    faults.append(
                        "the epoch became \(itsEpoch), was \(epoch), but the follower was not asked to begin again")
                }
                epoch = itsEpoch
                if !shown.insert(record.seq).inserted {
                    faults.append("DOUBLED: the follower got \(identity), sequence \(record.seq), twice")
                } else if let before = newest[identity], before.seq > record.seq {
                    faults.append("the follower got \(identity), sequence \(record.seq), after \(before.seq)")
                }
                newest[identity] = Version(epoch: itsEpoch, seq: record.seq, step: step)
            }
        }
    }

    /// The differences between this picture and the store.
    func differences(from stories: [Story]) -> [(identity: Identity, text: String)] {
        var left = newest
        var found: [(identity: Identity, text: String)] = []
        for story in stories {
            guard let last = story.versions.first(where: { $0.record.seq == story.seq })?.record else { continue }
            let identity = Identity(device: last.source.device ?? "", key: last.key)
            let seen = left.removeValue(forKey: identity)
            if seen?.seq != story.seq || seen?.step != last.step {
                let what = seen.map { "sequence \($0.seq), version \(Checker.text([$0.step]))" } ?? "nothing"
                found.append(
                    (identity, "LOST: the follower has \(what) of \(identity), which is at sequence \(story.seq)"))
            }
        }
        for (identity, seen) in left.sorted(by: { $0.key.description < $1.key.description }) {
            found.append(
                (
                    identity,
                    "the follower has \(identity), sequence \(seen.seq), which the store lacks, and got no notice"
                ))
        }
        return found
    }
}

extension Story.Record {
    /// The step as its source gave it; `nil` if no source can have given it.
    var step: Step? {
        let isRetraction = kind == "retraction"
        return (isRetraction ? reason.flatMap { Int($0) } : value.map { Int($0) }).map {
            Step(key: key, version: $0, isRetraction: isRetraction)
        }
    }
}

extension Checker {
    /// A follower must see every record as it is, each version once and in order, and begin again if the store was put back.
    mutating func judgeFollower() {
        guard !evidence.follower.isEmpty else { return }
        let picture = FeedPicture(evidence.follower)
        for fault in picture.faults { find(fault) }
        for (identity, text) in picture.differences(from: evidence.stories) { find(text, identity) }
    }
}
