import DoorPeer
import Foundation
import HubProcess
import HubStore
import Samples

extension Attack {
    static let lyingDisk = Attack(
        name: "lying-disk",
        does:
            "while a hub runs, one bit changes in each of several pages of its store, and the damaged records are requested",
        holds: "the hub names the page within five seconds, still answers from intact pages, and confirms nothing more"
    ) { scene in
        let (count, rounds) = (scene.size(20_000, quick: 4_000), scene.size(20, quick: 3))
        var named: [Double] = []
        for round in 0..<rounds {
            let host = try HubHost()
            let filled = try await FilledStore(of: host)
            try await filled.give(count, "filler") { number in
                IntakeRecord(record: .sample(try FilledStore.sample("key-\(number)-")), assignment: filled.me)
            }
            try filled.store.close()
            let hub = try await host.start()
            let victim = count / 4 + round * count / 2 / rounds
            let page = try flip(host.folder.path + "/data/hub.sqlite", after: "key-\(victim)-")
            let begin = ContinuousClock.now
            let asked = try await host.command("trace", "\(victim + 1)")
            scene.expectNone("answers from a damaged page", asked.status == 0 ? 1 : 0)
            let seconds = try await scene.wait(upTo: 5) { try isNamed(page, host.door) }
            scene.expectNone("pages not named within five seconds", seconds == nil ? 1 : 0)
            named.append(begin.duration(to: .now) / .seconds(1))
            scene.expectNone("records confirmed after the damage", try isConfirmed(host.door) ? 1 : 0)
            scene.expectNone("failed requests for an intact record", try await host.command("trace", "1").status)
            _ = await hub.stop()
        }
        scene.note("pages damaged", Double(rounds), "")
        scene.note("longest time until a page was named", named.max() ?? 0, "s", atMost: 5, isTime: true)
    }
}

private func isNamed(_ page: Int, _ door: String) throws -> Bool {
    let answer = try DoorPeer(door, instance: "looks", patience: .seconds(5)).ask(#""want":"status""#)
    return String(decoding: answer, as: UTF8.self).contains("page \(page) of ")
}

private func isConfirmed(_ door: String) throws -> Bool {
    let peer = try DoorPeer(door, instance: "writer", patience: .seconds(5))
    try peer.give([Importer.record("writer", 1)])
    do { return try !peer.receive("STORED").isEmpty } catch is DoorPeer.Silence { return false }
}

/// Flips a bit in the page of a table that contains `text`.
///
/// - Returns: the number of the page.
private func flip(_ store: String, after text: String) throws -> Int {
    let data = try Data(contentsOf: URL(filePath: store))
    let page = (1..<data.count / 4_096).first { page in
        data[page * 4_096] == 0x0D && data.range(of: Data(text.utf8), in: page * 4_096..<(page + 1) * 4_096) != nil
    }
    guard let page, let place = data.range(of: Data(text.utf8), in: page * 4_096..<(page + 1) * 4_096) else {
        throw CocoaError(.formatting)
    }
    let file = try FileHandle(forUpdating: URL(filePath: store))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(place.upperBound))
    try file.write(contentsOf: Data([data[place.upperBound] ^ 1]))
    return page + 1
}
