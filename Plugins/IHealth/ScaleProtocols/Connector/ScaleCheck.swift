public import PluginKit

/// Checks whether the scale answers without changing it: reads the clock but does not set it, and acknowledges only the greeting.
///
/// If the scale requires a log-in, the check logs in.
public struct ScaleCheck {
    private let setup: ScaleSetup
    private let clock: HubClock
    private let patience: Duration

    public init(_ setup: ScaleSetup, _ clock: HubClock, patience: Duration = .seconds(20)) {
        (self.setup, self.clock, self.patience) = (setup, clock, patience)
    }

    private var name: String { setup.model.rawValue }

    /// A sentence with the result, and with the consequences of a missing key.
    ///
    /// - Throws: ``PluginFailure`` `unavailable` with the reason and the remedy.
    public func run() async throws -> String {
        let found = try await look()
        return setup.keyNotice.map { "\(found) \($0)" } ?? found
    }

    private func look() async throws -> String {
        let runner: LinkRunner
        var dialogue = setup.dialogue(setup.device)
        do throws(ScaleLinkError) { runner = try LinkRunner(setup.link, dialogue: dialogue) } catch {
            throw PluginFailure(.failed, "\(error)")
        }
        defer { runner.stop() }
        let (startedAt, local) = (ContinuousClock.now, setup.clock(persons: []).clock)
        var (isOpen, problem) = (false, ScaleLinkError?.none)
        runner.setAlarm(at: startedAt + patience)
        while let event = await runner.next() {
            let uptime = ContinuousClock.now - startedAt
            if uptime >= patience { break }
            let inputs: [ScaleInput]
            switch event {
            case .opened: (isOpen, inputs) = (true, runner.opening)
            case .received(let bytes): inputs = [.received(bytes)]
            case .alarm: inputs = [.tick]
            case .closed(let reason): (isOpen, problem, inputs) = (false, reason, [.linkClosed])
            case .contested: inputs = [.contested]
            case .remark: continue
            case .unreachable(let error):
                problem = error
                // A sleeping scale may still wake up.
                if error.code == .asleep, setup.link.bluetoothAddress != nil { continue }
                throw failure("\(error)", error.code)
            }
            let now = ScaleMoment(uptime: uptime, wall: local.wall(at: clock.now()))
            for action in inputs.flatMap({ dialogue.handle($0, at: now) }) {
                switch action {
                case .send(let bytes): runner.send(bytes)
                case .search(let bytes): runner.search(bytes)
                case .settle: runner.settle()
                case .of: break
                case .close: runner.hangUp()
                case .event(let event): if let found = try found(event, dialogue.deviceID) { return found }
                case .deliver:
                    // Without an answer the scale keeps the weighing, and sends nothing more until it gets one.
                    return
                        "The \(name) \(setup.device ?? dialogue.deviceID ?? "") answers; it has a weighing to deliver."
                }
            }
            runner.setAlarm(at: startedAt + min(patience, dialogue.deadline ?? patience))
        }
        if isOpen {
            throw failure(
                "\(setup.link): the link is open, but nothing answers like an \(name); is another program, such as "
                    + "the running plugin, connected to the scale?", .refused)
        }
        let silence = "\(setup.link): no scale came within \(patience.components.seconds) s"
        throw failure(problem?.description ?? silence, problem?.code ?? .asleep)
    }

    private func found(_ event: ScaleEvent, _ id: String?) throws -> String? {
        let who = "The \(name) \(setup.device ?? id ?? "")"
        switch event {
        case .clock(_, let skew):
            let time =
                switch skew {
                case 0: "its clock is right"
                case 1...: "its clock is \(skew) s fast"
                default: "its clock is \(-skew) s slow"
                }
            return "\(who) answers; \(time)."
        // A HS3 reports nothing about itself except its clock, which comes before.
        case .connected(let identity?):
            return "\(who) answers: \(identity.name), firmware \(identity.firmware)."
        case .deviceError(let error) where error == .refused(setup.model) && setup.model != .hs3:
            throw failure("\(setup.link): \(error.sentence); was the log-in refused? see auth_key", .security)
        default: return nil
        }
    }

    private func failure(_ reason: String, _ code: ScaleLinkError.Code) -> PluginFailure {
        var message = reason + (reason.hasSuffix("?") ? "" : ".")
        // If this machine has no Bluetooth, pairing does not help.
        if let address = setup.link.bluetoothAddress, code != .machine {
            message += " " + Self.help(address, setup.model)
        }
        if let notice = setup.keyNotice { message += " " + notice }
        return PluginFailure(.unavailable, message)
    }

    /// The remedy if a scale cannot be reached by Bluetooth.
    public static func help(_ address: BluetoothAddress, _ model: ScaleModel) -> String {
        "Step on the scale and try again while it shows the weight. If it was never paired, run: bluetoothctl scan on "
            + "(the scale's name begins with \"iHealth \(model.rawValue)\"), bluetoothctl pair \(address) (PIN 0000), "
            + "bluetoothctl trust \(address)."
    }
}
