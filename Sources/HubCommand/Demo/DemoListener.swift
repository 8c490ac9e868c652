import Foundation
import HubWire
import Samples
import Synchronization

/// Prints what happens in a demonstration, as any subscriber would see it.
final class DemoListener: Sendable {
    private let isOver = Mutex(false)

    /// Listens until ``stop()``; blocks.
    func run(_ endpoints: OwnerEndpoints) throws {
        let door = { try DoorClient(endpoint: endpoints.door, command: "demo") }
        let beginning = Cursor(epoch: try door().open().epoch, sequence: 0)
        let follower = try FeedFollower(
            feed: endpoints.feed, prefixes: ["sample/", "live/", "device/"], since: beginning, door: door)
        var reader = RecordReader()
        while !isOver.withLock({ $0 }) {
            guard case .message(let topic, let place, let body) = try follower.next(upTo: .milliseconds(100)) else {
                continue
            }
            if place.sequence > 0 {
                let record = RecordText(try reader.record(body[...]))
                try Output.print("  \(record.time)  \(record.value)  \(record.person)  #\(record.number)")
            } else if let progress = DemoListener.progress(topic, body), isatty(STDERR_FILENO) == 1 {
                Terminal.progress(progress < 1 ? "  \(NumberText.percent((progress * 100).rounded() / 100)) %" : "")
            } else if let line = DemoListener.line(topic, body) {
                try Output.print(line)
            }
        }
    }

    /// Ends ``run(_:)`` soon.
    func stop() { isOver.withLock { $0 = true } }

    private struct Passing: Decodable {
        struct Data: Decodable {
            let count: Int?
            let readable: Int?
        }
        let text: String?
        let severity: String?
        let data: Data?
        /// Of a LIVE message: how much of the memory is transferred, 0…1.
        let progress: Double?
    }

    private static func progress(_ topic: Topic, _ body: [UInt8]) -> Double? {
        topic.segments.first == "live" ? (try? JSON.decode(Passing.self, from: body))?.progress : nil
    }

    /// What an event says to people; `nil` for those that say nothing new.
    static func line(_ topic: Topic, _ body: [UInt8]) -> String? {
        guard topic.segments.first == "device", topic.segments.count == 3,
            let event = try? JSON.decode(Passing.self, from: body)
        else { return nil }
        switch (topic.segments[2], event.data?.count, event.data?.readable) {
        case ("connected", _, _): return "The scale is connected."
        case ("disconnected", _, _): return "The scale has disconnected."
        case ("memory", let count?, _):
            return
                "Its memory holds \(NumberText.count(count, "weighing")). They are transferred, newest first; each is shown once it is stored."
        case ("memory-end", _, let count?):
            return
                "The memory is transferred (\(count)). From now on somebody steps on the scale, a day in less than a second."
        default: return event.severity == "info" ? nil : event.text
        }
    }
}
