import HubProcess
import PluginKit
import Testing

@Suite struct FormatTests {
    @Test(arguments: OldFormat.withPluginState)
    func `a plugin's state of each format opens with its spooled records and values`(_ format: OldFormat) throws {
        let directory = try TemporaryFolder()
        try format.unpack(into: directory.path)
        let state = try PluginState(directory: directory.state)
        #expect(try state.text("cursor") == "c-17" && state.integer("polls") == 42)
        #expect(try state.bytes("bond") == [0, 1, 2, 255])
        let batch = try state.nextBatch(maximumRecords: 10, maximumBytes: 1_000)
        #expect(batch.map { String(decoding: $0.bytes, as: UTF8.self) } == ["two", "three", "five"])
        let refused = try state.refused()
        #expect(refused.map { String(decoding: $0.bytes, as: UTF8.self) } == ["four"])
        #expect(refused.map(\.reason) == ["weight is in kg"])
        let counters = try state.counters()
        #expect(counters.spooled == 5 && counters.stored == 1 && counters.pending == 3 && counters.refused == 1)
        // The state remains usable.
        try state.remove(batch.map(\.id), as: .stored)
        #expect(try state.spool([[Array("six".utf8)]]).lowerBound > batch.last?.id ?? .max)
        try state.close()
    }
}
