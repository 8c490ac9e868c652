public import ScaleProtocols

/// A command of a person or a test to a running scale.
public enum SimulatorCommand: Sendable, Hashable {
    /// A person steps on: tenths of a kilogram, and the time on the scale's clock if it is not the current one.
    ///
    /// On a HS5 the person is one of its users, by number, and shoes prevent the measurement of the composition.
    case stepOn(tenthsOfKilogram: Int, at: WallTime?, user: UInt32? = nil, hasShoes: Bool = false)
    /// A weighing goes into the memory without being reported; without a time it has the current one.
    case store(tenthsOfKilogram: Int, at: WallTime?, user: UInt32? = nil)
    /// The scale reports an error byte.
    case fail(UInt8)
    /// The link is dropped; the scale stays powered and accepts the next one.
    case disconnect
    /// The scale is out of reach: no link until ``back``.
    case away
    /// The scale is in reach again.
    case back
    /// The batteries are replaced.
    case restart
    /// The scale's clock jumps by this many seconds.
    case clock(seconds: Int)
    /// A fault begins.
    case fault(FaultOption)
    /// All faults end.
    case noFaults
    /// The simulator ends.
    case quit

    /// The available commands, one per line.
    public static let help = """
        step on 72.4                   someone weighs 72.4 kg now
        step on 72.4 2026-11-20T07:30  the same, with that date on the scale
        step on 72.4 user 11 shoes     HS5: user 11, with shoes on
        store 73.1                     a weighing unknown to any host, now
        store 73.1 2026-11-20T07:30    the same, with that date; 'user 11' on a HS5
        fail Er7                       report Lo, Er0 to Er9, or a byte (0x55)
        disconnect                     drop the link; the next host may come
        away                           out of reach: no link until 'back'
        back                           in reach again
        restart                        take the batteries out and in again
        clock +46s                     the clock of the scale jumps
        fault bad-checksum=3           begin a fault; 'fault none' ends all
        quit                           end the simulator
        """

    /// Parses a line; `nil` if it is empty.
    public init?(line: String) throws(SimulatorError) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let verb = words.first else { return nil }
        switch (verb, words.count) {
        case ("step", 3...7) where words[1] == "on":
            let rest = try Details(words[3...])
            self = .stepOn(
                tenthsOfKilogram: try ValueParser.tenths(words[2]), at: rest.time, user: rest.user,
                hasShoes: rest.hasShoes)
        case ("store", 2...5):
            let rest = try Details(words[2...])
            self = .store(tenthsOfKilogram: try ValueParser.tenths(words[1]), at: rest.time, user: rest.user)
        case ("fail", 2): self = .fail(try ValueParser.errorByte(words[1]))
        case ("disconnect", 1): self = .disconnect
        case ("away", 1): self = .away
        case ("back", 1): self = .back
        case ("restart", 1): self = .restart
        case ("clock", 2): self = .clock(seconds: try ValueParser.signedSeconds(words[1]))
        case ("fault", 2): self = words[1] == "none" ? .noFaults : .fault(try FaultOption(words[1]))
        case ("quit", 1): self = .quit
        default:
            throw SimulatorError(.usage, "'\(line)' is not a command; these are:\n\(SimulatorCommand.help)")
        }
    }

    /// The optional parts after a weight: a date, `user` and a number, `shoes`.
    private struct Details {
        var time: WallTime?
        var user: UInt32?
        var hasShoes = false

        init(_ words: ArraySlice<Substring>) throws(SimulatorError) {
            var rest = words
            while let word = rest.popFirst() {
                switch word {
                case "shoes": hasShoes = true
                case "user":
                    guard let number = rest.popFirst().flatMap({ ValueParser.digits($0) }), number > 0 else {
                        throw SimulatorError(.usage, "'user': expected a number from 1 after it")
                    }
                    user = UInt32(number)
                default: time = try SimulatorCommand.time(word)
                }
            }
        }
    }

    static func time(_ text: some StringProtocol) throws(SimulatorError) -> WallTime {
        guard let time = WallTime(text), (2000...2063).contains(time.year) else {
            throw SimulatorError(
                .usage, "date '\(text)': expected a date of 2000 to 2063 and a time, such as 2026-11-20T07:30")
        }
        return time
    }
}
