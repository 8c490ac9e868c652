import Foundation
import HubProcess
import PluginKit
import Testing

@Suite struct `The spool` {
    let directory: TemporaryFolder
    init() throws { directory = try TemporaryFolder() }

    private func limits(_ change: (inout PluginState.Limits) -> Void) -> PluginState.Limits {
        var limits = PluginState.Limits()
        change(&limits)
        return limits
    }

    @Test func `it takes exactly as many records as its limit, and none of a call that would exceed it`() throws {
        let limits = limits { $0.records = 5 }
        var state = try PluginState(directory: directory.state, limits: limits)
        try state.spool([[record(1), record(1)], [record(1)]])
        #expect(failure { try state.spool([[record(1)], [record(1), record(1)]]) }?.code == .full)
        #expect(try state.counters().spooled == 3)
        try state.spool([[record(1), record(1)]])
        try state.close()

        state = try PluginState(directory: directory.state, limits: limits)
        #expect(failure { try state.spool([[record(1)]]) }?.code == .full)
        #expect(try state.counters().pending == 5)
        try state.remove(upTo: 1, as: .stored)
        try state.spool([[record(1)]])
        #expect(try state.nextBatch(maximumRecords: 10, maximumBytes: 100).map(\.id) == [2, 3, 4, 5, 6])
    }

    @Test func `it takes exactly as many bytes as its limit`() throws {
        let state = try PluginState(directory: directory.state, limits: limits { $0.bytes = 100 })
        try state.spool([[record(60)]])
        #expect(failure { try state.spool([[record(41)]]) }?.code == .full)
        try state.spool([[record(40)]])
        #expect(failure { try state.spool([[record(1)]]) }?.code == .full)
        #expect(try state.counters().pendingBytes == 100)
        try state.remove([2], as: .duplicate)
        try state.spool([[record(40)]])
    }

    @Test func `the limit of every plugin is 100,000 records or 64 MiB`() throws {
        let limits = PluginState.Limits()
        #expect((limits.records, limits.bytes, limits.refusedRecords) == (100_000, 67_108_864, 10_000))
        let state = try PluginState(directory: directory.state)
        try state.spool(Array(repeating: [record(1)], count: 100_000))
        #expect(failure { try state.spool([[record(1)]]) }?.code == .full)
    }

    @Test func `after close the file contains no byte of removed records`() throws {
        let state = try PluginState(directory: directory.state)
        let needles = (0..<50).map { Array("needle-\($0)-".utf8) + record(600) }
        let ids = try state.spool(needles.map { [$0] })
        func found() throws -> Bool {
            try FileManager.default.contentsOfDirectory(atPath: directory.state).contains { file in
                FileManager.default.contents(atPath: directory.state + "/" + file)?.range(of: Data("needle-".utf8))
                    != nil
            }
        }
        #expect(try found())
        #expect(try state.remove(Array(ids), as: .stored) == 50)
        try state.close()
        #expect(try !found())
    }

    @Test func `a call that can never fit or has an empty group is invalid`() throws {
        let state = try PluginState(directory: directory.state, limits: limits { $0.records = 2 })
        for groups in [[[record(1), record(1), record(1)]], [[]], [[record(1)], [[]]]] {
            #expect(failure { try state.spool(groups) }?.code == .invalid)
        }
        #expect(try state.spool([]).isEmpty)
        #expect(try state.counters() == SpoolCounters())
    }

    @Test func `a batch contains whole groups in order, and the next continues after the last one`() throws {
        let state = try PluginState(directory: directory.state)
        try state.spool([[record(1)], [record(2), record(3)], [record(4), record(5), record(6)], [record(7)]])
        func ids(_ records: Int, _ bytes: Int, _ after: Int64 = 0) throws -> [Int64] {
            try state.nextBatch(maximumRecords: records, maximumBytes: bytes, after: after).map(\.id)
        }
        #expect(try ids(2, 1000) == [1])
        #expect(try ids(3, 1000) == [1, 2, 3])
        #expect(try ids(5, 1000) == [1, 2, 3])
        #expect(try ids(5, 1000, 3) == [4, 5, 6, 7])
        #expect(try ids(100, 6) == [1, 2, 3])
        #expect(try ids(100, 5) == [1])
        #expect(try ids(100, 1000, 7) == [])
        #expect(try ids(2, 1000, 3) == [4, 5, 6], "a group larger than a batch must not silently block the queue")
    }

    @Test func `some records of a batch can be removed while others stay`() throws {
        let state = try PluginState(directory: directory.state)
        try state.spool([[record(1)], [record(2)], [record(3)], [record(4)]])
        #expect(try state.remove([2, 99], as: .stored) == 1)
        #expect(try state.remove([2], as: .stored) == 0)
        #expect(try state.refuse([SpoolRefusal(id: 3, code: "unit", reason: "a\0b")], at: 7) == 1)
        #expect(try state.nextBatch(maximumRecords: 9, maximumBytes: 99).map(\.id) == [1, 4])
        let refused = try state.refused()
        #expect(refused.map(\.id) == [3])
        #expect(refused.first?.bytes == record(3))
        #expect((refused.first?.code, refused.first?.reason, refused.first?.time) == ("unit", "a␀b", 7))
    }

    @Test func `ids are never used twice even if the spool was emptied before a restart`() throws {
        var state = try PluginState(directory: directory.state)
        #expect(try state.spool([[record(1), record(1)]]) == 1..<3)
        try state.remove(upTo: 2, as: .stored)
        try state.close()
        state = try PluginState(directory: directory.state)
        #expect(try state.spool([[record(1)]]) == 3..<4)
    }

    @Test func `refused records beyond the limit are dropped by whole groups, oldest first, and counted`() throws {
        let state = try PluginState(directory: directory.state, limits: limits { $0.refusedRecords = 3 })
        try state.spool([[record(1), record(1)], [record(1)], [record(1)]])
        try state.refuse((1...4).map { SpoolRefusal(id: $0, code: "value", reason: "") }, at: 0)
        #expect(try state.refused().map(\.id) == [3, 4])
        let counters = try state.counters()
        #expect((counters.dropped, counters.refused, counters.pending) == (2, 2, 0))
        #expect(counters.isBalanced)
    }

    @Test func `requeued records keep their groups and are last`() throws {
        let state = try PluginState(directory: directory.state, limits: limits { $0.records = 5 })
        try state.spool([[record(1)], [record(2), record(3)], [record(4)]])
        try state.refuse((1...3).map { SpoolRefusal(id: $0, code: "type", reason: "") }, at: 0)
        try state.spool([[record(5)], [record(6)]])
        #expect(failure { try state.requeueRefused() }?.code == .full)
        #expect(try state.requeueRefused(upTo: 1) == 7..<8)
        try state.remove([5], as: .stored)
        #expect(try state.requeueRefused() == 8..<10)
        let waiting = try state.nextBatch(maximumRecords: 9, maximumBytes: 99)
        #expect(waiting.map(\.id) == [4, 6, 7, 8, 9])
        #expect(waiting.map(\.group) == [4, 6, 7, 8, 8])
        #expect(waiting.map(\.bytes.count) == [4, 6, 1, 2, 3])
        let counters = try state.counters()
        #expect((counters.requeued, counters.refused) == (3, 0))
        #expect(counters.isBalanced)
    }
}
