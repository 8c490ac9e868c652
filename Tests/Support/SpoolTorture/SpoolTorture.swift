// The program that tests of `PluginState` kill: several threads spool groups and drain the spool, and each confirmed group is
// printed to stdout. `hold` instead opens the state and waits for the end of stdin.

import Foundation
import PluginKit

@main
struct SpoolTorture {
    static let producers = 3
    /// The pretended hub refuses groups whose number is a multiple of this.
    static let refusedEvery: Int64 = 17

    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, ["hold", "spool"].contains(arguments[1]) else {
            say("usage: spool-torture hold|spool DIRECTORY")
            exit(64)
        }
        let state = try PluginState(directory: arguments[2])
        if arguments[1] == "hold" {
            say("held")
            _ = FileHandle.standardInput.availableData
            return try state.close()
        }
        for producer in 0..<producers {
            Thread.detachNewThread {
                do {
                    try produce(producer, into: state)
                } catch {
                    say("failed \(error)")
                    exit(1)
                }
            }
        }
        while true { pause() }
    }

    /// Spools one group after another, each with its number as a cursor in the same transaction, and drains some of them.
    static func produce(_ producer: Int, into state: PluginState) throws {
        var number = try state.integer("sent.\(producer)") ?? 0
        while true {
            number += 1
            let (this, size) = (number, 1 + number % 3)
            let group = (0..<size).map { Array("\(producer) \(this) \($0) \(size)".utf8) }
            try state.transaction { t in
                try t.spool([group])
                try t.set("sent.\(producer)", to: .integer(this))
            }
            say("\(producer) \(this)")
            if number % 2 == 0 { try state.transaction { t in try drain(t) } }
        }
    }

    /// Removes records as a client does after a STORED answer, and notes the last group of each producer in the same transaction.
    static func drain(_ t: borrowing PluginState.Transaction) throws {
        var (stored, refused): ([Int64], [SpoolRefusal]) = ([], [])
        for record in try t.nextBatch(maximumRecords: 8, maximumBytes: 1000) {
            let fields = String(decoding: record.bytes, as: UTF8.self).split(separator: " ")
            guard let number = Int64(fields[1]) else { preconditionFailure("not a record of this program") }
            if number % refusedEvery == 0 {
                refused.append(SpoolRefusal(id: record.id, code: "value", reason: "every \(refusedEvery)th"))
            } else {
                stored.append(record.id)
            }
            try t.set("done.\(fields[0])", to: .integer(number))
        }
        try t.remove(stored, as: .stored)
        try t.refuse(refused, at: 1)
    }

    /// Prints a line without buffering, because it must survive a kill of the process.
    static func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
}
