import HubClient

/// A simulated scale in a separate process, with a diary of its events.
final class ScaleProcess: Sendable {
    /// A weighing that was typed to the scale.
    struct TypedWeighing: Sendable, Hashable {
        /// The display of the scale: `62.1`.
        let kilograms: String
        /// The scale's number of the user.
        let user: String?
    }

    /// The events so far, as the scale reported them.
    struct EventLog: Sendable {
        /// `tcp://HOST:PORT`; `nil` until it is known.
        var address: String?
        var weighings: [TypedWeighing] = []
        /// The number of weighings that the other side has confirmed.
        var confirmed = 0
        /// The number of weighings stored in the memory.
        var stored = 0
        /// How often a host has set its clock, which a host does before it measures.
        var clockSet = 0
        /// The number of faults of the scale and its link.
        var faults = 0
        /// The commands that the scale refused.
        var refused: [String] = []
        var hasEnded = false

        /// Processes one event; lines in other forms are ignored.
        mutating func note(_ line: String) {
            guard let event = try? JSON.decode([String: String].self, from: line.utf8) else { return }
            switch event["event"] {
            case "listening": address = event["address"]
            case "weighing":
                if let weight = event["kg"] { weighings.append(TypedWeighing(kilograms: weight, user: event["user"])) }
            case "acknowledged": confirmed += 1
            case "stored": stored += 1
            case "clockSet": clockSet += 1
            case "fault": faults += 1
            case "refused": refused.append(event["text"] ?? "")
            default: break
            }
        }
    }

    let scale: DemoScale
    let diary: AwaitableValue<EventLog>
    private let program: HelperProcess

    /// Starts the scale.
    ///
    /// - Parameters:
    ///   - link: the simulator's option for its link.
    ///   - clock: `START@RATE`, with START the scale's current time.
    /// - Throws: ``HubExit/system`` if the program is missing.
    init(_ scale: DemoScale, link: [String], clock: String, zone: String, more: [String] = []) throws(Failure) {
        let diary = AwaitableValue(EventLog())
        let options = ["--json", "--until-eof", "--device-id", scale.device, "--clock", clock]
        program = try HelperProcess("hub-scale-sim", [scale.model] + link + options + more, zone: zone) { line in
            diary.change { if let line { $0.note(line) } else { $0.hasEnded = true } }
        }
        (self.scale, self.diary) = (scale, diary)
    }

    /// The address of the scale.
    ///
    /// - Throws: ``HubExit/system`` if the scale does not report it.
    func address() async throws -> String {
        await diary.wait(upTo: .seconds(10)) { $0.address != nil || $0.hasEnded }
        guard let address = diary.value.address else {
            throw Failure(.system, "the simulated \(scale.rawValue) did not begin to listen")
        }
        return address
    }

    /// Types a command like a person; a scale that has ended ignores it.
    func type(_ command: String) { program.type(command) }

    /// Makes a person step on, and returns when the scale has noticed it.
    func step(on weighing: DemoWeighing, user: String?) async {
        let before = diary.value.weighings.count
        let more = (user.map { " user \($0)" } ?? "") + (weighing.hasShoes ? " shoes" : "")
        type("step on \(weighing.kilograms) \(weighing.time.local)\(more)")
        await diary.wait(upTo: .seconds(5)) { $0.weighings.count > before || $0.hasEnded }
    }

    /// Ends the scale and waits until its output is read, for at most three seconds.
    func end() async { await program.end() }
}
