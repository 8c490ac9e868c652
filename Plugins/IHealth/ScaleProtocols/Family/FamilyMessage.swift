/// A whole message of layout B: the content of one frame or of several fragments.
public struct FamilyMessage: Sendable, Hashable {
    public var origin: FrameOrigin
    public var product: UInt8
    public var command: UInt8
    public var data: [UInt8]
    /// Whether it arrived in the answer form (`A0`), which the HS5 uses to accept a measurement.
    public var isAnswer: Bool
    /// The counter of its last frame.
    public var sequence: UInt8

    /// The message of a single frame; `nil` for a fragment, an acknowledgement, or a frame without a command.
    init?(_ frame: FamilyFrame) {
        switch frame.state {
        case .single, .stream: isAnswer = false
        case .answer: isAnswer = true
        case .fragment, .unknown: return nil
        }
        guard let command = frame.content.first else { return nil }
        (origin, product, sequence) = (frame.origin, frame.product, frame.sequence)
        (self.command, data) = (command, Array(frame.content.dropFirst()))
    }

    init(fragments: [FamilyFrame], last: FamilyFrame) {
        let content = fragments.flatMap(\.content)
        (origin, product, sequence, isAnswer) = (last.origin, last.product, last.sequence, false)
        (command, data) = (content.first ?? 0, Array(content.dropFirst()))
    }
}

extension FamilyFrame {
    /// The number of content bytes in a fragment on a link whose writes have at most 20 bytes.
    public static let fragmentContent = 14

    /// The frames of a message; the counter of each is two more than that of the previous one.
    ///
    /// - Parameters:
    ///   - sequence: the counter of the first frame.
    ///   - fragmented: whether to split a message of more than ``fragmentContent`` content bytes into fragments (Bluetooth LE).
    /// - Returns: `nil` if the layout cannot carry the message: 252 bytes in one frame, ten fragments otherwise.
    public static func message(
        from origin: FrameOrigin, product: Product, _ command: UInt8, _ data: [UInt8] = [], sequence: UInt8,
        fragmented: Bool = false
    ) -> [FamilyFrame]? {
        let content = [command] + data
        guard fragmented, content.count > fragmentContent else {
            return FamilyFrame(from: origin, .single, sequence: sequence, product: product.rawValue, content: content)
                .map { [$0] }
        }
        let count = (content.count + fragmentContent - 1) / fragmentContent
        guard count <= 10 else { return nil }
        return (0..<count).map { piece in
            let start = piece * fragmentContent
            return FamilyFrame(
                checked: origin, .fragment(remaining: count - 1 - piece, of: count),
                sequence &+ UInt8(truncatingIfNeeded: 2 * piece), product.rawValue,
                Array(content[start..<min(start + fragmentContent, content.count)]))
        }
    }
}

/// Assembles fragments, in whatever order they arrive.
///
/// It holds the fragments of one message, at most ten. A fragment of another message discards them; a repeated fragment has no effect.
public struct FragmentCollector: Sendable {
    /// The result of a frame.
    public enum Outcome: Sendable, Hashable {
        case message(FamilyMessage)
        /// More fragments are expected.
        case incomplete
        /// It carries no message: an acknowledgement, or invalid content.
        case nothing
    }

    private var pieces: [Int: FamilyFrame] = [:]
    private var count = 0
    /// The counter of the first fragment, from which those of the others follow.
    private var base: UInt8 = 0

    public init() {}

    /// Discards the held fragments, for the start of a new connection.
    public mutating func reset() { pieces.removeAll() }

    public mutating func append(_ frame: FamilyFrame) -> Outcome {
        guard case .fragment(let remaining, let total) = frame.state else {
            return FamilyMessage(frame).map { .message($0) } ?? .nothing
        }
        let place = total - 1 - remaining
        let first = frame.sequence &- UInt8(truncatingIfNeeded: 2 * place)
        if total != count || first != base || pieces.values.contains(where: { $0.product != frame.product }) {
            pieces.removeAll()
            (count, base) = (total, first)
        }
        pieces[place] = frame
        // An empty fragment follows a message that fills its fragments exactly.
        guard pieces.count == count else { return .incomplete }
        let ordered = (0..<count).compactMap { pieces[$0] }
        pieces.removeAll()
        guard let last = ordered.last, ordered.contains(where: { !$0.content.isEmpty }) else { return .nothing }
        return .message(FamilyMessage(fragments: ordered, last: last))
    }
}
