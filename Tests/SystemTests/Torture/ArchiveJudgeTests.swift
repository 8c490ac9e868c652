import Testing
import TortureDiary

@testable import hub_torture

/// The judge's findings about the two plugins that write no diary.
@Suite struct ArchiveJudgeTests: JudgeSuite {
    private static let reading = "2026-03-01T00:00:05+01:00"

    private static func record(_ key: String, _ seq: Int64, device: String?, value: Double?) -> Story.Record {
        Story.Record(
            kind: value == nil ? "retraction" : "quantity", type: Step.type(ofKey: key), key: key,
            source: .init(device: device), value: value, reason: value == nil ? "2" : nil, seq: seq)
    }

    /// The evidence of ``TortureJudgeTests/good``, with a reading of the platinum source, and all records in the files of the platinum sink.
    static var good: Evidence {
        var evidence = TortureJudgeTests.good
        evidence.readings = [reading]
        let read = record(reading, 3, device: nil, value: 1)
        evidence.stories[0].deliveries.append(.init(sink: "archive/files", state: "delivered", seq: 2))
        evidence.stories.append(
            Story(
                number: 3, seq: 3, versions: [.init(record: read)],
                deliveries: [
                    .init(sink: "archive/files", state: "delivered", seq: 3),
                    .init(sink: "sink/all", state: "delivered", seq: 3),
                ]))
        evidence.archive = [
            record(TortureJudgeTests.key, 1, device: "source", value: 1),
            record(TortureJudgeTests.key, 2, device: "source", value: nil), read,
        ]
        let got = SinkLine.Got(
            epoch: "e", number: 3, seq: 3, device: "", step: Step(key: reading, version: 1, isRetraction: false),
            type: "flightsClimbed")
        evidence.sinks["sink"]?.lines += TortureJudgeTests.handover(3, at: 250, got, .delivered)
        evidence.last?.head = 3
        evidence.last?.sinks[0].wanted = 3
        evidence.last?.sinks[0].delivered = 3
        evidence.last?.sinks.append(
            .init(
                name: "archive/files", wanted: 3, delivered: 3, pending: 0, retrying: 0, refused: 0, superseded: 0,
                skipped: 0, cursor: "e-3"))
        return evidence
    }

    @Test func `good evidence has no findings`() { #expect(findings { _ in } == []) }

    @Test func `a reading that the hub lacks is lost, even after a restore`() {
        let restore = Takeback(since: 0, until: 1_000, why: "restore", before: "e", after: "f")
        finds("LOST: /\(Self.reading)") { $0.stories.removeLast() }
        finds("LOST: /\(Self.reading)") {
            $0.stories.removeLast()
            $0.takebacks = [restore]
        }
    }

    @Test func `a stored reading that no program gave is a finding`() {
        finds("/\(Self.reading) is in the store") { $0.readings = [] }
    }

    @Test func `a delivered record is lost if the files lack it or have an older version last`() {
        finds("LOST: the hub counts /\(Self.reading)") { $0.archive.removeLast() }
        finds("LOST: the hub counts source/") { $0.archive.swapAt(0, 1) }
        finds("LOST: the hub has no delivery of /\(Self.reading)") { $0.stories[1].deliveries.removeFirst() }
        finds("LOST: /\(Self.reading) is pending") { $0.stories[1].deliveries[0].state = "pending" }
    }

    @Test func `a line that occurs twice is doubled, unless the store was put back`() {
        finds("DOUBLED: archive has /\(Self.reading)") { $0.archive.append($0.archive[2]) }
        let twice = findings {
            $0.archive.append($0.archive[2])
            $0.takebacks = [Takeback(since: 0, until: 1_000, why: "restore", before: "e", after: "e")]
        }
        #expect(!twice.contains { $0.hasPrefix("DOUBLED: archive") })
    }
}
