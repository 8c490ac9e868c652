import JSON
import Samples

/// The position of a message in the hub's sequence and on its topic: `<sequence> <previous> <epoch>` (Protocol §7).
public struct FeedPosition: Hashable, Sendable, CustomStringConvertible {
    /// The hub's sequence; 0 for messages that are not stored.
    public var sequence: Int64
    /// The previous sequence on exactly this topic; 0 if there was none (R7.2).
    public var previous: Int64
    /// The epoch of both numbers, even if they are 0: after a restore the same numbers mean other records (R7.9).
    public var epoch: String

    public init(sequence: Int64, previous: Int64, epoch: String) {
        (self.sequence, self.previous, self.epoch) = (sequence, previous, epoch)
    }

    /// `0 0 <epoch>`: a message that is not stored.
    public static func passing(in epoch: String) -> FeedPosition {
        FeedPosition(sequence: 0, previous: 0, epoch: epoch)
    }

    /// Parses the second frame; `nil` for any other form.
    ///
    /// Numbers have only one spelling and fit `Int64`.
    public init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, let sequence = Self.number(parts[0]), let previous = Self.number(parts[1]),
            case let epoch = String(decoding: parts[2], as: UTF8.self), Cursor.isEpoch(epoch)
        else { return nil }
        self.init(sequence: sequence, previous: previous, epoch: epoch)
    }

    private static func number(_ digits: some Collection<UInt8>) -> Int64? {
        guard let first = digits.first, first != UInt8(ascii: "0") || digits.count == 1 else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard (0x30...0x39).contains(byte) else { return nil }
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(Int64(byte - 0x30))
            guard !overflowed, !overflows else { return nil }
            value = sum
        }
        return value
    }

    public var description: String { "\(sequence) \(previous) \(epoch)" }

    /// Appends the text of `description`.
    public func append(to bytes: inout [UInt8]) {
        NumberWriter.append(sequence, to: &bytes)
        bytes.append(UInt8(ascii: " "))
        NumberWriter.append(previous, to: &bytes)
        bytes.append(UInt8(ascii: " "))
        bytes.append(contentsOf: epoch.utf8)
    }
}

/// A message on the feed: topic, place and body (Protocol §7).
public struct FeedMessage: Hashable, Sendable {
    public var topic: Topic
    public var place: FeedPosition
    /// One JSON object, exactly as the hub wrote it.
    public var body: [UInt8]

    public init(topic: Topic, place: FeedPosition, body: [UInt8]) {
        (self.topic, self.place, self.body) = (topic, place, body)
    }

    /// Reads the three frames; `nil` if there are not three, or topic or place have another form.
    ///
    /// The body is not parsed.
    public init?(frames: [[UInt8]]) {
        guard frames.count == 3, let topic = String(validating: frames[0], as: UTF8.self).flatMap(Topic.init),
            let place = String(validating: frames[1], as: UTF8.self).flatMap({ FeedPosition($0) })
        else { return nil }
        self.init(topic: topic, place: place, body: frames[2])
    }

    /// The three frames, in order.
    public var frames: [[UInt8]] { [Array(topic.text.utf8), Array(place.description.utf8), body] }
}
