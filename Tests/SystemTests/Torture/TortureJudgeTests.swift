import Testing
import TortureDiary

@testable import hub_torture

/// Proves that the judge finds each kind of loss and doubling, because a judge that never finds anything proves nothing.
@Suite struct TortureJudgeTests: JudgeSuite {
    static let key = "1700000000-s"

    static func step(_ version: Int, retraction: Bool = false) -> Step {
        Step(key: key, version: version, isRetraction: retraction)
    }

    static func got(_ seq: Int64, _ step: Step) -> SinkLine.Got {
        SinkLine.Got(epoch: "e", number: 1, seq: seq, device: "source", step: step, type: "stepCount")
    }

    static func source(_ event: SourceLine.Event, at: Int64, _ operation: Int64 = 0, _ steps: [Step] = []) -> SourceLine
    {
        var line = SourceLine(event, operation: operation, steps: steps.isEmpty ? nil : steps)
        line.at = at
        return line
    }

    static func handover(_ number: Int, at: Int64, _ got: SinkLine.Got, _ result: SinkLine.Answer.Result) -> [SinkLine]
    {
        var begin = SinkLine(.begin, pid: 1, delivery: number, records: [got])
        var end = SinkLine(.end, pid: 1, delivery: number, answers: [.init(result, "why")])
        (begin.at, end.at) = (at, at + 10)
        return [begin, end]
    }

    static func record(_ seq: Int64, value: Double?) -> Story.Version {
        Story.Version(
            record: Story.Record(
                kind: value == nil ? "retraction" : "quantity", type: "stepCount", key: key,
                source: .init(device: "source"), value: value, reason: value == nil ? "2" : nil, seq: seq))
    }

    static func account(_ delivered: Int64, _ refused: Int64 = 0, cursor: String = "e-2") -> StatusSample {
        StatusSample(
            epoch: "e", head: 2,
            accounts: [
                .init(
                    instance: "source", received: 2, stored: 1, versions: 0, retractions: 1, duplicates: 0, rejected: 0)
            ],
            sinks: [
                .init(
                    name: "sink/all", wanted: 2, delivered: delivered, pending: 2 - delivered - refused, retrying: 0,
                    refused: refused, superseded: 0, skipped: 0, cursor: cursor)
            ])
    }

    /// The evidence of a record and its retraction, which were given, stored and delivered.
    static var good: Evidence {
        var evidence = Evidence()
        evidence.sources["source"] = [
            source(.giving, at: 100, 1, [step(1)]), source(.given, at: 110, 1),
            source(.giving, at: 200, 2, [step(2, retraction: true)]), source(.given, at: 210, 2),
            source(.finished, at: 300),
        ]
        evidence.sinks["sink"] = .init(
            lines: handover(1, at: 120, got(1, step(1)), .delivered)
                + handover(2, at: 220, got(2, step(2, retraction: true)), .delivered))
        evidence.stories = [
            Story(
                number: 1, seq: 2, versions: [record(1, value: 1), record(2, value: nil)],
                deliveries: [.init(sink: "sink/all", state: "delivered", seq: 2)])
        ]
        evidence.sightings = [Sighting(asked: 150, answered: 151, status: account(1, cursor: "e-1"))]
        evidence.last = account(2)
        return evidence
    }

    @Test func `good evidence has no findings`() {
        #expect(findings({ _ in }) == [])
    }

    @Test func `a confirmed record that is not in the store is lost, and the finding includes its story`() throws {
        let found = findings { $0.stories = [] }
        let text = try #require(found.first { $0.hasPrefix("LOST: source/\(Self.key) was confirmed") })
        #expect(text.contains("source: gives version 1, operation 1") && text.contains("sink: answers delivered"))
    }

    @Test func `a version that is missing, stored twice or never given is a finding`() {
        finds { $0.stories[0].versions.removeFirst() }
        finds { $0.stories[0].versions.insert(Self.record(3, value: 1), at: 1) }
        finds { $0.sources["source"]?.removeFirst(2) }
        finds { $0.stories.append($0.stories[0]) }
    }

