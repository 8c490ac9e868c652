import Platform

/// A violation of the protocol, and the reaction to it.
///
/// It never contains a weight.
public enum ScaleWarning: Sendable, Hashable, CustomStringConvertible {
    /// Bytes that belong to no frame.
    case skippedBytes(Int)
    /// Frames with a wrong checksum.
    ///
    /// The scale repeats them.
    case badChecksums(Int)
    /// A frame or datagram of another model, or one that is too short.
    case foreignFrame
    /// Data of the wrong length; acknowledged, because a repetition would be no better.
    case malformed(command: UInt8, sequence: UInt8)
    /// A known command at the wrong time; acknowledged.
    case unexpected(command: UInt8, sequence: UInt8)
    /// An answer to a request that no longer waits for one, for example after a repetition; the link has no fault.
    case lateAnswer(command: UInt8, sequence: UInt8)
    /// An undocumented command; acknowledged.
    case unknown(command: UInt8, sequence: UInt8)
    /// A nibble above 9 in a weight; the record is dropped.
    case badWeightDigits(command: UInt8, sequence: UInt8)
    /// Bytes after the last whole record of a memory frame.
    case trailingBytes(Int, sequence: UInt8)
    /// A memory count above 200, taken as 200.
    case memoryCountAboveLimit(Int)
    /// The number of received records differs from the announced one.
    case memoryCountDiffers(announced: Int, received: Int)
    /// The scale's clock shows no date.
    case unreadableClock
    /// The host's date cannot be transmitted to the scale.
    case clockOutOfRange
    /// A warning from a link that has its own messages.
    case other(String)
    /// Too many deliveries wait for an answer; nothing is acknowledged, so that the scale keeps the data.
    case tooManyUnanswered

    /// The name of the case without its numbers, because a noisy line produces many warnings of few kinds.
    public var kind: String {
        if case .other(let text) = self { return text.filter { !$0.isNumber } }
        return Mirror(reflecting: self).children.first?.label ?? "\(self)"
    }

    public var description: String {
        switch self {
        case .skippedBytes(let count): "skipped \(count) bytes that belong to no frame"
        case .badChecksums(let count): "ignored \(count) frames with a wrong checksum; the scale repeats them"
        case .foreignFrame: "ignored a frame that is not of this scale"
        case .malformed(let command, let sequence):
            "frame \(hex(command)) number \(sequence) has data of a wrong length; its content is lost"
        case .unexpected(let command, let sequence):
            "frame \(hex(command)) number \(sequence) does not belong at this place; acknowledged and ignored"
        case .lateAnswer(let command, let sequence):
            "frame \(hex(command)) number \(sequence) answers no request that waits; ignored"
        case .unknown(let command, let sequence):
            "frame \(hex(command)) number \(sequence) has no known meaning; acknowledged and ignored"
        case .badWeightDigits(let command, let sequence):
            "frame \(hex(command)) number \(sequence) has a weight that is not a number; that record is dropped"
        case .trailingBytes(let count, let sequence):
            "memory frame number \(sequence) ends with \(count) bytes of an incomplete record"
        case .memoryCountAboveLimit(let count): "the scale announces \(count) records; its memory holds 200"
        case .memoryCountDiffers(let announced, let received):
            "the scale announced \(announced) records and sent \(received)"
        case .unreadableClock: "the scale's clock shows no date"
        case .clockOutOfRange: "the host's date is outside the years 2000–2063; the scale's clock is not set"
        case .other(let text): text
        case .tooManyUnanswered: "too many weighings wait to be kept; the scale will repeat this one"
        }
    }

    private func hex(_ byte: UInt8) -> String { [byte].hexadecimal.uppercased() }
}
