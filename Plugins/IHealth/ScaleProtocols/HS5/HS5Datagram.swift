/// One datagram between host and HS5: a message and its sender.
///
/// Only the search has no sender.
public struct HS5Datagram: Sendable, Hashable {
    public var message: FamilyMessage
    public var sender: HS5SenderID?

    public init(_ message: FamilyMessage, sender: HS5SenderID?) { (self.message, self.sender) = (message, sender) }

    /// Reads a datagram; `nil` if it is not a frame of a HS5, or too short for its sender.
    public init?(_ datagram: [UInt8]) {
        guard var frame = FamilyFrame(datagram: datagram) else { return nil }
        switch FamilyFrame.Product(rawValue: frame.product) {
        case .any: sender = nil
        case .hs5:
            guard let id = HS5SenderID(frame.content.suffix(6)) else { return nil }
            frame.content.removeLast(6)
            sender = id
        case .hs4, nil: return nil
        }
        guard let message = FamilyMessage(frame) else { return nil }
        self.message = message
    }

    /// The datagram of a message; `nil` if the data is longer than a frame can hold.
    public static func bytes(
        from origin: FrameOrigin, _ command: UInt8, _ data: [UInt8], sequence: UInt8, isAnswer: Bool = false,
        sender: HS5SenderID
    ) -> [UInt8]? {
        FamilyFrame(
            from: origin, isAnswer ? .answer(0) : .single, sequence: sequence,
            product: FamilyFrame.Product.hs5.rawValue, content: [command] + data + sender.bytes)?.bytes
    }

    /// Searches for scales, by broadcast on port 10000.
    public static let search = FamilyFrame(
        checked: .host, .single, 0, FamilyFrame.Product.any.rawValue, [FamilyCommand.search.rawValue]
    ).bytes
}
