import DoorPeer
import Foundation
import HubProcess

extension Attack {
    /// The importers follow the protocol; the hub has to be fair.
    static let importers = Attack(
        name: "importers",
        does: "sixteen importers send at full speed, and one scale sends a record every ten milliseconds",
        holds: "the scale's record is STORED soon; memory stays within memory_limit and is returned afterwards"
    ) { scene in
        let each = scene.size(40_000, quick: 3_000)
        try await scene.withHub { host, hub in
            let door = host.door
            let most = MostMemory(of: hub)
            let areDone = Latch()
            // Made before, because work of the importers besides sending would take cores from the hub.
            let batches = (0..<16).map { Importer.batches("importer\($0)", each, of: 500) }
            let scale = Task { try await onThread { try weighings(door, until: areDone) } }
            let begin = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, batches) in batches.enumerated() {
                    group.addTask {
                        try await onThread {
                            // Real importers run on other machines, so they must not take the cores of hub and scale here.
                            setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
                            try Importer(door, "importer\(index)").give(batches)
                        }
                    }
                }
                try await group.waitForAll()
            }
            scene.note("the importers", Double(16 * each) / (begin.duration(to: .now) / .seconds(1)), "records/s")
            areDone.close()
            let times = Quantiles(try await scale.value)
            scene.note("STORED of the scale, median", times.at(0.5), "ms")
            scene.note("STORED of the scale, 99th percentile", times.at(0.99), "ms", atMost: 20, isTime: true)
            scene.note("peak memory", await most.end(), "MiB", atMost: Scene.memoryLimit * 1.1)
            try await scene.expectMemoryBack(hub)
        }
    }

    static let singleRecords = Attack(
        name: "single-records",
        does: "sixty sessions send all that their credit allows at once, one record in each batch",
        holds: "memory stays within memory_limit and is returned afterwards; each record is STORED"
    ) { scene in
        try await scene.withHub { host, hub in
            let door = host.door
            let most = MostMemory(of: hub)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<scene.size(60, quick: 20) {
                    group.addTask {
                        let count = scene.size(5_000, quick: 500)
                        let batches = Importer.batches("single\(index)", count, of: 1)
                        try await onThread { try Importer(door, "single\(index)").give(batches) }
                    }
                }
                try await group.waitForAll()
            }
            scene.note("peak memory", await most.end(), "MiB", atMost: Scene.memoryLimit * 1.1)
            try await scene.expectMemoryBack(hub)
        }
    }

    static let manySessions = Attack(
        name: "many-sessions",
        does: "as many sessions as the hub admits spend their whole credit at once and read no answer",
        holds: "the hub survives within memory_limit and still answers a person; sessions that end leave nothing behind"
    ) { scene in
        try await scene.withHub { host, hub in
            let (door, busy, most) = (host.door, scene.size(250, quick: 40), MostMemory(of: hub))
            let (haveSpent, isOver) = (Latch(), Latch())
            let sessions = Task {
                try await onThread {
                    var (sessions, refused): ([Importer], Int) = ([], 0)
                    for index in 0..<250 {
                        do { sessions.append(try Importer(door, "many\(index)")) } catch is DoorPeer.Silence {
                            refused += 1
                        }
                    }
                    for session in sessions.prefix(busy) { try session.spendAll(batch: 1_000) }
                    haveSpent.close()
                    while !isOver.isClosed { usleep(10_000) }
                    return (open: sessions.count, refused: refused)
                }
            }
            _ = try await scene.wait(upTo: 120) { haveSpent.isClosed }
            let status = try await host.command("status", "--json")
            scene.expectNone("hub status without an answer", status.lines.isEmpty ? 1 : 0)
            isOver.close()
            let counts = try await sessions.value
            scene.note("sessions", Double(counts.open), "")
            scene.note("sessions refused", Double(counts.refused), "")
            scene.note("peak memory", await most.end(), "MiB", atMost: Scene.memoryLimit * 1.1)
            scene.expectNone("the hub ended", hub.isRunning ? 0 : 1)
            try await scene.expectMemoryBack(hub)
        }
    }
}

/// A source that keeps to its credit, for one thread.
final class Importer {
    private let peer: DoorPeer
    private let name: String
    private var (records, bytes): (Int, Int)

    private struct Terms: Decodable {
        struct Credit: Decodable { var records, bytes: Int }
        var credit: Credit
    }

    init(_ door: String, _ name: String) throws {
        peer = try DoorPeer(door, instance: name, patience: .seconds(120))
        self.name = name
        let credit = try JSONDecoder().decode(Terms.self, from: peer.welcome).credit
        (records, bytes) = (credit.records, credit.bytes)
    }

    /// A record as JSON; the times of consecutive numbers are a second apart.
    static func record(_ name: String, _ number: Int) -> String {
        let time = Date(timeIntervalSince1970: 1_420_070_400 + Double(number)).ISO8601Format()
        return #"{"type":"heartRate","value":60.5,"unit":"count/min","start":"\#(time)","key":"\#(name)-\#(number)"}"#
    }

    /// A batch that is ready to send.
    struct Batch {
        let body: String
        let records: Int
    }

    static func batches(_ name: String, _ count: Int, of size: Int) -> [Batch] {
        stride(from: 0, to: count, by: size).enumerated().map { number, first in
            batch(name, number, first..<min(first + size, count))
        }
    }

    private static func batch(_ name: String, _ number: Int, _ places: Range<Int>) -> Batch {
        let all = places.map { record(name, $0) }.joined(separator: ",")
        return Batch(body: "{\"batch\":\(number),\"records\":[\(all)]}", records: places.count)
    }

    /// Returns when all batches are STORED.
    func give(_ batches: [Batch]) throws {
        var (sent, answered) = (0, 0)
        while answered < batches.count {
            while sent < batches.count, try send(batches[sent]) { sent += 1 }
            let answer = try peer.receive("STORED")
            // The credit is at the end of the answer, after a result for each record.
            let end = answer.range(of: Data("\"credit\":".utf8), options: .backwards)?.upperBound ?? answer.endIndex
            let credit = try JSONDecoder().decode(Terms.Credit.self, from: answer[end...].dropLast())
            records += credit.records
            bytes += credit.bytes
            answered += 1
        }
    }

    /// Sends as much as its credit allows, and reads nothing.
    func spendAll(batch size: Int) throws {
        var number = 0
        while try send(Self.batch(name, number, number * size..<(number + 1) * size)) { number += 1 }
    }

    /// - Returns: whether the credit allowed it.
    private func send(_ batch: Batch) throws -> Bool {
        let cost = batch.body.utf8.count
        guard batch.records <= records, cost <= bytes else { return false }
        try peer.send("SAMPLES", batch.body)
        records -= batch.records
        bytes -= cost
        return true
    }
}

/// Sends one record after the other while the importers run, and returns the milliseconds from SAMPLES to STORED.
private func weighings(_ door: String, until over: Latch) throws -> [Double] {
    let peer = try DoorPeer(door, instance: "scale", patience: .seconds(60))
    var times: [Double] = []
    repeat {
        usleep(10_000)
        let begin = ContinuousClock.now
        try peer.send("SAMPLES", #"{"batch":\#(times.count),"records":[\#(Importer.record("scale", times.count))]}"#)
        _ = try peer.receive("STORED")
        times.append(begin.duration(to: .now) / .milliseconds(1))
    } while !over.isClosed
    return times
}
