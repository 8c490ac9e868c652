import ScaleProtocols
public import ScaleStandIns

/// A fault by its name on the command line, `name` or `name=value`.
public struct FaultOption: Sendable, Hashable {
    /// A known fault, with its effect on a stand-in that has it.
    public struct Known: Sendable {
        public let name: String
        /// The meaning of its value.
        public let value: String
        /// The default value; `nil` if a value is required.
        public let standard: Int?
        /// The kinds of scales that can have the fault.
        public let scales: StandInKind
        let apply: @Sendable (inout StandInFaults, Int) -> Void

        fileprivate init(
            _ name: String, _ value: String, _ standard: Int?, _ scales: StandInKind,
            apply: @escaping @Sendable (inout StandInFaults, Int) -> Void
        ) {
            (self.name, self.value, self.standard, self.scales, self.apply) = (name, value, standard, scales, apply)
        }
    }

    public static let all: [Known] = [
        Known("bad-checksum", "every n-th frame first has a wrong checksum", 2, [.hs3, .hs4, .hs5]) {
            $0.badChecksumEvery = $1
        },
        Known("lose-ack", "every n-th command is not acknowledged", 2, .hs3) { $0.loseAcknowledgementEvery = $1 },
        Known("repeat", "every n-th message of the scale is sent twice", 1, [.hs3, .hs4, .hs5, .hsl]) {
            $0.repeatEvery = $1
        },
        Known("deaf", "every n-th message of the host is not heard", 3, [.hs3, .hs4, .hs5, .hsl]) { $0.deafEvery = $1 },
        Known("lose", "every n-th datagram of the scale is lost", 3, .hs5) { $0.loseEvery = $1 },
        Known("lose-piece", "every n-th message of several pieces first lacks one", 2, .hs4) { $0.losePieceEvery = $1 },
        Known("shuffle", "every n-th message of several pieces comes backwards", 1, .hs4) { $0.shuffleEvery = $1 },
        Known("bad-line", "every n-th line follows one that is not JSON", 2, .hsl) { $0.badLineEvery = $1 },
        Known("long-line", "a line longer than the protocol allows, once", 1, .hsl) { $0.overlongLine = $1 > 0 },
        Known("cut", "the next frame stops after n bytes, once", nil, .hs3) { $0.cutAt = $1 },
        Known("hangup", "the link is dropped after n more bytes, once", nil, [.hs3, .hs4, .hsl]) { _, _ in },
        Known("garbage", "n meaningless bytes before each frame", 7, [.hs3, .hs4]) { $0.garbage = min($1, 10_000) },
        Known("pieces", "all is written in pieces of n bytes", 1, [.hs3, .hs4, .hsl]) { $0.pieces = $1 },
        Known("power-off", "no battery after n records of a transfer, once", nil, [.hs3, .hs4, .hs5, .hsl]) {
            // A packet holds up to 15 records.
            ($0.powerOffAfterRecords, $0.powerOffAfterPackets) = ($1, $1 / 15)
        },
        Known("bad-digit", "every n-th record has a weight that is not a number", 2, .hs3) { $0.badDigitEvery = $1 },
        Known("zero-date", "every n-th record has no date", 2, .hs3) { $0.zeroDateEvery = $1 },
        Known("count", "the memory count is announced as n", nil, [.hs3, .hsl]) { $0.announcedCount = $1 },
        Known("early-weight", "n tenths of a kilogram before the session opens", 740, .hs3) { $0.weighOnLink = $1 },
        Known("refuse-login", "the log-in is refused (FE); n=0 ends it", 1, [.hs4, .hs5]) { $0.refusesLogIn = $1 > 0 },
        Known("ignore-login", "the log-in is not answered; n=0 ends it", 1, [.hs4, .hs5]) { $0.ignoresLogIn = $1 > 0 },
        Known("login-again", "the log-in is begun again n times (FF)", 1, .hs4) { $0.logInAgain = $1 },
        Known("refuse-measure", "no measurement is opened; n=0 ends it", 1, [.hs4, .hs5]) {
            $0.refusesMeasurement = $1 > 0
        },
        Known("refuse-memory", "no memory is opened; n=0 ends it", 1, .hsl) { $0.refusesMemory = $1 > 0 },
        Known("refuse-users", "no user is created, changed or deleted; n=0 ends it", 1, [.hs5, .hsl]) {
            $0.refusesUsers = $1 > 0
        },
        Known("busy", "the scale is busy with its cloud n times", 1, [.hs5, .hsl]) { $0.busy = $1 },
        Known("shoes", "no composition is measured; n=0 ends it", 1, [.hs5, .hsl]) { $0.losesComposition = $1 > 0 },
        Known("ignore-user", "the person is never checked; n=0 ends it", 1, .hsl) { $0.ignoresAuthentication = $1 > 0 },
        Known("wrong-proof", "the token is not proved; n=0 ends it", 1, .hsl) { $0.wrongProof = $1 > 0 },
    ]

    let name: String
    let value: Int
    /// The kinds of scales that can have the fault.
    public let scales: StandInKind

    /// Parses `name` or `name=value`.
    public init(_ text: some StringProtocol, of scales: StandInKind? = nil) throws(SimulatorError) {
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

    public func apply(to faults: inout StandInFaults) {
        FaultOption.all.first { $0.name == name }?.apply(&faults, value)
    }

    /// Begins the fault on a stand-in; for a fault of the link, returns the number of bytes after which it is dropped.
    func begin(on device: inout some ScaleStandIn) -> Int? {
        if name == "hangup" { return value }
        if !scales.isDisjoint(with: type(of: device).kind) { apply(to: &device.faults) }
        return nil
    }
}
