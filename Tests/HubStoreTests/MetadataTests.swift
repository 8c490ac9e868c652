import GRDB
import HubProcess
import Samples
import Testing

@testable import HubStore

@Suite struct MetadataTests {
    @Test func `repeated metadata is stored once, and each record returns it byte for byte`() async throws {
        let folder = try TemporaryFolder()
        // Equal as strings, but not as bytes.
        let (watch, phone) = ("{\"device\":\"\u{E9}\"}", "{\"device\":\"e\u{301}\"}")
        let long = #"{"a":""# + String(repeating: "x", count: 1_100) + #""}"#
        let texts = [watch, watch, phone, long, watch, long, phone, "{}", "{}"]
        let samples = try texts.indices.map { index in
            var sample = try sample("\(index)")
            sample.metadata = JSONObject(texts[index])
            return sample
        }
        var store = try folder.open()
        _ = try await store.put(samples.map { .sample($0) })
        try store.close()
        store = try folder.open()
        #expect(try await store.put(samples.map { .sample($0) }).allSatisfy { $0.code == nil && $0.placement == nil })
        let found = try await store.all(RecordQuery()).records.map { stored in
            (stored.record.sample?.metadata?.text.utf8).map { Array($0) }
        }
        #expect(found == texts.map { Array($0.utf8) })
        let shared = try await store.pool.read { db in
            try Int64.fetchAll(db, sql: "SELECT number FROM sample WHERE shared_metadata IS NOT NULL")
        }
        #expect(shared == [2, 5, 7, 9])
        let words = try await store.pool.read { db in
            try Int64.fetchOne(db, sql: "SELECT count(*) FROM term WHERE text LIKE '{%'")
        }
        #expect(words == 3)
        var query = RecordQuery()
        query.condition = RecordQuery.Where(.metadata("device", .present), as: "with a device")
        #expect(try await store.all(query).records.map(\.number) == [1, 2, 3, 5, 7])
    }
}
