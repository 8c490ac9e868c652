import Foundation
import HubWire
import PluginKit
import Samples
import Testing

@testable import HubCommand

/// The results that the hub gets from a sink's program.
@Suite(.timeLimit(.minutes(1))) struct LineSinkTests {
    private static func record(_ number: Int64) throws -> DeliveredRecord {
        let sample = try Sample(
            source: Source(plugin: "scale"), key: #require(RecordKey("key-\(number)")), type: .weight,
            value: .quantity(70, unit: "kg"), start: Timestamp(microseconds: 1_700_000_000_000_000 + number))
        let stored = StoredRecord(
            record: .sample(sample), number: number, sequence: number,
            assignment: .person(Person(uid: "6f1c2a9e5b7d4c30", name: "me")), type: .weight)
        return DeliveredRecord(stored, epoch: "k7qz2m5a", json: "{}")
    }

    /// Delivers two records, answers them, and returns the waits of the retries.
    private static func waits(
        _ sink: LineSink, _ lines: LineReader, first: Int, _ answers: String...
    ) async throws -> [Int64] {
        let records = [try record(1), try record(2)]
        async let results = sink.deliver(records)
        var seen = 0
        while seen < 2 { seen += await lines.next()?.count ?? 2 }
        for (number, answer) in zip(first..., answers) {
            let line = Array("{\"delivery\":\(number),\"result\":\(answer)}".utf8)
            #expect(sink.answer(RawJSON(trusted: line), line: 1) == nil)
        }
        return await results.compactMap { if case .retry(let after, _) = $0 { after } else { nil } }
    }

    @Test func `R14.20 records answered later without a time wait longer each time, until a record is delivered`()
        async throws
    {
        let pipe = Pipe()
        let lines = LineReader(pipe.fileHandleForReading.fileDescriptor)
        let sink = LineSink(LineWriter(pipe.fileHandleForWriting.fileDescriptor))
        let later = #""later""#
        for round in 0..<16 {
            let seconds = min(1 << round, 3_600)
            let waits = try await Self.waits(sink, lines, first: 1 + 2 * round, later, later)
            #expect(waits.count == 2 && waits.first == waits.last, "all records of a batch wait equally long")
            #expect(waits.allSatisfy { (Int64(seconds * 800)...Int64(seconds * 1_200)).contains($0) }, "\(waits)")
        }
        #expect(try await Self.waits(sink, lines, first: 33, later + #","after":5000"#, #""delivered""#) == [5_000])
        let waits = try await Self.waits(sink, lines, first: 35, later, later)
        #expect(waits.allSatisfy { (800...1_200).contains($0) }, "\(waits)")
        withExtendedLifetime(pipe) {}
    }
}