    @Test func `a record that the hub counts as delivered and the sink never confirmed is lost`() {
        let found = findings { $0.sinks["sink"]?.lines.removeLast(2) }
        #expect(found.contains { $0.hasPrefix("LOST: the hub counts") })
    }

    @Test func `a delivery that never ends is lost`() {
        finds("LOST") { $0.stories[0].deliveries[0].state = "pending" }
        finds("LOST") { $0.stories[0].deliveries = [] }
    }

    @Test func `a retraction is not skipped if the target has the record`() {
        finds("LOST") { evidence in
            evidence.stories[0].deliveries[0].state = "skipped"
            evidence.sinks["sink"]?.lines.removeLast(2)
        }
        finds("LOST") { evidence in
            evidence.stories[0].deliveries[0].state = "skipped"
            evidence.sinks["sink"]?.lines.removeLast(3)
        }
    }

    @Test func `a refusal is recorded with its reason`() {
        func refused(_ reason: String) -> [String] {
            findings { evidence in
                evidence.sinks["sink"]?.lines[3].answers = [.init(.refused, "why")]
                evidence.stories[0].deliveries[0] = .init(sink: "sink/all", state: "refused", seq: 2, reason: reason)
                evidence.last = Self.account(1, 1)
            }
        }
        #expect(refused("why") == [])
        #expect(!refused("else").isEmpty)
    }

    @Test func `a version that comes again is doubled, unless there was a kill or a retry`() {
        func again(_ result: SinkLine.Answer.Result = .delivered, _ disturbances: [Disturbance] = []) -> [String] {
            findings { evidence in
                evidence.sinks["sink"]?.lines.insert(
                    contentsOf: Self.handover(3, at: 105, Self.got(1, Self.step(1)), result), at: 0)
                evidence.disturbances = disturbances
            }
        }
        #expect(again().contains { $0.hasPrefix("DOUBLED") })
        #expect(again(.retry) == [])
        #expect(again(.delivered, [Disturbance(at: 117, victim: "hub", what: "kill -9")]) == [])
        #expect(!again(.delivered, [Disturbance(at: 117, victim: "other", what: "kill -9")]).isEmpty)
        #expect(!again(.delivered, [Disturbance(at: 400, victim: "hub", what: "kill -9")]).isEmpty)
    }

    @Test func `a version that comes again after the hub has counted it is doubled even after a kill`() {
        let found = findings { evidence in
            evidence.sinks["sink"]?.lines.insert(
                contentsOf: Self.handover(3, at: 160, Self.got(1, Self.step(1)), .delivered), at: 2)
            evidence.disturbances = [Disturbance(at: 155, victim: "hub", what: "kill -9")]
        }
        #expect(found.contains { $0.contains("after the hub had counted it") })
    }

    @Test func `a sink gets no old version, no foreign record and no unwanted type`() {
        finds { $0.sinks["sink"]?.types = ["flightsClimbed"] }
        finds { $0.sinks["sink"]?.lines[0].records?[0].step.version = 7 }
        finds { $0.sinks["sink"]?.lines[0].records?[0].epoch = "f" }
        finds {
            $0.sinks["sink"]?.lines.append(contentsOf: Self.handover(4, at: 400, Self.got(1, Self.step(1)), .retry))
        }
    }

    @Test func `accounts that do not balance, go back or claim too much are findings`() {
        finds { $0.last?.accounts[0].received = 3 }
        finds { $0.last?.sinks[0].skipped = 1 }
        finds { $0.last?.sinks[0].wanted = 3 }
        finds { $0.sightings[0].status.head = 3 }
        finds { $0.sightings[0].status = Self.account(2) }
        finds { $0.sightings[0].status.epoch = "f" }
    }

    @Test func `an operation that was never confirmed, or was refused, is a finding`() {
        finds { $0.sources["source"]?.remove(at: 3) }
        finds { $0.sources["source"]?.removeLast() }
        finds { $0.sources["source"]?[1].answers = [.init(result: "value")] }
        finds { $0.sources["source"]?[1].answers = [.init(result: "stored", number: 1, seq: 2)] }
    }
}
