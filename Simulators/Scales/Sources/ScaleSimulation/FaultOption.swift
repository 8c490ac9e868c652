import ScaleFrames

/// A fault by its name on the command line, `name` or `name=value`.
public struct FaultOption: Sendable, Hashable {
    /// Kinds of scales that have a fault.
    public struct Scales: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let hs3 = Scales(rawValue: 1)
        public static let hs4 = Scales(rawValue: 2)
        public static let hs5 = Scales(rawValue: 4)
        public static let hsl = Scales(rawValue: 8)
        static let all: Scales = [.hs3, .hs4, .hs5, .hsl]
        static let streams: Scales = [.hs3, .hs4, .hsl]
        static let wires: Scales = [.hs3, .hs4, .hs5]
    }

    /// One that can be asked for.
    public struct Known: Sendable {
        public let name: String
        /// What its value means.
        public let value: String
        /// What it is without one; nil where one must be given.
        public let standard: Int?
        public let scales: Scales

        fileprivate init(_ name: String, _ value: String, _ standard: Int?, _ scales: Scales) {
            (self.name, self.value, self.standard, self.scales) = (name, value, standard, scales)
        }
    }

    public static let all: [Known] = [
        Known("bad-checksum", "every n-th frame first has a wrong checksum", 2, .wires),
        Known("lose-ack", "every n-th command is not acknowledged", 2, .hs3),
        Known("repeat", "every n-th message of the scale is sent twice", 1, .all),
        Known("deaf", "every n-th message of the host is not heard", 3, .all),
        Known("lose", "every n-th datagram of the scale is lost", 3, .hs5),
        Known("lose-piece", "every n-th message of several pieces first lacks one", 2, .hs4),
        Known("shuffle", "every n-th message of several pieces comes backwards", 1, .hs4),
        Known("bad-line", "every n-th line follows one that is no JSON", 2, .hsl),
        Known("long-line", "a line longer than the protocol allows, once", 1, .hsl),
        Known("cut", "the next frame stops after n bytes, once", nil, .hs3),
        Known("hangup", "the link is dropped after n more bytes, once", nil, .streams),
        Known("garbage", "n meaningless bytes before each frame", 7, [.hs3, .hs4]),
        Known("pieces", "all is written in pieces of n bytes", 1, .streams),
        Known("power-off", "no battery after n records of a transfer, once", nil, .all),
        Known("bad-digit", "every n-th record has a weight that is no number", 2, .hs3),
        Known("zero-date", "every n-th record has no date", 2, .hs3),
        Known("count", "the memory count is announced as n", nil, [.hs3, .hsl]),
        Known("early-weight", "n tenths of a kilogram before the session opens", 740, .hs3),
        Known("refuse-login", "the log-in is refused (FE); n=0 ends it", 1, [.hs4, .hs5]),
        Known("ignore-login", "the log-in is not answered; n=0 ends it", 1, [.hs4, .hs5]),
        Known("login-again", "the log-in is begun again n times (FF)", 1, .hs4),
        Known("refuse-measure", "no measurement is opened; n=0 ends it", 1, [.hs4, .hs5]),
        Known("refuse-memory", "no memory is opened; n=0 ends it", 1, .hsl),
        Known("refuse-users", "no user is created, changed or deleted; n=0 ends it", 1, [.hs5, .hsl]),
        Known("busy", "the scale is busy with its cloud n times", 1, [.hs5, .hsl]),
        Known("shoes", "nobody's composition is measured; n=0 ends it", 1, [.hs5, .hsl]),
        Known("ignore-user", "the person is never checked; n=0 ends it", 1, .hsl),
        Known("wrong-proof", "the token is not proved; n=0 ends it", 1, .hsl),
    ]

    let name: String
    let value: Int
    /// Whose fault it can be.
    public let scales: Scales

    /// Reads `name` or `name=value`.
    public init(_ text: some StringProtocol, of scales: Scales? = nil) throws(SimulatorError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let allowed = FaultOption.all.filter { scales == nil || !$0.scales.isDisjoint(with: scales ?? []) }
        guard let first = parts.first, let known = allowed.first(where: { $0.name == first }) else {
            let names = allowed.map(\.name).joined(separator: ", ")
            throw SimulatorError(.usage, "fault '\(text)': there is none of that name; there are \(names)")
        }
        guard let value = parts.count == 2 ? Values.digits(parts[1]) : known.standard else {
            throw SimulatorError(.usage, "fault '\(text)': expected \(known.name)=n, where \(known.value)")
        }
        guard known.name != "count" || value <= 255 else {
            throw SimulatorError(.usage, "fault '\(text)': the count is one byte, 0 to 255")
        }
        (name, self.value, self.scales) = (known.name, value, known.scales)
    }

    private var isOn: Bool { value > 0 }

    func apply(to faults: inout HS3Device.Faults) {
        switch name {
        case "bad-checksum": faults.badChecksumEvery = value
        case "lose-ack": faults.loseAcknowledgementEvery = value
        case "repeat": faults.repeatEvery = value
        case "deaf": faults.deafEvery = value
        case "cut": faults.cutAt = value
        case "garbage": faults.garbage = min(value, 10_000)
        case "pieces": faults.pieces = value
        case "power-off": faults.powerOffAfterRecords = value
        case "bad-digit": faults.badDigitEvery = value
        case "zero-date": faults.zeroDateEvery = value
        case "count": faults.announcedCount = UInt8(truncatingIfNeeded: value)
        case "early-weight": faults.weighOnLink = value
        default: break
        }
    }

    func apply(to faults: inout HS4Device.Faults) {
        switch name {
        case "bad-checksum": faults.badChecksumEvery = value
        case "repeat": faults.repeatEvery = value
        case "deaf": faults.deafEvery = value
        case "lose-piece": faults.losePieceEvery = value
        case "shuffle": faults.shuffleEvery = value
        case "garbage": faults.garbage = min(value, 10_000)
        case "pieces": faults.pieces = value
        case "power-off": faults.powerOffAfterRecords = value
        case "refuse-login": faults.refusesLogIn = isOn
        case "ignore-login": faults.ignoresLogIn = isOn
        case "login-again": faults.logInAgain = value
        case "refuse-measure": faults.refusesMeasurement = isOn
        default: break
        }
    }

    func apply(to faults: inout HS5Device.Faults) {
        switch name {
        case "bad-checksum": faults.badChecksumEvery = value
        case "repeat": faults.repeatEvery = value
        case "deaf": faults.deafEvery = value
        case "lose": faults.loseEvery = value
        // A packet holds up to 15 records.
        case "power-off": faults.powerOffAfterPackets = value / 15
        case "busy": faults.busy = value
        case "refuse-login": faults.refusesLogIn = isOn
        case "ignore-login": faults.ignoresLogIn = isOn
        case "refuse-measure": faults.refusesMeasurement = isOn
        case "refuse-users": faults.refusesUsers = isOn
        case "shoes": faults.losesComposition = isOn
        default: break
        }
    }

    func apply(to faults: inout HSLDevice.Faults) {
        switch name {
        case "repeat": faults.repeatEvery = value
        case "deaf": faults.deafEvery = value
        case "bad-line": faults.badLineEvery = value
        case "long-line": faults.overlongLine = isOn
        case "pieces": faults.pieces = value
        case "power-off": faults.powerOffAfterRecords = value
        case "count": faults.announcedCount = value
        case "refuse-memory": faults.refusesMemory = isOn
        case "refuse-users": faults.refusesUsers = isOn
        case "busy": faults.busy = value
        case "shoes": faults.losesComposition = isOn
        case "ignore-user": faults.ignoresAuthentication = isOn
        case "wrong-proof": faults.wrongProof = isOn
        default: break
        }
    }
}
