import Foundation
import HubCore
import HubWire
import PluginTesting
import Samples
import ZeroMQ

/// A scripted test for clients: a hub that follows the lines of a script and counts the client's actions.
package struct Play: Sendable {
    /// The kind of client that it is for.
    package enum Role: String, CaseIterable, Sendable {
        /// Publishes the records that it reads from stdin, one a line, and ends.
        case publisher
        /// Prints one line for each version of each weight, and nothing more, until it is ended.
        case follower
        /// Delivers weights from the beginning, until it is ended.
        case sink
    }

    package let name: String
    package let role: Role
    /// The rule that the client must keep.
    package let text: String
    /// The lines of ``PlayStep``; the word `records` in them stands for the number of records that the client must give.
    package let lines: String

    init(_ name: String, _ role: Role, _ text: String, _ lines: String) {
        (self.name, self.role, self.text, self.lines) = (name, role, text, lines)
    }

    /// The result of a play.
    package enum Outcome: Sendable {
        case held
        /// The line that failed, and the observations.
        case failed(line: String, seen: [String])
    }

    package static let all: [Play] = publishing + following + delivering

    private static let publishing: [Play] = [
        Play(
            "plain", .publisher, "It gives all, and ends with 0.",
            "wait records records\nexit 0\nexpect records records\nexpect duplicates 0\nexpect violations 0"),
        Play(
            "late", .publisher, "The hub is not there yet: it waits for it.",
            "kill\npause 700\nback\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "forgotten", .publisher, "Its session is forgotten before its batch is stored: it greets and gives again.",
            "silent\nwait batches 1\nanswer\nforget\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "killed", .publisher, "The hub is killed before a batch is stored: all comes when it is there again.",
            "silent\nwait batches 1\nkill\nanswer\nback\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "answer-lost", .publisher, "An answer is lost with the hub: it gives again, under the same keys.",
            "mute\nwait batches 1\nkill\nanswer\nback\nwait records records\nexit 0\nexpect records records\nexpect violations 0"
        ),
        Play(
            "full-disk", .publisher, "Two batches find the disk full: they come again after `after`, and not before.",
            "fail 2\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "little-credit", .publisher, "It has credit for seven records, and sends no more than those at a time.",
            "credit 7\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "rejected", .publisher, "Two records are rejected: all others are given, and it ends.",
            "reject 2\nwait records records-2\nexit any\nexpect records records-2\nexpect violations 0"),
        Play(
            "newer-hub", .publisher, "Every message has members that it does not know: it ignores them.",
            "newer\nwait records records\nexit 0\nexpect violations 0"),
        Play(
            "refused", .publisher, "The hub refuses it: it says so with an exit code, and does not try for ever.",
            "refuse forbidden\nexit failure\nexpect records 0"),
    ]

    private static let following: [Play] = [
        Play(
            "told-once", .follower,
            "It gets each record once: those from before it connected, and those that come later.",
            "give 10\nwait printed 10\ngive 5\nwait printed 15\npause 300\nexpect printed 15\nend\nexpect violations 0"),
        Play(
            "hole", .follower, "The feed loses records: it asks the door for them.",
            "give 3\nwait printed 3\ndrop 2\ngive 4\nwait printed 7\npause 300\nexpect printed 7\nend\nexpect violations 0"
        ),
        Play(
            "lost-end", .follower, "The feed loses the last record: the pulse says that there is more.",
            "give 3\nwait printed 3\ndrop 1\ngive 1\nwait printed 4\nend\nexpect violations 0"),
        Play(
            "away", .follower, "The hub is killed, and has more records when it is back: it gets each once.",
            "give 6\nwait printed 6\nkill\npause 300\ngive 4\nback\nwait printed 10\npause 300\nexpect printed 10\nend\nexpect violations 0"
        ),
        Play(
            "restored", .follower,
            "A backup is restored: it forgets its place, and gets all present records; the lines from before stay.",
            "give 10\nwait printed 10\nrestore 4\ngive 5\nwait printed 21\npause 300\nexpect printed 21\nend\nexpect violations 0"
        ),
        Play(
            "newer-hub-followed", .follower, "Every message has members that it does not know: it ignores them.",
            "newer\ngive 5\nwait printed 5\nend\nexpect violations 0"),
    ]

    private static let delivering: [Play] = [
        Play(
            "delivered", .sink, "It asks for the types that it delivers, and answers for each record.",
            "wait wants 1\ndeliver 3\nwait delivered 3\ndeliver 2\nwait delivered 5\nend\nexpect violations 0"),
        Play(
            "session-lost", .sink, "Its session is forgotten: it greets, asks and delivers again.",
            "wait wants 1\ndeliver 3\nwait delivered 3\nforget\nwait wants 2\ndeliver 3\nwait delivered 6\nend\nexpect violations 0"
        ),
        Play(
            "hub-killed", .sink, "The hub is killed: it delivers when it is there again.",
            "wait wants 1\nkill\npause 300\nback\nwait wants 2\ndeliver 3\nwait delivered 3\nend\nexpect violations 0"),
        Play(
            "newer-hub-delivers", .sink, "Every message has members that it does not know: it ignores them.",
            "newer\nwait wants 1\ndeliver 3\nwait delivered 3\nend\nexpect violations 0"),
    ]

    /// Records for a publisher's stdin: weights, one a minute, one a line.
    package static func lines(_ count: Int) -> String {
        records(count, type: "weight", of: "play").map { record in
            var bytes: [UInt8] = []
            RecordEncoder.append(record, to: &bytes)
            return String(decoding: bytes, as: UTF8.self) + "\n"
        }.joined()
    }

    /// Made-up records from 2024 on, one a minute.
    static func records(_ count: Int, type name: String, of plugin: String, after first: Int = 0) -> [Record] {
        guard let type = GeneratedRecords.type(among: [name], mayBeNamed: false) else { return [] }
        return (first..<(first + count)).compactMap { place in
            let start = Timestamp(microseconds: (1_704_067_200 + Int64(place) * 60) * 1_000_000, offsetMinutes: 60)
            return RecordKey("\(plugin)-\(place + 1)").map { key in
                .sample(
                    Sample(
                        source: Source(plugin: plugin), key: key, type: type.id,
                        value: .quantity(GeneratedRecords.value(type, place % 100), unit: type.unit ?? ""), start: start
                    ))
            }
        }
    }
}
