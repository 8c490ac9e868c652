import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Samples
import Testing

@testable import HubCommand

/// The records that a type selects, through each interface.
@Suite(.timeLimit(.minutes(1))) struct SelectionTests {
    private static let weights = ["a", "b", "c"].map { key in
        #"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"\#(key)"}"#
    }
    /// Its source says that it was not measured; it is selected like any other record, with its provenance.
    private static let filled =
        #"{"type":"weight","value":71,"unit":"kg","start":"2026-03-02T07:30:05+01:00","key":"d","provenance":{"kind":"filled","method":"mean","basis":["a"]}}"#
    private static let days = [
        #"{"kind":"day","type":"weight","value":71.3,"unit":"kg","series":"test-pub:mean","date":"2026-03-01","method":"mean","basis":[],"person":"me"}"#,
        #"{"kind":"day","type":"weight","value":71.3,"unit":"kg","series":"test-pub:mean","date":"2026-03-02","method":"carried","observedOn":"2026-03-01","age":1,"basis":[],"person":"me"}"#,
        #"{"kind":"day","type":"weight","value":71.3,"unit":"kg","series":"test-pub:mean","date":"2026-03-03","method":"carried","observedOn":"2026-03-01","age":2,"basis":[],"person":"me"}"#,
    ]
    private static let retractions = [
        #"{"kind":"retraction","key":"b"}"#,
        #"{"kind":"retraction","type":"weight","person":"me","series":"test-pub:mean","date":"2026-03-03"}"#,
    ]

    /// The records that are present at the end, by key or date.
    private struct Standing {
        private var names: [Int64: String] = [:]
        private var decoder = StoredRecordDecoder()

        var sorted: [String] { names.values.sorted() }

        mutating func add(_ bytes: some Sequence<UInt8>) throws {
            let stored = try Array(bytes).withUnsafeBytes { try decoder.record($0) }
            switch stored.record {
            case .sample(let sample): names[stored.number] = sample.key.text
            case .day(let day): names[stored.number] = day.date.text
            case .retraction: names[stored.number] = nil
            }
        }
    }

    @Test
    func `R8.35 the feed, QUERY, WANT and hub samples select the same records of a type, and days only with that kind`()
        async throws
    {
        let hub = try await TestHub()
        let (samples, days) = try await blocking {
            // Subscriptions are processed in order: once the last one is active, all are.
            let follower = try FeedFollower(
                feed: hub.endpoints.feed,
                prefixes: ["sample/weight/", "day/weight/", "retraction/weight/", "sample/stepCount/"])
            var marks = 0
            func isHeard() throws -> Bool {
                marks += 1
                try hub.give([
                    #"{"type":"stepCount","value":1,"unit":"count","start":"2026-03-01T07:30:05Z","key":"\#(marks)"}"#
                ])
                if case .message? = try follower.next(upTo: .milliseconds(50)) { return true }
                return false
            }
            while try !isHeard() {}
            try hub.give(Self.weights + [Self.filled] + Self.days)
            try hub.give(Self.retractions)
            var (samples, days) = (Standing(), Standing())
            var left = Self.weights.count + 1 + Self.days.count + Self.retractions.count
            while left > 0 {
                guard let event = try follower.next(upTo: .seconds(30)) else {
                    throw Failure(.dialogue, "\(left) messages are missing")
                }
                guard case .message(let topic, _, let body) = event else { continue }
                switch topic.segments[0...1] {
                case ["sample", "weight"]: try samples.add(body)
                case ["day", "weight"]: try days.add(body)
                case ["retraction", "weight"]:
                    try samples.add(body)
                    try days.add(body)
                default: continue
                }
                left -= 1
            }
            return (samples.sorted, days.sorted)
        }
        #expect(samples == ["a", "c", "d"])
        #expect(days == ["2026-03-01", "2026-03-02"])

        for (kinds, expected) in [(nil, samples), ([.day], days)] as [([RecordKind]?, [String])] {
            for since in [false, true] {
                #expect(try await query(hub, kinds, since: since) == expected, "since \(since)")
            }
            #expect(try await want(hub, kinds) == expected)
        }
        let listed = try await hub.run(["samples", "weight", "--json"])
        var standing = Standing()
        for line in listed.output.split(separator: "\n") { try standing.add(line.utf8) }
        #expect(standing.sorted == samples)
    }

    private func query(_ hub: TestHub, _ kinds: [RecordKind]?, since: Bool) async throws -> [String] {
        try await blocking {
            let door = try DoorClient(endpoint: hub.endpoints.door, command: "test")
            var filter = QueryRequest.Filter()
            (filter.types, filter.kinds) = (["weight"], kinds)
            let beginning = Cursor(epoch: try door.open().epoch, sequence: 0)
            var standing = Standing()
            try door.pages(QueryRequest(id: 0, filter: filter, since: since ? beginning : nil)) { records, _ in
                for record in records { try standing.add(record) }
            }
            return standing.sorted
        }
    }

    /// The records that a new sink gets in one pass from the beginning.
    private func want(_ hub: TestHub, _ kinds: [RecordKind]?) async throws -> [String] {
        try await blocking {
            let name = kinds == nil ? "samples" : "days"
            let door = try DoorClient(endpoint: hub.endpoints.door, command: "test", source: "sink-\(name)")
            try door.open()
            let credit = Credit(records: 100, bytes: 1_048_576)
            try door.send(
                .want(WantRequest(want: name, types: ["weight"], kinds: kinds, start: .beginning, credit: credit)))
            var standing = Standing()
            while let message = try door.receive(ref: nil, within: .seconds(10)) {
                switch message {
                case .deliver(let delivery):
                    for record in delivery.records { try standing.add(record) }
                    try door.send(
                        .done(
                            DeliveryReport(
                                want: name, delivery: delivery.delivery,
                                results: delivery.records.map { _ in .delivered }, credit: delivery.cost)))
                case .want(let answer) where answer.isCaughtUp: return standing.sorted
                default: continue
                }
            }
            throw Failure(.dialogue, "the hub did not report that everything is delivered")
        }
    }

    @Test func `a follower of the inbox that catches up ends with the same state as one that was connected`()
        async throws
    {
        let hub = try await TestHub("[person.me]\n[person.you]\n")
        func frames(_ arguments: [String]) throws -> ChildProcess {
            try hub.start(["tap", "hub/inbox/", "--frames"] + arguments)
        }
        let live = try frames(["--count", "6", "--since", "0"])
        func weight(_ key: String) -> String {
            #"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"\#(key)"}"#
        }
        try hub.give([weight("a")])
        try hub.give([weight("b")])
        try hub.give([weight("c")])
        try hub.give([weight("d")])
        try await live.line { $0.contains("\"seq\":4") }
        try hub.give([#"{"kind":"retraction","key":"a"}"#])
        #expect(try await hub.run(["assign", "2", "--to", "you"]).code == 0)
        func last(_ program: ChildProcess) async throws -> [Int: String] {
            var last: [Int: String] = [:]
            for line in await program.result().output.split(separator: "\n") {
                let message = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                #expect(message["topic"] as? String == "hub/inbox/")
                let body = try #require(message["body"] as? [String: Any])
                let (number, key) = (body["number"] as? Int, body["key"] as? String)
                last[try #require(number)] = "\(body["kind"] as? String ?? "") \(key ?? "")"
            }
            return last
        }
        let expected: [Int: String] = [1: "retraction a", 2: "retraction b", 3: "quantity c", 4: "quantity d"]
        #expect(try await last(live) == expected)
        #expect(try await last(try frames(["--count", "4", "--since", "0"])) == expected)
    }

    @Test
    func `hub samples --since gives new and retracted records, those that no longer match, and the next cursor`()
        async throws
    {
        let hub = try await TestHub()
        @Sendable func weight(_ key: String, _ value: Int) -> String {
            #"{"type":"weight","value":\#(value),"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"\#(key)"}"#
        }
        /// The number and value of each matching record, the number of each that has gone, in order of arrival; and the
        /// cursor.
        func changes(_ since: String) async throws -> (lines: [String], cursor: String) {
            let result = try await hub.succeed([
                "samples", "weight", "--where", "value > 80kg", "--since", since, "--json",
            ])
            var lines: [String] = []
            for line in result.output.split(separator: "\n") {
                let record = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                if let cursor = record["cursor"] as? String { return (lines, cursor) }
                let value = (record["value"] as? Int).map { "\($0)" } ?? "gone"
                lines.append("\(record["number"] as? Int ?? 0) \(value)")
            }
            return (lines, "none")
        }
        try await blocking { try hub.give([weight("a", 81), weight("b", 82), weight("c", 83)]) }
        let first = try await changes("0")
        #expect(first.lines == ["1 81", "2 82", "3 83"])
        let same = try await changes(first.cursor)
        #expect(same.lines.isEmpty && same.cursor == first.cursor)
        try await blocking {
            try hub.give([weight("a", 79), weight("d", 84), weight("e", 50), #"{"kind":"retraction","key":"b"}"#])
        }
        let second = try await changes(first.cursor)
        #expect(second.lines == ["1 gone", "5 84", "2 gone"], "a record that the selection never had is not reported")
        try await blocking { try hub.give([weight("e", 51), weight("a", 85)]) }
        let third = try await changes(second.cursor)
        #expect(third.lines == ["6 gone", "1 85"])
        let text = try await hub.run(["samples", "weight", "--since", third.cursor])
        #expect(text.code == 0 && text.output.isEmpty)
        #expect(text.errors == "nothing has changed\ngo on with --since \(third.cursor)\n")
        try await hub.expect(["samples", "weight", "--since", "aaaaaaaa-1"], .usage, errors: "begin with --since 0")
    }
}
