package import HubWire
import PluginTesting

/// One line of a play: an action of the hub, a wait or an expectation.
package enum PlayStep: Hashable, Sendable {
    /// The counters.
    package enum Count: String, CaseIterable, Sendable {
        /// Received HELLO, QUERY, WANT, DONE, EVENT, LIVE, PING, PONG, BYE.
        case hellos, queries, wants, answers, events, lives, pings, pongs, byes
        /// Received SAMPLES, answered or not.
        case batches
        /// Stored records, each counted once.
        case records
        /// Records that were received again unchanged.
        case duplicates
        /// Records of deliveries that the client answered with `delivered`.
        case delivered
        /// Violations of the protocol.
        case violations
        /// Lines that the client has printed.
        case printed
    }

    /// How the client ends.
    package enum Ending: Hashable, Sendable { case code(Int32), failure, any }

    case forget, kill, back, answer
    /// The hub stores nothing and answers nothing.
    case silent
    /// The hub stores everything, but its answers are lost.
    case mute
    /// The newest N records are lost, and the hub returns in another epoch.
    case restore(Int)
    /// The next N batches fail because the disk is full.
    case fail(Int)
    /// The first N records that come are rejected.
    case reject(Int)
    case refuse(WireError.Code)
    case credit(Credit)
    /// Every message has members that no version of the protocol knows.
    case newer
    /// The next N messages of the feed are lost.
    case drop(Int)
    /// N records of another source are stored.
    case give(Int, type: String)
    /// N records are delivered to the sink's subscription.
    case deliver(Int, type: String)
    case ping, pulse, stop
    case wait(Count, Int)
    case expect(Count, Int)
    case pause(milliseconds: Int)
    /// The client ends without being asked, in this way.
    case exit(Ending)
    /// The client is ended as by Ctrl-C.
    case end

    /// All lines for a table, each with its effect.
    package static let grammar: [(line: String, text: String)] = [
        ("forget", "all sessions are forgotten; the next message is answered hello-first"),
        ("silent", "SAMPLES are neither stored nor answered, PING is not answered"),
        ("mute", "SAMPLES are stored, and their answers lost"), ("answer", "ends silent and mute"),
        ("kill", "the door and the feed are gone; stored records stay"), ("back", "they are there again"),
        ("restore N", "the newest N records are lost, and the hub is there again in another epoch"),
        ("fail N", "N batches are answered with ERROR store"),
        ("reject N", "the first N records that come are rejected"),
        ("refuse CODE", "every HELLO is answered with ERROR CODE"),
        ("credit N", "sessions that begin from now have credit for N records"),
        ("newer", "every message has members that no version of the protocol knows"),
        ("drop N", "the feed loses N records"), ("give N [TYPE]", "another source gives N records (of weight)"),
        ("deliver N [TYPE]", "the sink is given N records (of weight)"), ("ping", "sends PING"),
        ("pulse", "publishes the position of the store on the feed"), ("stop", "sends STOP"),
        ("pause MS", "does nothing for MS milliseconds"),
        ("wait WHAT N", "goes on when there are N of these; the play fails if they do not come in time"),
        ("expect WHAT N", "fails unless there are exactly N of these"),
        ("exit CODE", "waits until the client ends on its own, with this code, failure (any but 0) or any"),
        ("end", "ends the client as Ctrl-C does, and waits until it has ended"),
    ]

    /// Parses a line.
    ///
    /// - Parameter records: the value of the word `records` in place of a number.
    /// - Throws: ``PluginError`` with the fault of the line.
    package init(_ line: String, records: Int) throws(PluginError) {
        let words = line.split(separator: " ").map(String.init)
        func refusal(_ reason: String) -> PluginError {
            PluginError("\"\(line)\": \(reason)")
        }
        guard let verb = words.first,
            let entry = Self.grammar.first(where: { $0.line.split(separator: " ")[0] == verb })
        else {
            throw refusal("there is no such line; there are \(Self.grammar.map { $0.line }.joined(separator: ", "))")
        }
        let most = entry.line.split(separator: " ").count
        let least = entry.line.split(separator: " ").count { !$0.hasPrefix("[") }
        guard (least...most).contains(words.count) else { throw refusal("write \(entry.line)") }
        func number(_ place: Int) throws(PluginError) -> Int {
            if words[place] == "records" { return records }
            // records-2: all but two.
            if words[place].hasPrefix("records-"), let less = Int(words[place].dropFirst(8)), less <= records {
                return records - less
            }
            guard let number = Int(words[place]), (0...1_000_000).contains(number) else {
                throw refusal("\(words[place]) is not a number from 0 to 1000000")
            }
            return number
        }
        func count() throws(PluginError) -> Count {
            guard let count = Count(rawValue: words[1]) else {
                throw refusal(
                    "\(words[1]) is not counted; \(Count.allCases.map(\.rawValue).joined(separator: ", ")) are")
            }
            return count
        }
        func type() throws(PluginError) -> String {
            let name = words.count > 2 ? words[2] : "weight"
            guard GeneratedRecords.type(among: [name], mayBeNamed: false) != nil else {
                throw refusal("\(name) is not a type of quantity; hub types lists them")
            }
            return name
        }
        switch verb {
        case "forget": self = .forget
        case "silent": self = .silent
        case "mute": self = .mute
        case "answer": self = .answer
        case "kill": self = .kill
        case "back": self = .back
        case "restore": self = .restore(try number(1))
        case "fail": self = .fail(try number(1))
        case "reject": self = .reject(try number(1))
        case "refuse": self = .refuse(WireError.Code(received: words[1]))
        case "credit": self = .credit(Credit(records: try number(1), bytes: 1_048_576))
        case "newer": self = .newer
        case "drop": self = .drop(try number(1))
        case "give": self = .give(try number(1), type: try type())
        case "deliver": self = .deliver(try number(1), type: try type())
        case "ping": self = .ping
        case "pulse": self = .pulse
        case "stop": self = .stop
        case "pause": self = .pause(milliseconds: try number(1))
        case "wait": self = .wait(try count(), try number(2))
        case "expect": self = .expect(try count(), try number(2))
        case "end": self = .end
        default:
            switch words[1] {
            case "failure": self = .exit(.failure)
            case "any": self = .exit(.any)
            default:
                guard let code = Int32(words[1]), (0...255).contains(code) else {
                    throw refusal("\(words[1]) is not an exit code; 0 to 255, failure and any are")
                }
                self = .exit(.code(code))
            }
        }
    }

    /// Parses the lines of a text; comments begin with `#`.
    ///
    /// - Throws: ``PluginError`` that names the line.
    package static func all(_ text: String, records: Int) throws(PluginError) -> [(
        line: String, step: PlayStep
    )] {
        var steps: [(line: String, step: PlayStep)] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.prefix { $0 != "#" }.split(separator: " ").joined(separator: " ")
            guard !words.isEmpty else { continue }
            do { steps.append((words, try PlayStep(words, records: records))) } catch {
                throw PluginError("line \(number + 1): \(error.description)")
            }
        }
        return steps
    }
}
