import PluginKit
import ScaleFrames
import ScaleLinks

/// Finds out whether the scale answers, and changes nothing on it: the clock is asked for and not set, nothing is
/// acknowledged but the scale's own greeting.
struct HS3Check {
    private let settings: HS3Settings
    private let clock: HubClock
    private let patience: Duration

    init(_ settings: HS3Settings, _ clock: HubClock, patience: Duration = .seconds(20)) {
        (self.settings, self.clock, self.patience) = (settings, clock, patience)
    }

    /// A sentence about what was found.
    ///
    /// - Throws: ``PluginFailure`` `unavailable` with the reason and what helps.
    func run() async throws -> String {
        let runner: LinkRunner
        do throws(ScaleLinkError) { runner = try LinkRunner(settings.link) } catch {
            throw PluginFailure(.failed, "\(error)")
        }
        defer { runner.stop() }
        let (startedAt, local) = (ContinuousClock.now, settings.clock(persons: []).clock)
        var host = HS3Host(settings: settings.host)
        var (isOpen, problem) = (false, ScaleLinkError?.none)
        runner.setAlarm(at: startedAt + patience)
        while let event = await runner.next() {
            let uptime = ContinuousClock.now - startedAt
            if uptime >= patience { break }
            let input: HS3Host.Input
            switch event {
            case .opened: (isOpen, input) = (true, .linkOpened)
            case .received(let bytes): input = .received(bytes)
            case .alarm: input = .tick
            case .closed(let reason): (isOpen, problem, input) = (false, reason, .linkClosed)
            case .unreachable(let error):
                problem = error
                // A sleeping scale may wake up yet.
                if error.code == .asleep, settings.link.bluetoothAddress != nil { continue }
                throw failure("\(error)", error.code)
            }
            let now = ScaleMoment(uptime: uptime, wall: local.wall(at: clock.now()))
            for action in host.handle(input, at: now) {
                switch action {
                case .send(let bytes): runner.send(bytes)
                case .close: runner.hangUp()
                case .event(.clock(_, let skew)): return found(skew)
                case .deliver:
                    // Not answered, so the scale keeps it; and until someone answers it says nothing else.
                    return "The HS3 \(settings.device) answers; it has a weighing to deliver."
                case .event: break
                }
            }
            runner.setAlarm(at: startedAt + min(patience, host.deadline ?? patience))
        }
        if isOpen {
            throw failure(
                "\(settings.link): the connection stands, but nothing answers like an HS3; is another program, such as the "
                    + "running plugin, connected to the scale?", .refused)
        }
        let nobody = "\(settings.link): nobody came within \(patience.components.seconds) s"
        throw failure(problem?.description ?? nobody, problem?.code ?? .asleep)
    }

    private func found(_ skew: Int) -> String {
        let time =
            switch skew {
            case 0: "its clock is right"
            case 1...: "its clock is \(skew) s fast"
            default: "its clock is \(-skew) s slow"
            }
        return "The HS3 \(settings.device) answers; \(time)."
    }

    private func failure(_ reason: String, _ code: ScaleLinkError.Code) -> PluginFailure {
        var message = reason + (reason.hasSuffix("?") ? "" : ".")
        // Where this machine has no Bluetooth, pairing is not what helps.
        if let address = settings.link.bluetoothAddress, code != .machine { message += " " + Self.help(address) }
        return PluginFailure(.unavailable, message)
    }

    /// What to do when a scale cannot be reached by Bluetooth.
    static func help(_ address: BluetoothAddress) -> String {
        "Step on the scale and try again while it shows the weight. If it was never paired: bluetoothctl scan on shows a "
            + "name that begins with \"iHealth HS3\"; then bluetoothctl pair \(address) (PIN 0000) and bluetoothctl trust "
            + "\(address)."
    }
}
