import Testing
import TortureDiary

@testable import hub_torture

/// A fault must not hide a planted error; only records that a restore or a disk has taken back may be missing.
@Suite struct FaultJudgeTests: JudgeSuite {
    private typealias Good = TortureJudgeTests

    static var good: Evidence { TortureJudgeTests.good }

    private static func trial(_ kind: StoreFault, words: [String] = [], patience: Int64? = nil) -> Trial {
        Trial(kind: kind.rawValue, applied: 90, lifted: 4_000, words: words, patience: patience)
    }

    /// The store was put back to its state at 115, and is in use again from 205 on.
    private static func takeBack(_ evidence: inout Evidence) {
        evidence.takebacks = [Takeback(since: 115, until: 205, why: "restore", before: "e", after: "f")]
        for (index, seq) in [(1, Int64(1)), (3, 2)] {
            evidence.sources["source"]?[index].answers = [.init(result: "stored", number: 1, seq: seq)]
        }
        evidence.last?.epoch = "f"
        // The retraction was given in between, and is missing.
        evidence.stories[0].versions.removeLast()
        (evidence.stories[0].seq, evidence.stories[0].deliveries[0].seq) = (1, 1)
        evidence.last?.accounts[0].received = 1
        evidence.last?.accounts[0].retractions = 0
        evidence.last?.sinks[0].wanted = 1
        evidence.last?.sinks[0].delivered = 1
        evidence.last?.head = 1
    }

    private static func shown(_ seq: Int64, value: Double?, epoch: String = "e", at: Int64 = 500) -> FeedLine {
        FeedLine(at: at, event: .record(epoch: epoch, TortureJudgeTests.record(seq, value: value).record))
    }

    @Test(arguments: StoreFault.allCases) func `no fault hides a loss, a double, or a wrong order`(_ kind: StoreFault) {
        func found(_ change: (inout Evidence) -> Void) -> [String] {
            findings { evidence in
                evidence.trials = [Self.trial(kind)]
                change(&evidence)
            }
        }
        #expect(found { _ in } == [])
        #expect(found { $0.stories = [] }.contains { $0.hasPrefix("LOST: source/") })
        #expect(found { $0.stories[0].deliveries[0].state = "pending" }.contains { $0.hasPrefix("LOST") })
        let again = Good.handover(3, at: 105, Good.got(1, Good.step(1)), .delivered)
        #expect(found { $0.sinks["sink"]?.lines.insert(contentsOf: again, at: 0) }.contains { $0.hasPrefix("DOUBLED") })
        let late = Good.handover(4, at: 400, Good.got(1, Good.step(1)), .retry)
        #expect(found { $0.sinks["sink"]?.lines += late }.contains { $0.contains("after 2") })
        #expect(found({ $0.last?.head = 1 }) != [])
    }

