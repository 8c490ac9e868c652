import Foundation
import HubProcess
import Platform
import PluginKit
import Testing

@Suite struct `A killed plugin` {
    /// Number of kills; `PLUGIN_STATE_KILLS` sets another.
    static let kills = ProcessInfo.processInfo.environment["PLUGIN_STATE_KILLS"].flatMap { Int($0) } ?? 12

    @Test func `after kill -9 each confirmed record is stored once, and no group is incomplete`() throws {
        let directory = try TemporaryFolder()
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        var confirmed: [Int: Int64] = [:]
        for round in 1...Self.kills {
            let (process, output, _) = try tortureProcess("spool", directory.state)
            var remaining = Int.random(in: 1...150, using: &random)
            var text = Data()
            while remaining > 0 {
                let chunk = output.availableData
                try #require(
                    !chunk.isEmpty, "the program ended before it was killed: \(String(decoding: text, as: UTF8.self))")
                remaining -= chunk.count { $0 == UInt8(ascii: "\n") }
                text += chunk
            }
            kill(process.processIdentifier, SIGKILL)
            text += try output.readToEnd() ?? Data()
            process.waitUntilExit()
            for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ").compactMap { Int64($0) }
                try #require(fields.count == 2, "\(line)")
                confirmed[Int(fields[0])] = fields[1]
            }
            try check(directory.state, &confirmed, "seed \(seed), kill \(round)")
        }
    }

    private struct Group: Hashable {
        let producer: Int
        let number: Int64
    }

    private func check(_ path: String, _ confirmed: inout [Int: Int64], _ context: Comment) throws {
        let state = try PluginState(directory: path)
        let pending = try state.nextBatch(maximumRecords: .max, maximumBytes: .max)
        let refused = try state.refused(maximum: .max)
        let counters = try state.counters()
        let isWaiting = try groups(pending.map { ($0.group, $0.bytes) }, context)
        let isRefused = try groups(refused.map { ($0.group, $0.bytes) }, context)
        var (spooled, waiting): (Int64, Set<Group>) = (0, [])
        var rejected: Set<Group> = []
        for producer in 0..<3 {
            let sent = try state.integer("sent.\(producer)") ?? 0
            let done = try state.integer("done.\(producer)") ?? 0
            let told = confirmed[producer] ?? 0
            // One more group may have been committed without a confirmation before the kill.
            #expect(sent == told || sent == told + 1, context)
            confirmed[producer] = sent  // The next run of the program continues from here.
            for number in stride(from: Int64(1), through: sent, by: 1) {
                spooled += 1 + number % 3
                let group = Group(producer: producer, number: number)
                if number > done { waiting.insert(group) } else if number % 17 == 0 { rejected.insert(group) }
            }
        }
        #expect(isWaiting == waiting, context)
        #expect(isRefused == rejected, context)
        #expect(counters.spooled == spooled, context)
        #expect(counters.pending == Int64(pending.count), context)
        #expect(counters.refused == Int64(refused.count), context)
        #expect(counters.isBalanced, context)
        try state.close()
    }

    /// The groups that the records form; each must be complete and occur once.
    private func groups(_ records: [(group: Int64, bytes: [UInt8])], _ context: Comment) throws -> Set<Group> {
        var found: Set<Group> = []
        for members in Dictionary(grouping: records, by: \.group).values {
            let fields = members.map { String(decoding: $0.bytes, as: UTF8.self).split(separator: " ") }
            let first = try #require(fields.first.flatMap { Int($0[0]) })
            let group = Group(producer: first, number: try #require(Int64(fields[0][1])))
            #expect(fields.map { Int($0[2]) } == Array(0..<members.count), context)
            #expect(fields.allSatisfy { Int($0[3]) == members.count }, context)
            #expect(found.insert(group).inserted, context)
        }
        return found
    }

    @Test func `a directory in use is refused with the process that uses it, and is free after that process is killed`()
        throws
    {
        let directory = try TemporaryFolder()
        let (process, output, input) = try tortureProcess("hold", directory.state)
        #expect(String(decoding: output.availableData, as: UTF8.self) == "held\n")
        let refusal = failure { _ = try PluginState(directory: directory.state) }
        #expect(refusal?.code == .locked)
        #expect(refusal?.message.contains("process \(process.processIdentifier);") == true)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        try input.close()
        let state = try PluginState(directory: directory.state)
        try state.set("key", to: .integer(1))
        try state.close()
    }
}
