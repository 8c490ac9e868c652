import ScaleProtocols
import ScaleStandIns

/// A fault by its name on the command line, `name` or `name=value`.
public struct FaultOption: Sendable, Hashable {
    /// The kinds of scales that have a fault.
    public struct Scales: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }
        public static let hs3 = Scales(rawValue: 1)
        public static let hs4 = Scales(rawValue: 2)
        public static let hs5 = Scales(rawValue: 4)
        public static let hsl = Scales(rawValue: 8)
    }

    /// The effect of a value on the faults of one kind of scale.
    struct Effect<Faults>: Sendable {
        let apply: @Sendable (inout Faults, Int) -> Void

        init(_ apply: @escaping @Sendable (inout Faults, Int) -> Void) { self.apply = apply }
    }

    /// A known fault, with its effect on each kind of scale that has it.
    public struct Known: Sendable {
        public let name: String
        /// The meaning of its value.
        public let value: String
        /// The default value; `nil` if a value is required.
        public let standard: Int?
        /// The kinds of scales that can have the fault.
        public let scales: Scales
        let hs3: Effect<HS3Device.Faults>?
        let hs4: Effect<HS4Device.Faults>?
        let hs5: Effect<HS5Device.Faults>?
        let hsl: Effect<HSLDevice.Faults>?

        /// - Parameter links: the kinds of scales whose link it affects, in addition to the scales themselves.
        fileprivate init(
            _ name: String, _ value: String, _ standard: Int?, hs3: Effect<HS3Device.Faults>? = nil,
            hs4: Effect<HS4Device.Faults>? = nil, hs5: Effect<HS5Device.Faults>? = nil,
            hsl: Effect<HSLDevice.Faults>? = nil, links: Scales = []
        ) {
            (self.name, self.value, self.standard) = (name, value, standard)
            (self.hs3, self.hs4, self.hs5, self.hsl) = (hs3, hs4, hs5, hsl)
            scales = links.union(hs3 == nil ? [] : .hs3).union(hs4 == nil ? [] : .hs4).union(hs5 == nil ? [] : .hs5)
                .union(hsl == nil ? [] : .hsl)
        }
    }

    public static let all: [Known] = [
        Known(
            "bad-checksum", "every n-th frame first has a wrong checksum", 2, hs3: Effect { $0.badChecksumEvery = $1 },
            hs4: Effect { $0.badChecksumEvery = $1 }, hs5: Effect { $0.badChecksumEvery = $1 }),
        Known(
            "lose-ack", "every n-th command is not acknowledged", 2, hs3: Effect { $0.loseAcknowledgementEvery = $1 }),
        Known(
            "repeat", "every n-th message of the scale is sent twice", 1, hs3: Effect { $0.repeatEvery = $1 },
            hs4: Effect { $0.repeatEvery = $1 }, hs5: Effect { $0.repeatEvery = $1 },
            hsl: Effect { $0.repeatEvery = $1 }),
        Known(
            "deaf", "every n-th message of the host is not heard", 3, hs3: Effect { $0.deafEvery = $1 },
            hs4: Effect { $0.deafEvery = $1 }, hs5: Effect { $0.deafEvery = $1 }, hsl: Effect { $0.deafEvery = $1 }),
        Known("lose", "every n-th datagram of the scale is lost", 3, hs5: Effect { $0.loseEvery = $1 }),
        Known(
            "lose-piece", "every n-th message of several pieces first lacks one", 2,
            hs4: Effect { $0.losePieceEvery = $1 }),
        Known(
            "shuffle", "every n-th message of several pieces comes backwards", 1, hs4: Effect { $0.shuffleEvery = $1 }),
        Known("bad-line", "every n-th line follows one that is not JSON", 2, hsl: Effect { $0.badLineEvery = $1 }),
        Known("long-line", "a line longer than the protocol allows, once", 1, hsl: Effect { $0.overlongLine = $1 > 0 }),
        Known("cut", "the next frame stops after n bytes, once", nil, hs3: Effect { $0.cutAt = $1 }),
        Known("hangup", "the link is dropped after n more bytes, once", nil, links: [.hs3, .hs4, .hsl]),
        Known(
            "garbage", "n meaningless bytes before each frame", 7, hs3: Effect { $0.garbage = min($1, 10_000) },
            hs4: Effect { $0.garbage = min($1, 10_000) }),
        Known(
            "pieces", "all is written in pieces of n bytes", 1, hs3: Effect { $0.pieces = $1 },
            hs4: Effect { $0.pieces = $1 },
            hsl: Effect { $0.pieces = $1 }),
        Known(
            "power-off", "no battery after n records of a transfer, once", nil,
            hs3: Effect { $0.powerOffAfterRecords = $1 },
            hs4: Effect { $0.powerOffAfterRecords = $1 },
            // A packet holds up to 15 records.
            hs5: Effect { $0.powerOffAfterPackets = $1 / 15 }, hsl: Effect { $0.powerOffAfterRecords = $1 }),
        Known(
            "bad-digit", "every n-th record has a weight that is not a number", 2, hs3: Effect { $0.badDigitEvery = $1 }
        ),
        Known("zero-date", "every n-th record has no date", 2, hs3: Effect { $0.zeroDateEvery = $1 }),
        Known(
            "count", "the memory count is announced as n", nil,
            hs3: Effect { $0.announcedCount = UInt8(truncatingIfNeeded: $1) }, hsl: Effect { $0.announcedCount = $1 }),
        Known(
            "early-weight", "n tenths of a kilogram before the session opens", 740, hs3: Effect { $0.weighOnLink = $1 }),
        Known(
            "refuse-login", "the log-in is refused (FE); n=0 ends it", 1, hs4: Effect { $0.refusesLogIn = $1 > 0 },
            hs5: Effect { $0.refusesLogIn = $1 > 0 }),
        Known(
            "ignore-login", "the log-in is not answered; n=0 ends it", 1, hs4: Effect { $0.ignoresLogIn = $1 > 0 },
            hs5: Effect { $0.ignoresLogIn = $1 > 0 }),
        Known("login-again", "the log-in is begun again n times (FF)", 1, hs4: Effect { $0.logInAgain = $1 }),
        Known(
            "refuse-measure", "no measurement is opened; n=0 ends it", 1,
            hs4: Effect { $0.refusesMeasurement = $1 > 0 },
            hs5: Effect { $0.refusesMeasurement = $1 > 0 }),
        Known("refuse-memory", "no memory is opened; n=0 ends it", 1, hsl: Effect { $0.refusesMemory = $1 > 0 }),
        Known(
            "refuse-users", "no user is created, changed or deleted; n=0 ends it", 1,
            hs5: Effect { $0.refusesUsers = $1 > 0 },
            hsl: Effect { $0.refusesUsers = $1 > 0 }),
        Known(
            "busy", "the scale is busy with its cloud n times", 1, hs5: Effect { $0.busy = $1 },
            hsl: Effect { $0.busy = $1 }),
        Known(
            "shoes", "no composition is measured; n=0 ends it", 1, hs5: Effect { $0.losesComposition = $1 > 0 },
            hsl: Effect { $0.losesComposition = $1 > 0 }),
        Known(
            "ignore-user", "the person is never checked; n=0 ends it", 1,
            hsl: Effect { $0.ignoresAuthentication = $1 > 0 }),
        Known("wrong-proof", "the token is not proved; n=0 ends it", 1, hsl: Effect { $0.wrongProof = $1 > 0 }),
    ]

    let name: String
    let value: Int
    /// The kinds of scales that can have the fault.
    public let scales: Scales

    /// Parses `name` or `name=value`.
    public init(_ text: some StringProtocol, of scales: Scales? = nil) throws(SimulatorError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let allowed = FaultOption.all.filter { scales == nil || !$0.scales.isDisjoint(with: scales ?? []) }
        guard let first = parts.first, let known = allowed.first(where: { $0.name == first }) else {
            let names = allowed.map(\.name).joined(separator: ", ")
            throw SimulatorError(.usage, "fault '\(text)': there is none of that name; there are \(names)")
        }
        guard let value = parts.count == 2 ? ValueParser.digits(parts[1]) : known.standard else {
            throw SimulatorError(.usage, "fault '\(text)': expected \(known.name)=n, where \(known.value)")
        }
        guard known.name != "count" || value <= 255 else {
            throw SimulatorError(.usage, "fault '\(text)': the count is one byte, 0 to 255")
        }
        (name, self.value, self.scales) = (known.name, value, known.scales)
    }

    private var known: Known? { FaultOption.all.first { $0.name == name } }

    func apply(to faults: inout HS3Device.Faults) { known?.hs3?.apply(&faults, value) }
    func apply(to faults: inout HS4Device.Faults) { known?.hs4?.apply(&faults, value) }
    func apply(to faults: inout HS5Device.Faults) { known?.hs5?.apply(&faults, value) }
    func apply(to faults: inout HSLDevice.Faults) { known?.hsl?.apply(&faults, value) }
}