    @Test func `after a restore only records confirmed after the backup may be missing`() {
        func found(_ change: (inout Evidence) -> Void) -> [String] {
            findings { evidence in
                Self.takeBack(&evidence)
                change(&evidence)
            }
        }
        #expect(found { _ in } == [])
        #expect(!found { $0.takebacks = [] }.isEmpty)
        // Confirmed before the backup, so it must be there.
        #expect(found { $0.stories = [] }.contains { $0.hasPrefix("LOST: source/") })
        // Given after the restore, so it must be there.
        #expect(
            found { $0.sources["source"]?[2].at = 300 }.contains { $0.contains("has the versions 1, and was given") })
    }

    @Test func `a spool's record may be missing until the hub has confirmed it`() {
        func found(emptied at: Int64) -> [String] {
            findings { evidence in
                Self.takeBack(&evidence)
                var emptied = SourceLine(.emptied, operation: 2)
                emptied.at = at
                evidence.sources["source"]?[2].at = 10
                evidence.sources["source"]?[3].at = 12
                evidence.sources["source"]?[3].answers = nil
                evidence.sources["source"]?.insert(emptied, at: 4)
                evidence.sinks["sink"]?.lines.removeLast(2)
            }.filter { $0.contains("has the versions") }
        }
        #expect(found(emptied: 212) == [])
        #expect(!found(emptied: 50).isEmpty)
    }

    @Test func `a sink that does not get the new epoch is a finding`() {
        let found = findings { evidence in
            Self.takeBack(&evidence)
            evidence.sinks["sink"]?.lines += Good.handover(3, at: 60_000, Good.got(1, Good.step(1)), .delivered)
        }
        #expect(found.contains { $0.contains("got the epoch e") })
    }

    @Test func `a stopped sink may read deliveries of the old epoch late, but none of the current epoch`() {
        func found(epoch: String) -> [String] {
            findings { evidence in
                Self.takeBack(&evidence)
                var again = Good.got(1, Good.step(1))
                again.epoch = epoch
                // It has read the retraction when the store was already put back.
                evidence.sinks["sink"]?.lines += Good.handover(3, at: 400, again, .delivered)
            }.filter { $0.contains("after 2") }
        }
        #expect(found(epoch: "f") == [])
        #expect(!found(epoch: "e").isEmpty)
        // For the restored hub it was never delivered, so its retraction is skipped.
        func skipped(epoch: String) -> [String] {
            findings { evidence in
                evidence.takebacks = [Takeback(since: 90, until: 205, why: "restore", before: "e", after: "f")]
                var late = Good.got(1, Good.step(1))
                late.epoch = epoch
                evidence.sinks["sink"]?.lines = Good.handover(1, at: 400, late, .delivered)
                evidence.stories[0].deliveries[0].state = "skipped"
            }.filter { $0.contains("was skipped") }
        }
        #expect(skipped(epoch: "e") == [])
        #expect(!skipped(epoch: "f").isEmpty)
    }

    @Test func `a restored hub may know answers that a sink gave while the backup was taken`() {
        func skipped(_ change: (inout Evidence) -> Void) -> [String] {
            findings { evidence in
                evidence.takebacks = [Takeback(since: 200, until: 405, why: "restore", before: "e", after: "f")]
                evidence.stories[0].deliveries[0].state = "skipped"
                change(&evidence)
            }.filter { $0.contains("was skipped") }
        }
        // The sink has confirmed the retraction, so a later one of the same record has nothing to take back.
        #expect(skipped { _ in } == [])
        let unconfirmed = skipped { evidence in evidence.sinks["sink"]?.lines.removeLast(2) }
        #expect(!unconfirmed.isEmpty)
    }

    @Test func `a follower that misses a record, gets it twice or late, or does not learn of a loss is a finding`() {
        func found(_ lines: [FeedLine]) -> [String] { findings { $0.follower = lines } }
        let (first, second) = (Self.shown(1, value: 1), Self.shown(2, value: nil))
        #expect(found([first, second]) == [])
        #expect(found([second]) == [])
        #expect(found([first]).contains { $0.hasPrefix("LOST: the follower") })
        #expect(found([first, second, second]).contains { $0.hasPrefix("DOUBLED") })
        #expect(found([second, first]).contains { $0.contains("after 2") })
        #expect(
            found([first, second, FeedLine(at: 0, event: .failed("why"))]).contains {
                $0.contains("follower of the feed failed: why")
            })
        let restored = FeedLine(at: 600, event: .restored)
        #expect(found([first, second, restored]).contains { $0.hasPrefix("LOST: the follower") })
        #expect(found([first, second, restored, first, second]) == [])
        // The follower was shown the retraction, which the store has lost.
        func lost(_ lines: [FeedLine]) -> [String] {
            findings { evidence in
                Self.takeBack(&evidence)
                evidence.follower = lines
            }
        }
        #expect(!lost([first, second]).isEmpty)
        #expect(lost([first, second, restored, Self.shown(1, value: 1, epoch: "f")]) == [])
        #expect(!lost([first, second, Self.shown(1, value: 1, epoch: "f")]).isEmpty)
    }

    @Test func `a hub that confirms nothing and does not say why is a finding`() {
        func found(_ store: StatusSample.Store, said: [String] = []) -> [String] {
            findings { evidence in
                evidence.trials = [Self.trial(.fullDisk, words: ["full"], patience: 1_500)]
                evidence.sources["source-inside"] = evidence.sources.removeValue(forKey: "source")
                evidence.sources["source-inside"]?[3].at = 3_900
                var status = TortureJudgeTests.account(1, cursor: "e-1")
                status.store = store
                evidence.sightings = [Sighting(asked: 2_000, answered: 2_001, status: status)]
                evidence.lives = [Kept.Life(began: 0, ended: 9_000, code: 0, isByItself: false, said: said)]
            }.filter { $0.hasPrefix("SILENCE") }
        }
        #expect(!found(.init()).isEmpty)
        #expect(!found(.init(state: "hanging")).isEmpty)
        #expect(found(.init(state: "full")).isEmpty)
        #expect(found(.init(warning: "the disk is full")).isEmpty)
        #expect(found(.init(), said: ["hub: the disk is full"]).isEmpty)
    }

    @Test func `a hub that ends without a request and does not say why is a finding`() {
        func found(_ said: String, isByItself: Bool = true) -> [String] {
            findings { evidence in
                evidence.trials = [Self.trial(.readOnlyDisk, words: ["read-only"])]
                evidence.lives = [Kept.Life(began: 100, ended: 200, code: 71, isByItself: isByItself, said: [said])]
            }
        }
        #expect(found("a read-only file system") == [])
        #expect(found("what", isByItself: false) == [])
        #expect(found("what").contains { $0.contains("ended unexpectedly with 71") })
    }

    @Test func `a confirmation after the hub reported damage and before a person decided is a finding`() {
        func found(toldAt: Int64) -> [String] {
            findings { evidence in
                evidence.trials = [Self.trial(.damagedPage)]
                var status = TortureJudgeTests.account(1, cursor: "e-1")
                status.store.state = "corrupt"
                evidence.sightings = [Sighting(asked: toldAt, answered: toldAt, status: status)]
                evidence.sources["source"]?[3].answers = [.init(result: "stored", number: 1, seq: 2)]
            }
        }
        #expect(found(toldAt: 205) == [])
        #expect(found(toldAt: 150).contains { $0.contains("was confirmed after damage was reported") })
    }

    @Test func `a hub that takes a minute to confirm again is a finding`() {
        let found = findings { evidence in
            evidence.trials = [Trial(kind: "wire", applied: 90, lifted: 95)]
            for index in [1, 3] { evidence.sources["source"]?[index].answers = [] }
            for index in [1, 2, 3, 4] { evidence.sources["source"]?[index].at += 60_000 }
        }
        #expect(found.contains { $0.contains("confirmed nothing for") })
    }
}
