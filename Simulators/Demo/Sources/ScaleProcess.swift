import HubClient

/// A simulated scale, a process of its own, and its diary: what it says has happened to it.
final class ScaleProcess: Sendable {
    /// What the scale was told.
    struct Told: Sendable, Hashable {
        /// As the scale shows it: `62.1`.
        let kilograms: String
        /// The scale's number of the user.
        let user: String?
    }

    /// What happened so far, in the scale's own words.
    struct Diary: Sendable {
        /// `tcp://HOST:PORT`; `nil` before there is one.
        var address: String?
        var weighings: [Told] = []
        /// Weighings that the other side has confirmed.
        var confirmed = 0
        /// Weighings that went into the memory.
        var stored = 0
        /// How often a host has set its clock, which it does whenever it is ready to measure.
        var clockSet = 0
        /// Faults that have befallen it or its link.
        var faults = 0
        /// What it could not do.
        var refused: [String] = []
        var hasEnded = false

        /// Takes in one event; lines of other forms say nothing.
        mutating func note(_ line: String) {
            guard let event = try? JSON.decode([String: String].self, from: line.utf8) else { return }
            switch event["event"] {
            case "listening": address = event["address"]
            case "weighing":
                if let weight = event["kg"] { weighings.append(Told(kilograms: weight, user: event["user"])) }
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
    let diary: Watched<Diary>
    private let program: CompanionProcess

    /// Starts it.
    ///
    /// - Parameters:
    ///   - link: where it is reached, as the simulator's option.
    ///   - clock: `START@RATE`, with START its time now.
    /// - Throws: ``HubExit/system`` when there is no such program.
    init(_ scale: DemoScale, link: [String], clock: String, zone: String, more: [String] = []) throws(Failure) {
        let diary = Watched(Diary())
        let options = ["--json", "--until-eof", "--device-id", scale.device, "--clock", clock]
        program = try CompanionProcess("hub-scale-sim", [scale.model] + link + options + more, zone: zone) { line in
            diary.change { if let line { $0.note(line) } else { $0.hasEnded = true } }
        }
        (self.scale, self.diary) = (scale, diary)
    }

    /// Where it can be reached.
    ///
    /// - Throws: ``HubExit/system`` when it does not say so.
    func address() async throws -> String {
        await diary.wait(upTo: .seconds(10)) { $0.address != nil || $0.hasEnded }
        guard let address = diary.value.address else {
            throw Failure(.system, "the simulated \(scale.rawValue) did not begin to listen")
        }
        return address
    }

    /// Types a command, as a person would; a scale that has ended hears nothing.
    func type(_ command: String) { program.type(command) }

    /// Has a person step on, and returns when the scale has noticed.
    func step(on weighing: DemoWeighing, user: String?) async {
        let before = diary.value.weighings.count
        let more = (user.map { " user \($0)" } ?? "") + (weighing.hasShoes ? " shoes" : "")
        type("step on \(weighing.kilograms) \(weighing.time.local)\(more)")
        await diary.wait(upTo: .seconds(5)) { $0.weighings.count > before || $0.hasEnded }
    }

    /// Ends it and waits until all it has said is read, for at most three seconds.
    func end() async { await program.end() }
}
