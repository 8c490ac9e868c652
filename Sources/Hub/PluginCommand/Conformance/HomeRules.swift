import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples

extension Rule {
    /// Behaviour in a whole hub, and with a hub whose clock is wrong.
    static let homes: [Rule] = [
        Rule(
            "whole-hub", .silver, of: .sources,
            "In a whole hub that is killed and comes back, all records that the plugin gives are stored, and none twice.",
            repair:
                "After each start, give all records without STORED, under the same keys; end when stdin ends, so that this process does not block the next."
        ) { examination in
            let lasting = try await examination.lasting()
            let (home, plugin) = (try await examination.home(), try await examination.course().manifest.name)
            func stored(_ status: HubStatus) -> Int64 { status.accounts.reduce(0) { $0 + $1.stored } }
            try await home.start(isFirst: true)
            try await home.settle(atLeast: 1, until: .zero, stored)
            await home.kill()
            try await home.start()
            // Wait until it has a session again, or until its restarts show that it does not stay.
            try await home.settle(atLeast: 1, until: .zero) { status in
                Int64(
                    status.sessions.count { $0.isOf(examination.subject) }
                        + status.plugins.reduce(0) { $0 + $1.restarts })
            }
            try await home.settle(atLeast: 1) { Int64($0.head) }
            let records = try await home.records(of: plugin)
            let lost = lasting.subtracting(records.map(\.identity))
            let missing = lost.first.map {
                ["\(lost.count) of \(lasting.count) records are missing, such as \($0.words)"]
            }
            return (missing ?? []) + SampleContents.twins(records) + (try await home.faults())
        },
        Rule(
            "whole-hub-delivers", .silver, of: .sinks,
            "In a whole hub that is killed while it delivers, all is delivered when it is back.",
            repair: "Keep no account of your own, and no file that a killed process leaves in the way of the next."
        ) { examination in
            let home = try await examination.home()
            try await home.start(isFirst: true)
            try await home.settle(atLeast: 1, until: .zero) { Int64($0.sinks.count { $0.isOpen }) }
            try await home.sendGenerated()
            await home.kill()
            try await home.start()
            try await home.settle(atLeast: 1) { status in
                let left = status.sinks.reduce(0) { $0 + $1.pending + $1.retrying }
                return left > 0 || !status.sinks.contains { $0.isOpen } ? 0 : 1
            }
            let sinks = try await home.status().sinks
            let seen = sinks.flatMap { sink in
                [
                    (sink.pending, "are not delivered"), (sink.retrying, "are to be tried again"),
                    (sink.refused, "were refused"),
                ].compactMap { count, words in
                    count > 0 ? "\(sink.name): \(count) \(words)\(sink.lastFailureReason.map { ": \($0)" } ?? "")" : nil
                }
            }
            let none = sinks.isEmpty ? ["no WANT came"] : []
            return none + seen + (try await home.faults())
        },
        Rule(
            "restored", .gold,
            "After a backup of the hub is restored, the plugin connects again and goes on, and no record is stored twice.",
            repair: "Take the epoch of WELCOME as it comes: a hub that was restored is another store at the same door."
        ) { examination in
            let (home, manifest) = (try await examination.home(), try await examination.course().manifest)
            try await home.start(isFirst: true)
            try await home.settle(atLeast: 1, until: .zero) {
                Int64($0.sessions.count { $0.isOf(examination.subject) })
            }
            try await home.backup()
            try await home.settle(atLeast: manifest.isSource ? 1 : 0) { Int64($0.head) }
            await home.end()
            try await home.restore()
            try await home.start()
            try await home.settle(atLeast: 1) { Int64($0.sessions.count { $0.isOf(examination.subject) }) }
            let hasCome = try await home.status().sessions.contains { $0.isOf(examination.subject) }
            let records = try await home.records(of: manifest.name)
            let faults = try await home.faults()
            // A plugin that has done its work and ended is fine, too.
            let isGone = !hasCome && faults.isEmpty ? try await home.isAtRest() ? [] : ["it did not come again"] : []
            return isGone + faults + SampleContents.twins(records)
        },
        Rule(
            "clock", .gold, of: .sources,
            "With a hub whose clock is a day ahead, and right in the next session, it gives all records, and none twice.",
            repair: "Take times and keys from the device's data; use the hub's clock only for your own waits."
        ) { examination in
            let lasting = try await examination.lasting()
            let ahead = Timestamp(microseconds: Int64((Date().timeIntervalSince1970 + 93_600) * 1_000_000))
            let stage = try await examination.stage { $0.clock = "\(ahead.text)@1" }
            let first = stage.start()
            await stage.settle(atLeast: 1)
            await first.stop(stage.hub)
            // The second start must not depend on times and keys of the first.
            try stage.forget()
            await stage.hub.change { $0.clock = "system" }
            let second = stage.start()
            let missing = await stage.missing(lasting)
            await stage.settle()
            await second.stop(stage.hub)
            return missing + SampleContents.twins(await stage.hub.held.map(\.record))
        },
    ]
}

extension HubStatus.SessionStatus {
    fileprivate func isOf(_ subject: PluginUnderTest) -> Bool { instance == subject.name }
}
