import HubProcess
import Platform
import PluginKit
import Testing

/// A simple model of `PluginState` in a few arrays.
private struct Model {
    struct Entry: Equatable {
        let id: Int64
        let group: Int64
        let bytes: [UInt8]
    }
    let limits: PluginState.Limits
    var (pending, refused): ([Entry], [Entry]) = ([], [])
    var counters: (spooled: Int64, stored: Int64, duplicate: Int64, dropped: Int64, cleared: Int64, requeued: Int64) =
        (0, 0, 0, 0, 0, 0)
    var lastID: Int64 = 0
    var values: [String: StateValue] = [:]

    init(limits: PluginState.Limits) { self.limits = limits }

    private static func size(_ entries: [Entry]) -> Int64 { entries.reduce(0) { $0 + Int64($1.bytes.count) } }

    private mutating func append(_ groups: [[[UInt8]]]) -> Bool {
        let new = groups.joined()
        guard pending.count + new.count <= limits.records,
            Self.size(pending) + new.reduce(0, { $0 + Int64($1.count) }) <= limits.bytes
        else { return false }
        for group in groups {
            let first = lastID + 1
            for bytes in group {
                lastID += 1
                pending.append(Entry(id: lastID, group: first, bytes: bytes))
            }
        }
        return true
    }

    mutating func spool(_ groups: [[[UInt8]]]) -> Bool {
        guard append(groups) else { return false }
        counters.spooled += Int64(groups.joined().count)
        return true
    }

    mutating func remove(_ isGone: (Int64) -> Bool, as removal: Removal) {
        let count = Int64(pending.count { isGone($0.id) })
        pending.removeAll { isGone($0.id) }
        if removal == .stored { counters.stored += count } else { counters.duplicate += count }
    }

    mutating func refuse(_ ids: Set<Int64>) {
        let moved = pending.filter { ids.contains($0.id) }
        pending.removeAll { ids.contains($0.id) }
        refused = (refused + moved).sorted { $0.id < $1.id }
        guard !moved.isEmpty else { return }
        while refused.count > limits.refusedRecords || Self.size(refused) > limits.refusedBytes {
            let group = refused[0].group
            counters.dropped += Int64(refused.count { $0.group == group })
            refused.removeAll { $0.group == group }
        }
    }

    mutating func clear(_ upTo: Int64) {
        counters.cleared += Int64(refused.count { $0.group <= upTo })
        refused.removeAll { $0.group <= upTo }
    }

    mutating func requeue(_ upTo: Int64) -> Bool {
        let taken = refused.filter { $0.group <= upTo }
        var groups: [[[UInt8]]] = []
        for (index, entry) in taken.enumerated() {
            if index > 0, taken[index - 1].group == entry.group {
                groups[groups.count - 1].append(entry.bytes)
            } else {
                groups.append([entry.bytes])
            }
        }
        guard append(groups) else { return false }
        refused.removeAll { $0.group <= upTo }
        counters.requeued += Int64(taken.count)
        return true
    }

    func batch(_ records: Int, _ bytes: Int, after: Int64) -> [Entry] {
        var batch: [Entry] = []
        let rest = pending.filter { $0.id > after }
        var start = 0
        while start < rest.count {
            let group = rest[start...].prefix { $0.group == rest[start].group }
            let grown = batch + group
            guard batch.isEmpty || (grown.count <= records && Self.size(grown) <= bytes) else { break }
            batch = grown
            start += group.count
        }
        return batch
    }
}

@Suite struct `State and spool follow their model` {
    @Test(arguments: 0..<6) func `after any calls and restarts`(_ run: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryFolder()
        var limits = PluginState.Limits()
        (limits.records, limits.bytes, limits.refusedRecords, limits.refusedBytes) = (40, 500, 12, 150)
        var model = Model(limits: limits)
        var state = try PluginState(directory: directory.state, limits: limits)
        for step in 0..<200 {
            let context: Comment = "seed \(seed), step \(step)"
            let range = 1...(model.lastID + 2)
            let id = Int64.random(in: range, using: &random)
            let ids = Set((0..<8).map { _ in Int64.random(in: range, using: &random) })
            switch Int.random(in: 0..<11, using: &random) {
            case 0...3:
                let groups = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                    (0..<Int.random(in: 1...4, using: &random)).map { _ in
                        record(.random(in: 1...30, using: &random), .random(in: 0 ... .max, using: &random))
                    }
                }
                let error = failure { try state.spool(groups) }
                #expect(error?.code == (model.spool(groups) ? nil : .full), context)
            case 4:
                try state.remove(Array(ids), as: .stored)
                model.remove(ids.contains, as: .stored)
            case 5:
                try state.remove(upTo: id, as: .duplicate)
                model.remove({ $0 <= id }, as: .duplicate)
            case 6:
                try state.refuse(ids.map { SpoolRefusal(id: $0, code: "c", reason: "r") }, at: 1)
                model.refuse(ids)
            case 7:
                if Bool.random(using: &random) {
                    try state.clearRefused(upTo: id)
                    model.clear(id)
                } else {
                    let error = failure { try state.requeueRefused(upTo: id) }
                    #expect(error?.code == (model.requeue(id) ? nil : .full), context)
                }
            case 8:
                let values: [StateValue?] = [.text("t\(id)"), .integer(id), .bytes(record(3)), nil]
                let value = values[Int.random(in: 0..<4, using: &random)]
                try state.set("k\(id % 5)", to: value)
                model.values["k\(id % 5)"] = value
            case 9:
                // A transaction that fails at its end has no effect.
                let error = failure {
                    try state.transaction { t in
                        try t.set("k1", to: .integer(-1))
                        try t.remove(ids, as: .stored)
                        _ = try t.text("k1")
                    }
                }
                #expect(error?.code == .invalid, context)
            default:
                try state.close()
                state = try PluginState(directory: directory.state, limits: limits)
            }
            try compare(state, model, &random, context)
        }
    }

    private func compare(_ state: PluginState, _ model: Model, _ random: inout SeededGenerator, _ context: Comment)
        throws
    {
        let counters = try state.counters()
        #expect(counters.isBalanced, context)
        #expect(counters.pending == Int64(model.pending.count), context)
        #expect(counters.refused == Int64(model.refused.count), context)
        #expect(
            (
                counters.spooled, counters.stored, counters.duplicate, counters.dropped, counters.cleared,
                counters.requeued
            )
                == model.counters, context)
        let (records, bytes) = (Int.random(in: 1...20, using: &random), Int.random(in: 1...300, using: &random))
        let after = Int64.random(in: 0...model.lastID, using: &random)
        // A batch begins after the end of a group, where another batch ended.
        let start = model.pending.last { $0.id <= after }.map { last in
            model.pending.last { $0.group == last.group }?.id ?? 0
        }
        let batch = try state.nextBatch(maximumRecords: records, maximumBytes: bytes, after: start ?? 0)
        #expect(
            batch.map { Model.Entry(id: $0.id, group: $0.group, bytes: $0.bytes) }
                == model.batch(records, bytes, after: start ?? 0), context)
        #expect(
            try state.refused().map { Model.Entry(id: $0.id, group: $0.group, bytes: $0.bytes) } == model.refused,
            context)
        for key in 0..<5 {
            #expect(try state.transaction { t in try t.value("k\(key)") } == model.values["k\(key)"], context)
        }
    }
}
