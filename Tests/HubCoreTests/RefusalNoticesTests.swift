import HubWire
import Testing

@testable import HubCore

/// Reports about refused messages for the authors of programs.
@Suite struct RefusalNoticesTests {
    @Test func `R17.1 the owner gets the rejected records of a batch and each ERROR on the feed`() async throws {
        try await withHub { hub in
            let listener = try await Peer.listener(hub.hub.endpoints.feed, ["hub/plugin/"])
            let source = try await hub.client()
            let wrong = #"{"type":"weight","value":70,"unit":"bananas","start":"2024-03-15T07:00:00Z","key":"b"}"#
            var heard: Frames?
            // Repeats until the hub has received the subscription.
            for _ in 0..<100 where heard == nil {
                #expect(try await source.give([weight("a"), wrong]).results.last == "unit")
                heard = await listener.nextIfAny(within: .milliseconds(100))
            }
            let news = try #require(heard)
            #expect(news.topic == "hub/plugin/" && news.record["event"].string == "refused", "\(news)")
            #expect(news.record["instance"].string == "kitchen-script", "\(news)")
            let text = try #require(news.record["text"].string)
            #expect(text.hasPrefix("kitchen-script 1 of 2 records were rejected: records[1]: unit: "), "\(text)")
            let error = try await source.ask("SAMPLES", #"{"records":[]}"#)
            #expect(error.verb == "ERROR")
            var answer = try await listener.next()
            while answer.record["text"].string?.contains("rejected") == true { answer = try await listener.next() }
            #expect(
                answer.record["text"].string?.contains("was answered ERROR field: SAMPLES.batch") == true, "\(answer)")
        }
    }

    @Test
    func `R17.1 reports about a faulty program are rate limited, with the number of omitted ones`() {
        var news = RefusalNotices()
        let told = (0..<100).compactMap { _ in news.text("no", at: 0) }
        #expect(told.count == 20)
        #expect(news.text("no", at: 1_000) == "no (and 80 such answers before it)")
        #expect(RefusalNotices.words(WireError(.helloFirst, "say HELLO")) == nil)
        #expect(RefusalNotices.words(WireError(.store, "the disk is full")) == nil)
    }
}
