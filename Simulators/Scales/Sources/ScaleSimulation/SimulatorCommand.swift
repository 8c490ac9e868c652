public import ScaleFrames

/// What a person or a test tells a running scale.
public enum SimulatorCommand: Sendable, Hashable {
    /// Someone steps on: tenths of a kilogram, and what the clock of the scale shows where it is not now.
    case stepOn(tenthsOfKilogram: Int, at: WallTime?)
    /// A weighing gets into the memory unseen.
    case store(tenthsOfKilogram: Int, at: WallTime)
    /// The scale reports an error byte.
    case fail(UInt8)
    /// The link is dropped; the scale stays powered and takes the next one.
    case disconnect
    /// The batteries are taken out and put in again.
    case restart
    /// The clock of the scale jumps by seconds.
    case clock(seconds: Int)
    /// A fault begins.
    case fault(FaultOption)
    /// All faults end.
    case noFaults
    /// The simulator ends.
    case quit

    /// What can be typed, a line each.
    public static let help = """
        step on 72.4                   someone weighs 72.4 kg now
        step on 72.4 2026-11-20T07:30  the same, with that date on the scale
        store 73.1 2026-11-20T07:30    a weighing no host was told of
        fail Er7                       report Lo, Er2, Er4, Er7, or a byte (0x55)
        disconnect                     drop the link; the next host may come
        restart                        take the batteries out and in again
        clock +46s                     the clock of the scale jumps
        fault bad-checksum=3           begin a fault; 'fault none' ends all
        quit                           end the simulator
        """

    /// Reads a line; nil where it is empty.
    public init?(line: String) throws(SimulatorError) {
        let words = line.split(whereSeparator: \.isWhitespace)
        guard let verb = words.first else { return nil }
        switch (verb, words.count) {
        case ("step", 3...4) where words[1] == "on":
            let time = words.count == 4 ? try SimulatorCommand.time(words[3]) : nil
            self = .stepOn(tenthsOfKilogram: try Values.tenths(words[2]), at: time)
        case ("store", 3):
            self = .store(tenthsOfKilogram: try Values.tenths(words[1]), at: try SimulatorCommand.time(words[2]))
        case ("fail", 2): self = .fail(try Values.errorByte(words[1]))
        case ("disconnect", 1): self = .disconnect
        case ("restart", 1): self = .restart
        case ("clock", 2): self = .clock(seconds: try Values.signedSeconds(words[1]))
        case ("fault", 2): self = words[1] == "none" ? .noFaults : .fault(try FaultOption(words[1]))
        case ("quit", 1): self = .quit
        default:
            throw SimulatorError(.usage, "'\(line)' is no command; these are:\n\(SimulatorCommand.help)")
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
