/// A message of layout B, whole: what one frame or several fragments said.
public struct FamilyMessage: Sendable, Hashable {
    public var origin: FrameOrigin
    public var product: UInt8
    public var command: UInt8
    public var data: [UInt8]
    /// Whether it came in the answer form (`A0`), which the HS5 uses to accept a measurement.
    public var isAnswer: Bool
    /// The counter of its last frame.
    public var sequence: UInt8

    /// The message of a single frame; nil for a fragment, an acknowledgement, or a frame without a command.
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
    /// Content bytes of a fragment on a link whose writes are of at most 20 bytes.
    public static let fragmentContent = 14

    /// The frames of a message, each with the counter two after the one before.
    ///
    /// - Parameters:
    ///   - sequence: of the first.
    ///   - isAnswer: the answer form; then it is never cut.
    ///   - fragmented: whether a message of more than ``fragmentContent`` content bytes is cut into pieces (Bluetooth LE).
    /// - Returns: nil for a message that this layout cannot carry: 252 bytes in one frame, ten pieces otherwise.
    public static func message(
        from origin: FrameOrigin, product: Product, _ command: UInt8, _ data: [UInt8] = [], sequence: UInt8,
        isAnswer: Bool = false, fragmented: Bool = false
    ) -> [FamilyFrame]? {
        let content = [command] + data
        let state = isAnswer ? FrameState.answer(0) : .single
        guard fragmented, !isAnswer, content.count > fragmentContent else {
            return FamilyFrame(from: origin, state, sequence: sequence, product: product.rawValue, content: content)
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

/// Puts fragments together, in whatever order they come.
///
/// Holds the pieces of one message, at most ten. A piece of another message ends the collection; a repeated piece changes nothing.
public struct FragmentCollector: Sendable {
    /// What a frame led to.
    public enum Outcome: Sendable, Hashable {
        case message(FamilyMessage)
        /// More pieces are awaited.
        case incomplete
        /// It carries no message: an acknowledgement, or content that is none.
        case nothing
    }

    private var pieces: [Int: FamilyFrame] = [:]
    private var count = 0
    /// The counter of the first piece, from which those of the others follow.
    private var base: UInt8 = 0
    /// Pieces that were given up because others came.
    public private(set) var abandoned = 0

    public init() {}

    /// Forgets what is held, as at the start of a new connection.
    public mutating func reset() { pieces.removeAll() }

    public mutating func append(_ frame: FamilyFrame) -> Outcome {
        guard case .fragment(let remaining, let total) = frame.state else {
            return FamilyMessage(frame).map { .message($0) } ?? .nothing
        }
        let place = total - 1 - remaining
        let first = frame.sequence &- UInt8(truncatingIfNeeded: 2 * place)
        if total != count || first != base || pieces.values.contains(where: { $0.product != frame.product }) {
            abandoned += pieces.count
            pieces.removeAll()
            (count, base) = (total, first)
        }
        pieces[place] = frame
        // A message that fills its pieces exactly is followed by an empty one.
        guard pieces.count == count else { return .incomplete }
        let ordered = (0..<count).compactMap { pieces[$0] }
        pieces.removeAll()
        guard let last = ordered.last, ordered.contains(where: { !$0.content.isEmpty }) else { return .nothing }
        return .message(FamilyMessage(fragments: ordered, last: last))
    }
}
