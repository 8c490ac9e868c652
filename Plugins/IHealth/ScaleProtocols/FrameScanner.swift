/// The sender of a frame, given by its first byte (`B0` the host, `A0` the scale).
public enum FrameOrigin: UInt8, Sendable, Hashable {
    case host = 0xB0
    case scale = 0xA0
}

/// A frame of the iHealth family with correct length and checksum.
///
/// It consists of head, `LEN`, body and checksum; `LEN` counts the body, and the checksum is the 8-bit sum of the body. The meaning of the body
/// differs by model; `HS3Frame` reads it for the HS3.
public struct Frame: Sendable, Hashable {
    /// The sender.
    public var origin: FrameOrigin
    /// The bytes between `LEN` and the checksum; at most 255.
    public var body: [UInt8]

    /// A frame around `body`; `nil` if the body is longer than the 255 bytes that `LEN` can express.
    public init?(origin: FrameOrigin, body: [UInt8]) {
        guard body.count <= 255 else { return nil }
        (self.origin, self.body) = (origin, body)
    }

    /// The bytes of the whole frame.
    public var bytes: [UInt8] {
        [origin.rawValue, UInt8(truncatingIfNeeded: body.count)] + body + [Frame.checksum(body[...])]
    }

    static func checksum(_ body: ArraySlice<UInt8>) -> UInt8 { body.reduce(0, &+) }
}

/// Finds frames in a byte stream that may be split, joined or damaged at any position.
///
/// The same bytes give the same frames and the same counts, however they are split into chunks. At most one unfinished frame (258 bytes) is
/// held between calls.
public struct FrameScanner: Sendable {
    /// The total number of bytes that belonged to no frame.
    public private(set) var skippedBytes = 0
    /// The total number of frames with a wrong checksum.
    ///
    /// Their bytes are searched again for a frame that starts inside them.
    public private(set) var badChecksums = 0

    private let head: UInt8
    /// The valid values of `LEN`; no layout of the family is shorter than 3.
    private static let lengths: ClosedRange<UInt8> = 3...255
    private let product: UInt8?
    private let productPlace: Int
    private var held: [UInt8] = []

    /// A scanner for the frames of one direction.
    /// - Parameters:
    ///   - product: the byte that every body has at `productPlace`, if the layout has a fixed one (`A6` first on HS3). It rejects noise that
    ///     resembles a head there instead of only after `LEN` bytes.
    ///   - productPlace: the offset from the start of the body.
    public init(from origin: FrameOrigin, product: UInt8? = nil, productPlace: Int = 0) {
        (head, self.product, self.productPlace) = (origin.rawValue, product, productPlace)
    }

    /// Whether the start of a frame waits for the rest of it.
    public var isInsideFrame: Bool { !held.isEmpty }

    /// Adds the next bytes of the stream and returns the frames that they complete, in order.
    public mutating func append(_ bytes: some Sequence<UInt8>) -> [Frame] {
        held.append(contentsOf: bytes)
        return scan(streamPaused: false)
    }

    /// Stops waiting for the rest of an unfinished frame and returns the whole frames hidden behind its head.
    ///
    /// Call it after a long silence of the stream: noise that resembles a head with a large `LEN` would otherwise swallow the real frames after
    /// it. Nothing is held afterwards.
    public mutating func flush() -> [Frame] { scan(streamPaused: true) }

    /// Scans the stream with ``append(_:)`` or ``flush()`` and returns warnings about the bytes outside of good frames, too.
    mutating func warned(_ scan: (inout FrameScanner) -> [Frame]) -> (frames: [Frame], warnings: [ScaleWarning]) {
        let before = self
        let frames = scan(&self)
        let (skipped, damaged) = (skippedBytes - before.skippedBytes, badChecksums - before.badChecksums)
        return (frames, (skipped > 0 ? [.skippedBytes(skipped)] : []) + (damaged > 0 ? [.badChecksums(damaged)] : []))
    }

    /// Discards the held bytes, for the start of a new connection; the counts stay.
    public mutating func reset() { held.removeAll() }

    private mutating func scan(streamPaused: Bool) -> [Frame] {
        var frames: [Frame] = []
        var start = 0
        search: while start < held.count {
            let rest = held.count - start
            switch candidate(at: start) {
            case .noFrame: skip(&start)
            case .unfinished where !streamPaused: break search
            case .unfinished: skip(&start)
            case .length(let length) where rest < length + 3:
                if !streamPaused { break search }
                skip(&start)
            case .length(let length):
                let body = held[(start + 2)..<(start + 2 + length)]
                if Frame.checksum(body) == held[start + 2 + length] {
                    let origin: FrameOrigin = head == FrameOrigin.host.rawValue ? .host : .scale
                    if let frame = Frame(origin: origin, body: Array(body)) { frames.append(frame) }
                    start += length + 3
                } else {
                    badChecksums += 1
                    skip(&start)
                }
            }
        }
        held.removeFirst(start)
        return frames
    }

    private mutating func skip(_ start: inout Int) {
        skippedBytes += 1
        start += 1
    }

    private enum Candidate {
        case noFrame, unfinished
        case length(Int)
    }

    /// Classifies the bytes from `start` on, as far as they are available.
    private func candidate(at start: Int) -> Candidate {
        guard held[start] == head else { return .noFrame }
        guard start + 1 < held.count else { return .unfinished }
        guard Self.lengths.contains(held[start + 1]) else { return .noFrame }
        guard let product else { return .length(Int(held[start + 1])) }
        guard start + 2 + productPlace < held.count else { return .unfinished }
        return held[start + 2 + productPlace] == product ? .length(Int(held[start + 1])) : .noFrame
    }
}
