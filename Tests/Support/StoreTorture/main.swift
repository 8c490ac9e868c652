import Foundation
import HubStore
import HubWire
import Samples

// Commits records in an endless loop and prints `<index> <number>` for each record that was confirmed, until it is killed.
// Arguments: the store, the index of the first record, the records of a commit. With `sink` as the last argument it also delivers them,
// and prints `settled <number> <sequence>` for each delivery whose answer was confirmed.
guard [4, 5].contains(CommandLine.arguments.count), CommandLine.arguments.dropFirst(4).allSatisfy({ $0 == "sink" }),
    let first = Int(CommandLine.arguments[2]), let size = Int(CommandLine.arguments[3]), size > 0
else {
    FileHandle.standardError.write(
        Data("usage: store-torture <store> <first index> <records of a commit> [sink]\n".utf8))
    exit(64)
}

let type = try TypeID("weight")
let store = try Store(path: CommandLine.arguments[1], now: 0)
let owner = try await store.ensurePersons(["me"], recordedAt: 0)[0]
let courier = CommandLine.arguments.count == 5 ? try await ProcessChannel(store) : nil
var next = first
while true {
    let records = (next..<next + size).compactMap { index in
        RecordKey("k\(index)").map { key in
            IntakeRecord(
                record: .sample(
                    Sample(
                        source: Source(plugin: "torture"), key: key, type: type,
                        value: .quantity(Double(index) / 8, unit: "kg"),
                        start: Timestamp(microseconds: Int64(index) * 1_000_000, offsetMinutes: 60))),
                assignment: .person(owner))
        }
    }
    let results = try await store.commit([IntakeBatch(instance: "torture", records: records)], recordedAt: Int64(next))
    var lines = ""
    for (offset, result) in results[0].enumerated() {
        switch result {
        case .stored(let placement): lines += "\(next + offset) \(placement.number)\n"
        case .duplicate(let number, _): lines += "\(next + offset) \(number)\n"
        case .rejected(let rejection): lines += "rejected \(rejection.code)\n"
        }
    }
    if let settled = try await courier?.run() { lines = settled }
    try FileHandle.standardOutput.write(contentsOf: Data(lines.utf8))
    next += size
}
