import ScaleProtocols
import ScaleLinks
public import ScaleStandIns
import Synchronization

/// A simulated scale behind a real link.
///
/// Make it, then call ``run()`` on a thread of its own; it blocks until ``stop()`` or `quit`. The other calls may
/// come from any thread. Hosts are served one at a time; between them the scale stays powered, as a real one does.
public final class ScaleSimulator: Sendable {
    /// How a host reaches the scale.
    public enum Link: Sendable, Hashable {
        /// Hosts dial in.
        case listen(LinkAddress)
        /// The scale dials out, again every second while it has no link.
        case connect(LinkAddress)
        /// A serial device whose path is the address.
        case pty
        /// Hosts send datagrams.
        case datagrams(LinkAddress)
    }

    /// What a simulator is made of.
    public struct Options: Sendable {
        /// How a host reaches it.
        public var link: Link
        /// The scale, with its memory and faults.
        public var device: SimulatedDevice
        /// Its Bluetooth or WiFi address as twelve upper-case hex digits.
        ///
        /// The wires of HS3 and HS4 do not carry it.
        public var deviceId = "020000003001"
        /// Where its dates come from.
        public var clock = SimulationClock.system
        /// What happens by itself once the first session has opened.
        public var plan: [PlannedCommand] = []
        /// Whether to end with ``SimulatorEvent/done``.
        public var endsWhenDone = false
        /// Drop the link after this many bytes of the scale, once.
        public var hangUpAfter: Int?

        /// A scale behind a link.
        public init(link: Link, device: SimulatedDevice) { (self.link, self.device) = (link, device) }

        /// A HS3 behind a link.
        public init(link: Link, device: HS3Device) { self.init(link: link, device: .hs3(device)) }

        /// Reads a device id: twelve hex digits, in which colons are ignored.
        public static func deviceId(_ text: String) throws(SimulatorError) -> String {
            let digits = text.filter { $0 != ":" }.uppercased()
            guard digits.utf8.count == 12, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                throw SimulatorError(.usage, "device id '\(text)': expected twelve hex digits, such as 020000003001")
            }
            return digits
        }

        /// Turns a fault on.
        public mutating func add(_ fault: FaultOption) { hangUpAfter = device.begin(fault) ?? hangUpAfter }
    }

    /// Where a host finds the scale: the address listened on, dialled, or the path of the pty.
    public let address: String

    private let options: Options
    private let report: @Sendable (SimulatorEvent) -> Void
    private let wakeup: Wakeup
    private let commands = Mutex<[SimulatorCommand]>([])
    private let opened: Mutex<OpenedLink?>

    /// Commands waiting to be carried out; more are dropped and said to be.
    private static let commandLimit = 10_000

    /// Opens the link, so that hosts may come as soon as this returns.
    ///
    /// `report` is called on the thread of ``run()``.
    public init(_ options: Options, report: @escaping @Sendable (SimulatorEvent) -> Void) throws(SimulatorError) {
        (self.options, self.report) = (options, report)
        do throws(ScaleLinkError) { wakeup = try Wakeup() } catch { throw SimulatorError(.link, "\(error)") }
        switch options.link {
        case .listen(let wanted):
            let (listener, address) = try wanted.listen()
            opened = Mutex(OpenedLink.listener(listener))
            self.address = "\(address)"
        case .connect(let place):
            opened = Mutex(OpenedLink.dialling)
            address = "\(place)"
        case .pty:
            let terminal = try PseudoTerminal()
            address = terminal.path
            opened = Mutex(OpenedLink.terminal(terminal))
        case .datagrams(let wanted):
            let (socket, address) = try wanted.listenForDatagrams()
            opened = Mutex(OpenedLink.datagrams(socket))
            self.address = "\(address)"
        }
    }

    /// Serves hosts until told to stop.
    ///
    /// A second call returns at once.
    public func run() throws(SimulatorError) {
        guard let link = opened.withLock({ $0.take() }) else { return }
        report(.listening(address, deviceId: options.deviceId))
        var loop = SimulatorLoop(options, link, report)
        try loop.run(wakeup) {
            commands.withLock { queue in
                defer { queue.removeAll() }
                return queue
            }
        }
    }

    /// Has a command carried out soon, after those submitted before.
    ///
    /// False where too many wait already.
    @discardableResult
    public func submit(_ command: SimulatorCommand) -> Bool {
        let isTaken = commands.withLock { queue in
            guard queue.count < ScaleSimulator.commandLimit else { return false }
            queue.append(command)
            return true
        }
        wakeup.wake()
        return isTaken
    }

    /// Ends ``run()`` soon.
    public func stop() {
        commands.withLock { $0 = [.quit] }
        wakeup.wake()
    }
}

/// The opened end of a link, before a host has come.
enum OpenedLink: Sendable {
    case listener(Descriptor)
    case dialling
    case terminal(PseudoTerminal)
    case datagrams(Descriptor)
}
