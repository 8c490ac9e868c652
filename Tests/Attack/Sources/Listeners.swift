import DoorPeer
import Foundation
import HubProcess
import ZeroMQ

extension Attack {
    static let largeEvents = Attack(
        name: "large-events",
        does: "a plugin sends EVENTs of a megabyte while a listener does not read",
        holds: "the EVENTs are refused, and the hub holds none of them"
    ) { scene in
        try await scene.withHub { host, hub in
            let (door, feed, count, before) = (host.door, host.feed, scene.size(500, quick: 50), hub.residentMiB)
            let refused = try await onThread {
                let listener = try StoppedListener(feed, "device/")
                defer { _ = consume listener }
                let peer = try DoorPeer(door, instance: "loud", patience: .seconds(60))
                let text = String(repeating: "x", count: 1_000_000)
                var refused = 0
                for _ in 0..<count {
                    try peer.send("EVENT", #"{"event":"loud","text":"\#(text)"}"#)
                    do { _ = try peer.receive("STORED") } catch let silence as DoorPeer.Silence {
                        if silence.error?.contains("\"limit\"") == true { refused += 1 }
                    }
                }
                return refused
            }
            scene.expectNone("EVENTs that were not refused", count - refused)
            scene.note("memory growth of the hub", hub.residentMiB - before, "MiB", atMost: 32)
        }
    }

    static let quietListener = Attack(
        name: "quiet-listener",
        does: "a listener stops reading while records of sixteen kilobytes are stored",
        holds: "its queue stays below a sixteenth of memory_limit; other listeners receive everything"
    ) { scene in
        try await scene.withHub { host, hub in
            let (door, feed, count, before) = (host.door, host.feed, scene.size(8_000, quick: 1_600), hub.residentMiB)
            let most = MostMemory(of: hub)
            try await onThread {
                let listener = try StoppedListener(feed, "sample/")
                defer { _ = consume listener }
                let peer = try DoorPeer(door, instance: "writer", patience: .seconds(60))
                let text = String(repeating: "x", count: 16_000)
                for number in 0..<count {
                    let record = Importer.record("large", number).dropLast() + #","metadata":{"note":"\#(text)"}}"#
                    try peer.send("SAMPLES", #"{"batch":\#(number),"records":[\#(record)]}"#)
                    let answer = String(decoding: try peer.receive("STORED"), as: UTF8.self)
                    guard answer.contains(#""result":"stored""#) else { throw NotStored(answer: answer) }
                }
            }
            // The limit of the queue, and the memory of the store and the allocator.
            scene.note("memory growth of the hub", await most.end() - before, "MiB", atMost: 16 + 48)
            let rests = hub.errorLines.filter { $0.contains("a feed is paused") && $0.contains("of=\"the owner\"") }
            scene.expectNone("the feed was not ended", rests.isEmpty ? 1 : 0)
            scene.expectNone("the hub ended", hub.isRunning ? 0 : 1)
            try await scene.expectMemoryBack(hub)
        }
    }
}

/// A subscriber of a feed that reads nothing.
private final class StoppedListener {
    private let context: Context
    private let socket: Socket

    init(_ endpoint: String, _ prefix: String) throws {
        context = try Context()
        socket = try Socket(.sub, in: context)
        try socket.set(.linger, to: .zero)
        try socket.set(.receiveHighWaterMark, to: 1)
        try socket.subscribe(prefix)
        try socket.connect(endpoint)
        // The first pulse shows that the hub knows this subscriber.
        try socket.subscribe("hub/pulse/")
    }
}

private struct NotStored: Error {
    let answer: String
}
