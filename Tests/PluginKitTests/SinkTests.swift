import HubWire
import PluginKit
import PluginTesting
import Samples
import Synchronization
import Testing

/// A sink whose work is a closure of the test.
struct ScriptedSink: SinkPlugin {
    static let manifest = Manifest(
        name: "scripted-sink", summary: "Runs a closure of the test.", version: "1.0", reads: ["*"],
        sink: SinkAbilities(takesDeletions: false, batchRecords: 10))

    typealias Work = @Sendable ([DeliveredRecord], Want, PluginContext) async throws -> [DeliveryResult]
    var subscriptions = [Want("all", start: .beginning)]
    var work: Work = { records, _, _ in records.map { _ in .delivered } }

    init() {}
    init(_ subscriptions: [Want] = [Want("all", start: .beginning)], _ work: @escaping Work) {
        (self.subscriptions, self.work) = (subscriptions, work)
    }

    func wants(_ hub: PluginContext) -> [Want] { subscriptions }
    func deliver(
        _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
    ) async throws -> [DeliveryResult] { try await work(records, want, hub) }
}

/// A plugin that is both a source and a sink.
private struct Mirror: SourcePlugin, SinkPlugin {
    static let manifest = Manifest(
        name: "mirror", summary: "Returns each delivered record.", version: "1.0", reads: ["*"], writes: ["weight"])

    func wants(_ hub: PluginContext) -> [Want] { [Want("all", start: .now)] }
    func run(_ hub: PluginContext) async throws {
        try await hub.give([try hub.sample(1)])
        await hub.untilStopped()
    }
    func deliver(_ records: [DeliveredRecord], for want: Want, _ hub: PluginContext) async throws -> [DeliveryResult] {
        try await hub.give([try hub.sample(Int(records[0].number))])
        return records.map { _ in .delivered }
    }
}

extension DeliveryResult {
    fileprivate var isRetry: Bool { if case .retry = self { true } else { false } }
}

extension Scene {
    /// Delivers records, and returns the sink's report.
    fileprivate func report(of range: ClosedRange<Int64>, to want: String = "all") async throws -> DeliveryReport {
        let place = try #require(await hub.deliver(try SinkTests.records(range), to: want))
        return try #require(await hub.report(of: place))
    }
}

