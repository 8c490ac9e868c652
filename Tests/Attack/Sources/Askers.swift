import DoorPeer
import Foundation
import HubProcess
import HubStore
import Samples

extension Attack {
    static let dearQuestions = Attack(
        name: "dear-questions",
        does:
            "fifty clients each keep two expensive queries open, which search, sort or aggregate all records; some leave before the answer",
        holds: "a small query is answered within 50 ms, and a record is STORED within 20 ms"
    ) { scene in
        let host = try HubHost()
        let count = scene.size(FilledStore.size(2_000_000), quick: 8_000)
        let begin = ContinuousClock.now
        try await household(count, host)
        scene.note("records", Double(count), "")
        scene.note("time to write the records", begin.duration(to: .now) / .seconds(1), "s")
        let hub = try await host.start()
        let (door, size) = (host.door, scene.size(1_000, quick: 20))
        let alone = try await onThread { try small(door, size) }
        scene.note("small query without load, 99th percentile", alone.asked.at(0.99), "ms")
        scene.note("STORED without load, median", alone.stored.at(0.5), "ms")
        scene.note("STORED without load, 99th percentile", alone.stored.at(0.99), "ms")
        let (most, over) = (MostMemory(of: hub), Latch())
        let askers = (0..<scene.size(50, quick: 10)).map { index in
            Task { try await onThread { try dear(door, index, until: over) } }
        }
        try await Task.sleep(for: .seconds(1))
        let beside = try await onThread { try small(door, size) }
        scene.note("small query under load, median", beside.asked.at(0.5), "ms")
        scene.note("small query under load, 99th percentile", beside.asked.at(0.99), "ms", atMost: 50, isTime: true)
        scene.note("STORED under load, median", beside.stored.at(0.5), "ms")
        scene.note("STORED under load, 99th percentile", beside.stored.at(0.99), "ms", atMost: 20, isTime: true)
        over.close()
        var answers = 0
        for asker in askers { answers += try await asker.value }
        scene.note("answers to the fifty clients", Double(answers), "")
        scene.note("peak memory", await most.end(), "MiB", atMost: 150)
        hub.signal(SIGTERM)
        scene.expectNone("the hub did not exit with code 0", await hub.waitForExit() == 0 ? 0 : 1)
    }
}

extension Attack {
    static let leavers = Attack(
        name: "leavers",
        does: "many clients request as much as they may, read none of it for a while, and leave",
        holds: "the memory of their answers is returned to the system"
    ) { scene in
        let host = try HubHost()
        try await household(scene.size(200_000, quick: 5_000), host)
        let hub = try await host.start()
        let (door, count) = (host.door, scene.size(150, quick: 60))
        let most = MostMemory(of: hub)
        try await onThread {
            let peers = try (0..<count).map {
                try DoorPeer(door, instance: "leaver\($0)", patience: .seconds(60), holding: 1)
            }
            for peer in peers {
                for id in 1...60 { try peer.send("QUERY", #"{"id":\#(id),"want":"records","limit":60}"#) }
            }
            // Long enough for the hub to become idle, and to look for memory that it could give back while they hold it.
            sleep(12)
        }
        scene.note("peak memory", await most.end(), "MiB")
        try await scene.expectMemoryBack(hub)
        hub.signal(SIGTERM)
        scene.expectNone("the hub did not exit with code 0", await hub.waitForExit() == 0 ? 0 : 1)
    }
}

/// Sends small questions and single records, one after the other, and returns the milliseconds of each.
private func small(_ door: String, _ count: Int) throws -> (asked: Quantiles, stored: Quantiles) {
    let name = "kitchen-\(UInt32.random(in: 0 ... .max))"
    let peer = try DoorPeer(door, instance: name, patience: .seconds(60))
    var (asked, stored): ([Double], [Double]) = ([], [])
    for number in 0..<count {
        usleep(5_000)
        var begin = ContinuousClock.now
        try peer.send("QUERY", #"{"id":\#(number),"want":"records","types":["weight"],"order":"-time","limit":10}"#)
        _ = try peer.receive("RESULT")
        asked.append(begin.duration(to: .now) / .milliseconds(1))
        begin = .now
        try peer.send("SAMPLES", #"{"batch":\#(number),"records":[\#(Importer.record(name, number))]}"#)
        _ = try peer.receive("STORED")
        stored.append(begin.duration(to: .now) / .milliseconds(1))
    }
    return (Quantiles(asked), Quantiles(stored))
}

/// Keeps two questions open until `over` is closed, and leaves in the middle of some; returns the number of answers.
private func dear(_ door: String, _ index: Int, until over: Latch) throws -> Int {
    let parts = Array(repeating: #"{"partOf":"workout"}"#, count: 80).joined(separator: ",")
    let questions = [
        #""records","sources":["filler"],"kinds":["workout"]"#,
        #""records","order":"time","sources":["filler"],"kinds":["category"]"#,
        #""records","order":"-time","kinds":["correlation"],"from":"2001-01-01T00:00:00Z""#,
        #""records","types":["weight"],"persons":["me"],"kinds":["workout"]"#,
        #""statistics","types":["heartRate"],"sources":["filler"],"figures":["average","bySource"],"interval":{"unit":"year"}"#,
        #""records","order":"-end","where":{"metadata":{"name":"x","=":1}}"#,
        #""statistics","types":["stepCount"],"figures":["sum","bySource"],"interval":{"unit":"hour"}"#,
        #""records","latest":true,"where":{"not":{"source":{"plugin":"filler"}}}"#,
        #""records","types":["bloodGlucose"],"where":{"or":[\#(parts)]}"#,
    ]
    var answers = 0
    while !over.isClosed {
        let peer = try DoorPeer(door, instance: "greedy\(index)", patience: .seconds(10))
        let again = ContinuousClock.now + .seconds(3)
        var id = 0
        func ask() throws {
            id += 1
            try peer.send("QUERY", "{\"id\":\(id),\"want\":\(questions[(id + index) % questions.count])}")
        }
        try ask()
        try ask()
        while !over.isClosed, again > .now {
            // A peer that waits long without a PING is dead for the hub, so it connects again.
            do { _ = try peer.receive("RESULT") } catch is DoorPeer.Silence { break }
            answers += 1
            try ask()
        }
    }
    return answers
}

/// Fills the store with years of a household.
private func household(_ count: Int, _ host: HubHost) async throws {
    let filled = try await FilledStore(of: host)
    let heart = ("heartRate", "count/min")
    let types = [heart, heart, heart, ("stepCount", "count"), ("weight", "kg")]
    try await filled.give(count, "filler") { number in
        let (type, unit) = types[number % types.count]
        let sample = try FilledStore.sample(
            "\(number)", type, device: "d\(number % 7)",
            at: 1_400_000_000_000_000 + Int64(number) * 30_000_000, Double(number % 100), unit: unit)
        return IntakeRecord(record: .sample(sample), assignment: filled.me)
    }
    // A group of the maximum size, about which a question may ask a hundred things for each record.
    try await filled.give(1_000, "filler") { number in
        var sample = try FilledStore.sample("group \(number)", "bloodGlucose", 5, unit: "mg/dL")
        sample.group = "all"
        return IntakeRecord(record: .sample(sample), assignment: filled.me)
    }
    try filled.store.close()
}
