import Foundation
import HubProcess
import HubStore
import Samples

extension Attack {
    static let leftBehind = Attack(
        name: "left-behind",
        does:
            "three writers send records that each create something: a series, a type and device, a version of 16 kB, a sample of ten thousand years",
        holds: "the hub starts within a second and below 100 MiB, and answers each command of the owner within a second"
    ) { scene in
        let host = try HubHost()
        let count = scene.size(FilledStore.size(500_000), quick: 4_000)
        let begin = ContinuousClock.now
        let versioned = try await leaveBehind(count, host, scene)
        scene.note("time to write the records", begin.duration(to: .now) / .seconds(1), "s")
        let start = ContinuousClock.now
        let hub = try await host.start()
        scene.note("time until the hub is ready", start.duration(to: .now) / .seconds(1), "s", atMost: 1, isTime: true)
        scene.note("memory of the hub after its start", hub.residentMiB, "MiB", atMost: 100)
        let most = MostMemory(of: hub)
        let commands = [
            ["status"], ["samples", "--last", "10"], ["samples", "weight", "--last", "10"],
            ["samples", "weight", "--from", "2023-11-14", "--to", "2023-11-14", "--source", "nothing"],
            ["trace", "\(versioned)"], ["trace", "1"], ["inbox"], ["doctor"], ["plugins"],
        ]
        for command in commands {
            let begin = ContinuousClock.now
            let run = try await host.command(command)
            scene.note(
                "hub " + command.joined(separator: " "), begin.duration(to: .now) / .seconds(1), "s", atMost: 1,
                isTime: true)
            scene.expectNone(
                "hub \(command[0]) without an answer: \(run.errors.first ?? "")", run.status < 64 ? 0 : run.status)
        }
        scene.note("peak memory during the commands", await most.end(), "MiB", atMost: 100)
        hub.signal(SIGTERM)
        scene.expectNone("the hub did not exit with code 0", await hub.waitForExit() == 0 ? 0 : 1)
    }
}

/// Fills the store and returns the number of the record with very many versions.
private func leaveBehind(_ count: Int, _ host: HubHost, _ scene: Scene) async throws -> Int64 {
    let filled = try await FilledStore(of: host)
    let (store, me) = (filled.store, filled.me)
    // Without limits, as an old hub stored them: each day has its own series.
    try await filled.give(count, "days", InstanceLimits(factor: 1_000)) { try seriesOfItsOwn($0, me) }
    try await filled.give(count, "types") { number in
        let sample = try FilledStore.sample("t\(number)", "x.evil.t\(number)", device: "\(number)")
        return IntakeRecord(record: .sample(sample), assignment: me)
    }
    let versioned = store.head + 1
    try await filled.give(count, "others") { try other($0, me) }
    let accounts = try await store.accounts()
    scene.note("records from each writer", Double(count), "")
    scene.note("streams", Double(accounts.reduce(0) { $0 + $1.usage.streams }), "")
    scene.note("records refused by a limit", Double(accounts.reduce(0) { $0 + $1.rejected }), "")
    try store.close()
    return versioned
}

private func seriesOfItsOwn(_ number: Int, _ me: Assignment) throws -> IntakeRecord {
    let day = DayValue(
        source: Source(plugin: "filler"), person: "me", type: try TypeID("weight"), series: "s\(number)",
        date: LocalDate(daysSinceEpoch: 19_000 + number % 1_000), value: 70, unit: "kg", method: "mean",
        basis: [.number(Int64(number + 1))])
    return IntakeRecord(record: .day(day), assignment: me)
}

private let metadata = JSONObject(trusted: "{\"a\":\"\(String(repeating: "x", count: 16_000))\"}")

/// Returns a version of one record, a sample of ten thousand years or at the beginning of time, an implausible one, or one without a person.
private func other(_ number: Int, _ me: Assignment) throws -> IntakeRecord {
    var sample = try FilledStore.sample(number % 4 == 0 ? "v" : "\(number)", "weight", device: "b")
    switch number % 4 {
    case 0:
        // The hub keeps ten thousand versions; more would only take time.
        sample = try FilledStore.sample(number < 60_000 ? "v" : "\(number)", "weight", device: "b", Double(number + 1))
        if number < 60_000 { sample.metadata = metadata }
    case 1:
        sample.start = Timestamp(microseconds: Timestamp.range.lowerBound, offsetMinutes: 0)
        sample.end = Timestamp(
            microseconds: number % 8 == 1 ? Timestamp.range.upperBound : Timestamp.range.lowerBound + 1,
            offsetMinutes: 0)
    case 2: return IntakeRecord(record: .sample(sample), assignment: me, implausible: .value)
    default: return IntakeRecord(record: .sample(sample), assignment: .nobody(reason: "no rule"))
    }
    return IntakeRecord(record: .sample(sample), assignment: me)
}