@Suite(.timeLimit(.minutes(1))) struct SinkTests {
    static func record(_ number: Int64) throws -> StoredRecord {
        let sample = try Sample(
            source: Source(plugin: "scale"), key: #require(RecordKey("key-\(number)")), type: .weight,
            value: .quantity(70 + Double(number), unit: "kg"),
            start: Timestamp(microseconds: 1_700_000_000_000_000 + number, offsetMinutes: 60))
        return StoredRecord(
            record: .sample(sample), number: number, sequence: number,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .weight)
    }

    static func records(_ range: ClosedRange<Int64>) throws -> [StoredRecord] { try range.map(record) }

    @Test func `a sink's subscription is sent with its abilities, and its results are returned for each record`()
        async throws
    {
        let scene = try await Scene()
        let wants = [Want("all", types: ["weight"], persons: ["me"], account: "a", start: .beginning)]
        let seen = Mutex<[DeliveredRecord]>([])
        let run = PluginRun(
            ScriptedSink(wants) { records, want, _ in
                seen.withLock { $0 += records }
                return records.map { record in
                    switch record.number {
                    case 1: .delivered(receipt: "r1")
                    case 2: .retry(after: 60_000, reason: "later")
                    case 3: .refused(reason: "too old")
                    default: .unauthorized(reason: "log in")
                    }
                }
            }, at: scene.place)
        let request = try #require(await scene.hub.wants("all"))
        #expect(request.types == ["weight"] && request.persons == ["me"] && request.account == "a")
        #expect(request.start == .beginning && request.batch == 10 && !request.takes.deletions && request.takes.edits)
        let records = try Self.records(1...4)
        let place = try #require(await scene.hub.deliver(records, to: "all"))
        let report = try #require(await scene.hub.report(of: place))
        #expect(
            report.results == [
                .delivered(receipt: "r1"), .retry(after: 60_000, reason: "later"), .refused(reason: "too old"),
                .unauthorized(reason: "log in"),
            ])
        #expect(report.credit.records == 4 && report.pause == nil)
        #expect(seen.withLock { $0.map(\.stored) } == records)
        #expect(seen.withLock { $0[0].json.hasSuffix(#""number":1,"seq":1}"#) })
        try await scene.end(run)
    }

    @Test func `R10.3 R10.6 after a lost session the sink subscribes again, and an earlier answer is not sent`()
        async throws
    {
        let scene = try await Scene()
        let gate = Gate()
        let run = PluginRun(
            ScriptedSink { records, _, _ in
                await gate.wait()
                return records.map { _ in .delivered }
            }, at: scene.place)
        await scene.hub.wants("all")
        let first = try #require(await scene.hub.deliver(try Self.records(1...2), to: "all"))
        await gate.arrivals(1)
        await scene.hub.forgetSessions()
        await scene.hub.send(.error(SessionTable.helloFirst))
        await scene.hub.send(.ping(.emptyObject))
        await scene.hub.vanish()
        try await scene.hub.start()
        await scene.hub.wants("all", times: 2)
        let second = try #require(await scene.hub.deliver(try Self.records(1...2), to: "all"))
        await gate.open()
        #expect(await scene.hub.report(of: second)?.results == [.delivered, .delivered])
        #expect(await scene.hub.deliveries[first].report == nil)
        try await scene.end(run)
    }

    @Test func `R10.17 an error is a retry of all records, and the subscription pauses longer each time`() async throws
    {
        let scene = try await Scene()
        let run = PluginRun(
            ScriptedSink { records, _, _ in
                if records.count == 1 { throw DeliveryFailure.retry(after: .seconds(30), "it is full") }
                if records.count == 2 { throw DeliveryFailure.unauthorized("log in again") }
                if records.count == 3 { throw DeliveryFailure.refused("never") }
                if records.count == 5 { throw DeliveryFailure.retry(after: .seconds(Int64.max), "Retry-After says so") }
                throw CocoaLikeError()
            }, at: scene.place)
        await scene.hub.wants("all")
        var pauses: [Int64] = []
        for _ in 0..<3 {
            let report = try await scene.report(of: 1...4)
            for result in report.results { #expect(result == .retry(after: report.pause ?? 0, reason: "no route")) }
            pauses.append(report.pause ?? 0)
        }
        #expect((800...1_200).contains(pauses[0]) && (1_600...2_400).contains(pauses[1]))
        #expect((3_200...4_800).contains(pauses[2]))
        #expect(try await scene.report(of: 1...1).pause == 30_000)
        #expect(
            try await scene.report(of: 1...2).results == [
                .unauthorized(reason: "log in again"), .unauthorized(reason: "log in again"),
            ])
        #expect(try await scene.report(of: 1...3).results.first == .refused(reason: "never"))
        #expect(try await scene.report(of: 1...5).pause == DeliveryResult.retryBounds.upperBound)
        try await scene.end(run)
    }

    private struct CocoaLikeError: Error, CustomStringConvertible { let description = "no route" }

    @Test func `a wrong number of results is the plugin's error, and no record counts as delivered`() async throws {
        let scene = try await Scene()
        let run = PluginRun(ScriptedSink { _, _, _ in [.delivered] }, at: scene.place)
        await scene.hub.wants("all")
        let report = try await scene.report(of: 1...2)
        for result in report.results { #expect(result.isRetry, "\(result)") }
        try await scene.end(run)
    }

    @Test
    func `a sink works on one delivery at a time, and stopping finishes it without beginning another`() async throws {
        let scene = try await Scene()
        let gate = Gate()
        let run = PluginRun(
            ScriptedSink { records, _, hub in
                await gate.wait()
                while !hub.isStopping { await Task.yield() }
                return records.map { _ in .delivered }
            }, at: scene.place)
        await scene.hub.wants("all")
        let first = try #require(await scene.hub.deliver(try Self.records(1...2), to: "all"))
        let second = try #require(await scene.hub.deliver(try Self.records(3...4), to: "all"))
        await gate.arrivals(1)
        #expect(await gate.arrivals == 1)
        run.stop()
        await gate.open()
        #expect(await run.end() == .done)
        #expect(await scene.hub.deliveries[first].report?.results == [.delivered, .delivered])
        #expect(await scene.hub.deliveries[second].report == nil)
        #expect(await scene.hub.violations.isEmpty)
        #expect(await scene.hub.byes == 1)
    }

    @Test func `a plugin that is abandoned does not confirm records that it has not delivered`() async throws {
        let scene = try await Scene()
        let run = PluginRun(
            ScriptedSink { records, _, _ in
                try await Task.sleep(for: .seconds(3_600))
                return records.map { _ in .delivered }
            }, at: scene.place, stopLimit: .milliseconds(400))
        await scene.hub.wants("all")
        let place = try #require(await scene.hub.deliver(try Self.records(1...1), to: "all"))
        run.stop()
        _ = await run.end()
        for result in await scene.hub.deliveries[place].report?.results ?? [] { #expect(result.isRetry, "\(result)") }
    }

    @Test func `R10.21 in mode once a sink ends when all is delivered, as unfinished if records wait`() async throws {
        for (pending, exit) in [(0, PluginExit.done), (3, .unfinished)] {
            let scene = try await Scene()
            let run = PluginRun(ScriptedSink(), at: scene.place, mode: .once)
            await scene.hub.wants("all")
            #expect(try await scene.report(of: 1...2).results.count == 2)
            await scene.hub.reportCaughtUp(pending: Int64(pending))
            #expect(await run.end() == exit)
            #expect(await scene.hub.violations.isEmpty)
        }
    }

    @Test func `R10.10 a subscription that the hub refuses ends the plugin with the hub's reason`() async throws {
        let scene = try await Scene { $0.wantRefusal = WireError(.forbidden, "it may not read that") }
        let run = PluginRun(ScriptedSink(), at: scene.place)
        #expect(await run.end() == .refused)
        #expect(await scene.hub.events(1).last?.text?.contains("it may not read that") == true)
    }

    @Test func `invalid subscriptions are the author's error, reported before any request`() async throws {
        for wants in [[Want("a b", start: .now)], [Want("a", start: .now), Want("a", start: .now)]] {
            let scene = try await Scene()
            let run = PluginRun(ScriptedSink(wants) { _, _, _ in [] }, at: scene.place)
            #expect(await run.end() == .manifest)
            #expect(await scene.hub.wants.isEmpty)
        }
    }

    /// A sink whose subscriptions a test or the sink itself replaces.
    private struct ChangingSink: SinkPlugin {
        static let manifest = Manifest(
            name: "changing-sink", summary: "Changes its subscriptions.", version: "1.0", reads: ["*"],
            sink: SinkAbilities())

        final class Box: Sendable {
            let wants = Mutex<[Want]>([])
        }
        let box = Box()

        func wants(_ hub: PluginContext) -> [Want] { box.wants.withLock { $0 } }
        func deliver(
            _ records: [DeliveredRecord], for want: Want, _ hub: PluginContext
        ) async throws -> [DeliveryResult] {
            box.wants.withLock { $0 = [Want("b", start: .now), Want("c", start: .now)] }
            try await hub.renewWants()
            return records.map { _ in .delivered }
        }
        func run(_ hub: PluginContext) async throws {
            // There are none at first.
            box.wants.withLock { $0 = [Want("a", start: .now), Want("b", start: .now)] }
            try await hub.renewWants()
            await hub.untilStopped()
        }
    }

    @Test func `a sink that renews its subscriptions gets the new ones, and no deliveries of the removed ones`()
        async throws
    {
        let scene = try await Scene()
        let run = PluginRun(ChangingSink(), at: scene.place)
        await scene.hub.wants("a")
        await scene.hub.wants("b")
        #expect(try await scene.report(of: 1...1, to: "b").results == [.delivered])
        await scene.hub.wants("c")
        let left = try #require(await scene.hub.deliver(try Self.records(2...2), to: "a"))
        #expect(try await scene.report(of: 3...3, to: "c").results == [.delivered])
        #expect(await scene.hub.deliveries[left].report == nil)
        try await scene.end(run)
    }

    @Test func `a plugin may be both source and sink`() async throws {
        let scene = try await Scene()
        let run = PluginRun(Mirror(), at: scene.place)
        await scene.hub.records(1)
        await scene.hub.wants("all")
        #expect(try await scene.report(of: 7...7).results == [.delivered])
        #expect(await scene.hub.records(2).count == 2)
        try await scene.end(run)
    }
}
