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
        var (isOpen, problem) = (false, String?.none)
        runner.setAlarm(at: startedAt + patience)
        while let event = await runner.next() {
            let uptime = ContinuousClock.now - startedAt
            if uptime >= patience { break }
            let input: HS3Host.Input
            switch event {
            case .opened: (isOpen, input) = (true, .linkOpened)
            case .received(let bytes): input = .received(bytes)
            case .alarm: input = .tick
            case .closed(let reason): (isOpen, problem, input) = (false, reason?.description, .linkClosed)
            case .unreachable(let error):
                if error.code != .asleep || settings.link.bluetoothAddress == nil { throw failure("\(error)") }
                problem = "\(error)"
                continue
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
        let silence =
            isOpen
            ? "\(settings.link): the connection stands, but nothing answers like an HS3; is another program, such as the "
                + "running plugin, connected to the scale?"
            : problem ?? "\(settings.link): nobody came within \(patience.components.seconds) s"
        throw failure(silence)
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

    private func failure(_ reason: String) -> PluginFailure {
        let help =
            settings.link.bluetoothAddress.map { address in
                " Step on the scale and try again while it shows the weight. If it was never paired: bluetoothctl scan on "
                    + "shows a name that begins with \"iHealth HS3\"; then bluetoothctl pair \(address) (PIN 0000) and "
                    + "bluetoothctl trust \(address)."
            } ?? ""
        return PluginFailure(.unavailable, reason + (reason.hasSuffix("?") || reason.hasSuffix(".") ? "" : ".") + help)
    }
}
