import ScaleFrames

/// A fault by its name on the command line, `name` or `name=value`.
public struct FaultOption: Sendable, Hashable {
    /// Every name, what its value means and what it is without one; nil where one must be given.
    public static let all: [(name: String, value: String, standard: Int?)] = [
        ("bad-checksum", "every n-th frame first has a wrong checksum", 2),
        ("lose-ack", "every n-th command is not acknowledged", 2),
        ("repeat", "every n-th frame of the scale is sent twice", 1),
        ("deaf", "every n-th frame of the host is not heard", 3),
        ("cut", "the next frame stops after n bytes, once", nil),
        ("hangup", "the link is dropped after n more bytes, once", nil),
        ("garbage", "n meaningless bytes before each frame", 7),
        ("pieces", "all is written in pieces of n bytes", 1),
        ("power-off", "no battery after n records of a transfer, once", nil),
        ("bad-digit", "every n-th record has a weight that is no number", 2),
        ("zero-date", "every n-th record has no date", 2),
        ("count", "the memory count is announced as n", nil),
        ("early-weight", "n tenths of a kilogram before the session opens", 740),
    ]

    let name: String
    let value: Int

    /// Reads `name` or `name=value`.
    public init(_ text: some StringProtocol) throws(SimulatorError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let known = FaultOption.all.first(where: { $0.name == first }) else {
            let names = FaultOption.all.map(\.name).joined(separator: ", ")
            throw SimulatorError(.usage, "fault '\(text)': there is none of that name; there are \(names)")
        }
        guard let value = parts.count == 2 ? Values.digits(parts[1]) : known.standard else {
            throw SimulatorError(.usage, "fault '\(text)': expected \(known.name)=n, where \(known.value)")
        }
        guard known.name != "count" || value <= 255 else {
            throw SimulatorError(.usage, "fault '\(text)': the count is one byte, 0 to 255")
        }
        (name, self.value) = (known.name, value)
    }

    /// Turns the fault on in a scale.
    ///
    /// `hangup` is not the scale's but the link's: it returns its number of bytes.
    func apply(to faults: inout HS3Device.Faults) -> Int? {
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
        default: return value
        }
        return nil
    }
}
