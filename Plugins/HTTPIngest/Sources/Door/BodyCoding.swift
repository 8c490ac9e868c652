import Compression
import HTTPTypes
import NIOCore

/// How a body is packed, by the header `Content-Encoding`.
enum BodyCoding: Sendable, Hashable {
    case none, gzip

    /// - Returns: `nil` for one that is not read here, and for several.
    init?(_ field: String?) {
        switch field?.lowercased() {
        case nil, "", "identity": self = .none
        // The second is its old name (RFC 9110, 8.4.1.3).
        case "gzip", "x-gzip": self = .gzip
        default: return nil
        }
    }
}

/// Puts what comes of a body into ``BodyBytes``, unpacked, and not more than may be.
final class BodyWriter {
    enum Fault: Error, Hashable {
        /// More than a post may have, unpacked.
        case size
        /// No gzip, or changed on its way, so many bytes after its beginning.
        case damaged(after: Int)
        /// It ends before gzip does.
        case cut
        /// So many bytes at least come after the end.
        case more(isMember: Bool)
    }

    let body: BodyBytes
    private let most: Int
    private let inflater: Inflater?
    private var received = 0
    private var room: [UInt8]

    init(_ body: BodyBytes, coding: BodyCoding, most: Int) {
        (self.body, self.most) = (body, most)
        inflater = coding == .gzip ? Inflater(.gzip) : nil
        room = inflater == nil ? [] : [UInt8](repeating: 0, count: 65_536)
    }

    /// - Throws: ``Fault``, or ``FileError`` where the disk takes no more.
    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { bytes in
            guard let inflater else { return try keep(bytes) }
            // Packed, it is as long as it may be unpacked, or much shorter: what comes after the end is not waited for.
            guard received + bytes.count <= most else { throw Fault.size }
            try unpack(bytes, inflater)
        }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) throws {
        guard body.count + bytes.count <= most else { throw Fault.size }
        try body.append(bytes)
    }

    private func unpack(_ bytes: UnsafeRawBufferPointer, _ inflater: Inflater) throws {
        var rest = bytes
        while inflater.progress == .goesOn {
            let (taken, given) = room.withUnsafeMutableBytes { inflater.inflate(rest, into: $0) }
            rest = UnsafeRawBufferPointer(rebasing: rest[taken...])
            received += taken
            try room.withUnsafeBytes { try keep(UnsafeRawBufferPointer(rebasing: $0[..<given])) }
            if taken == 0, given == 0 { break }
        }
        if inflater.progress == .damaged { throw Fault.damaged(after: received) }
        // A member begins with 1F; gzip of several members, as some programs make of a large file, is not what apps send.
        if let next = rest.first { throw Fault.more(isMember: next == 0x1F) }
    }

    /// Tells that all has come.
    func end() throws {
        if let inflater, inflater.progress != .ended { throw Fault.cut }
    }
}

extension IngestAnswer {
    /// The codings that are read, as the header of the answer has them (RFC 9110, 12.5.3).
    ///
    /// What the header has is not said again: a sender may have put its token there.
    static let unread = IngestAnswer.error(
        .unsupportedMediaType, "Content-Encoding: this is not read here; send the body as gzip, or as it is",
        isLast: true, more: [(.acceptEncoding, "gzip, identity")])

    /// - Parameter most: bytes that a post may have.
    init(_ fault: BodyWriter.Fault, most: Int) {
        switch fault {
        case .size:
            self = .error(
                .contentTooLarge,
                "a post has at most \(most) bytes, unpacked: send shorter periods, or turn on batch requests in the app",
                isLast: true)
        case .damaged(let place):
            self = .error(
                .badRequest,
                place < 10
                    ? "the body is not gzip, which Content-Encoding says that it is: send it packed, or without that header"
                    : "the gzip body is damaged near its byte \(place): it changed on its way; send it again",
                isLast: true)
        case .cut:
            self = .error(
                .badRequest, "the gzip body ends before its end: it was not packed or sent whole; send it again")
        case .more(isMember: true):
            self = .error(
                .unsupportedMediaType, "the body is gzip of several members: send one", isLast: true,
                more: [(.acceptEncoding, "gzip, identity")])
        case .more(isMember: false):
            self = .error(.badRequest, "bytes come after the end of the gzip body: send one member alone", isLast: true)
        }
    }
}
