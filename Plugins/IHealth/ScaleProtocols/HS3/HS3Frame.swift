/// A command byte of the HS3.
///
/// Captured unless marked otherwise.
public enum HS3Command: UInt8, Sendable, Hashable, CaseIterable {
    /// Host: set the clock.
    case setClock = 0x20
    /// Scale: up to 20 records of its memory, newest first.
    case memory = 0x21
    /// Scale: an error byte.
    ///
    /// Known from the vendor's software only; never captured.
    case error = 0x22
    /// Host: open the session.
    case open = 0x23
    /// Host: the time of the newest record it already has.
    ///
    /// The scale sends all records anyway.
    case lastKnown = 0x25
    /// Scale: the number of records in its memory.
    case memoryCount = 0x26
    /// Host: send the memory.
    case startMemory = 0x27
    /// Scale: the weight of a finished weighing.
    case weight = 0x28
    /// Scale: 16 bytes, all `FF` in every capture, perhaps a stored id.
    case idBlock = 0x32
    /// Scale: the time on its clock.
    case clock = 0x33
    /// Both: the other side's frame has arrived.
    case acknowledge = 0xFF
}

/// A frame of the HS3 (layout A): product byte `A6`, command, sequence number, data.
public struct HS3Frame: Sendable, Hashable {
    /// The product byte of HS3 (and HS4).
    public static let product: UInt8 = 0xA6

    /// The sender.
    public var origin: FrameOrigin
    /// The command; a byte, because a scale may send unknown commands.
    public var command: UInt8
    /// The sender's counter; in an acknowledgement, the number that is acknowledged (by the scale) or expected next
    /// (by the host).
    public var sequence: UInt8
    /// The bytes after the sequence number.
    public var data: [UInt8]

    /// Creates a frame from its parts; `data` has at most 252 bytes.
    package init(checked origin: FrameOrigin, _ command: UInt8, _ sequence: UInt8, _ data: [UInt8]) {
        (self.origin, self.command, self.sequence, self.data) = (origin, command, sequence, data)
    }

    /// Reads the body of a family frame; `nil` if it is shorter than three bytes or of another product.
    public init?(_ frame: Frame) {
        guard frame.body.count >= 3, frame.body[0] == HS3Frame.product else { return nil }
        self.init(checked: frame.origin, frame.body[1], frame.body[2], Array(frame.body[3...]))
    }

    /// The bytes of the whole frame.
    public var bytes: [UInt8] {
        let body = [HS3Frame.product, command, sequence] + data
        return [origin.rawValue, UInt8(truncatingIfNeeded: body.count)] + body + [Frame.checksum(body[...])]
    }

    /// A scanner for frames of the HS3 in one direction.
    public static func scanner(from origin: FrameOrigin) -> FrameScanner {
        FrameScanner(from: origin, product: product)
    }
}

/// The content of a frame from the scale.
public enum HS3ScaleMessage: Sendable, Hashable {
    case acknowledge
    /// Six BCD bytes: year, month, day, hour, minute, second.
    ///
    /// `HS3ClockMode` reads them.
    case clock([UInt8])
    case idBlock([UInt8])
    case memoryCount(UInt8)
    /// The records, and the number of bytes after the last whole one.
    case memory([HS3Record], trailing: Int)
    case weight(HS3Record)
    case error(UInt8)
    /// A command without a known meaning, such as `30` and `31`.
    case unknown
    /// A known command whose data has the wrong length.
    case malformed

    /// Reads a frame.
    ///
    /// It never fails: content that cannot be understood becomes `unknown` or `malformed`.
    public init(_ frame: HS3Frame) {
        let data = frame.data
        switch HS3Command(rawValue: frame.command) {
        case .acknowledge: self = data.isEmpty ? .acknowledge : .malformed
        case .clock: self = data.count == 6 ? .clock(data) : .malformed
        case .idBlock: self = .idBlock(data)
        case .memoryCount: self = data.count == 1 ? .memoryCount(data[0]) : .malformed
        case .memory:
            let starts = stride(from: 0, to: data.count - data.count % 7, by: 7)
            self = .memory(starts.compactMap { HS3Record(data[$0..<($0 + 7)]) }, trailing: data.count % 7)
        case .weight: self = data.count == 6 ? HS3Record(data[...]).map { .weight($0) } ?? .malformed : .malformed
        case .error: self = data.count == 1 ? .error(data[0]) : .malformed
        case .open, .setClock, .lastKnown, .startMemory, nil: self = .unknown
        }
    }
}
