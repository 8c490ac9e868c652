import ScaleProtocols
public import ScaleStandIns
import Synchronization

/// A simulated scale behind a real link.
///
/// Create it, then call ``run()`` on a separate thread; it blocks until ``stop()`` or `quit`. The other calls may come from any thread. Hosts
/// are served one at a time; between them the scale stays powered, like a real one.
public final class ScaleSimulator: Sendable {
    /// The way in which a host reaches the scale.
    public enum Link: Sendable, Hashable {
        /// Hosts dial in.
        case listen(LinkAddress)
        /// The scale dials out, and tries again every second while it has no link.
        case connect(LinkAddress)
        /// A serial device whose path is the address.
        case pty
        /// Hosts send datagrams.
        case datagrams(LinkAddress)
    }

    /// The configuration of a simulator.
    public struct Options: Sendable {
        /// The way in which a host reaches the scale.
        public var link: Link
        /// The scale, with its memory and faults.
        public var device: any ScaleStandIn
        /// Its Bluetooth or WiFi address as twelve upper-case hex digits.
        ///
        /// The protocols of HS3 and HS4 do not transmit it.
        public var deviceId = "020000003001"
        /// The clock for its dates.
        public var clock = SimulationClock.system
        /// The commands to run once the first session has opened.
        public var plan: [PlannedCommand] = []
        /// Whether to end with ``SimulatorEvent/done``.
        public var endsWhenDone = false
        /// The number of bytes from the scale after which the link is dropped once.
        public var hangUpAfter: Int?

        /// A scale behind a link.
        public init(link: Link, device: any ScaleStandIn) { (self.link, self.device) = (link, device) }

        /// Parses a device id: twelve hex digits; colons are ignored.
        public static func deviceId(_ text: String) throws(SimulatorError) -> String {
            let digits = text.filter { $0 != ":" }.uppercased()
            guard digits.utf8.count == 12, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
                throw SimulatorError(.usage, "device id '\(text)': expected twelve hex digits, such as 020000003001")
            }
            return digits
        }

        /// Activates a fault.
        public mutating func add(_ fault: FaultOption) { hangUpAfter = fault.begin(on: &device) ?? hangUpAfter }
    }

    /// The address of the scale: the listening address, the dialled one, or the path of the pty.
    public let address: String

    private let options: Options
    private let report: @Sendable (SimulatorEvent) -> Void
    private let wakeup: Wakeup
    private let commands = Mutex<[SimulatorCommand]>([])
    private let opened: Mutex<OpenedLink?>

    /// Maximum number of waiting commands; further ones are dropped and reported.
    private static let commandLimit = 10_000

    /// Opens the link, so that hosts may connect as soon as the call returns.
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

    /// Serves hosts until it is stopped.
    ///
    /// A second call returns immediately.
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

    /// Queues a command after those submitted before.
    ///
    /// Returns false if too many commands are waiting.
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

/// The opened end of a link, before a host has connected.
enum OpenedLink: Sendable {
    case listener(LinkDescriptor)
    case dialling
    case terminal(PseudoTerminal)
    case datagrams(LinkDescriptor)
}
