import HTTPTypes
import NIOCore
import Platform

/// The compression of a body, from the header `Content-Encoding`.
enum ContentCoding: Sendable, Hashable {
    case none, gzip

    /// - Returns: nil for an unsupported coding and for several codings.
    init?(_ field: String?) {
        switch field?.lowercased() {
        case nil, "", "identity": self = .none
        // `x-gzip` is the old name (RFC 9110, 8.4.1.3).
        case "gzip", "x-gzip": self = .gzip
        default: return nil
        }
    }
}

/// Decompresses a body into ``BodyBytes``, up to a maximum size.
final class BodyWriter {
    enum BodyError: Error, Hashable {
        /// The decompressed body is larger than the limit.
        case size
        /// The body is not gzip or was changed in transit; `after` is the number of bytes before the damage.
        case damaged(after: Int)
        /// The body ends before the gzip stream does.
        case cut
        /// At least one byte follows the end of the gzip stream.
        case more(isMember: Bool)
    }

    let body: BodyBytes
    private let most: Int
    private let inflater: Inflater?
    private var received = 0
    private var room: [UInt8]

    init(_ body: BodyBytes, coding: ContentCoding, most: Int) {
        (self.body, self.most) = (body, most)
        inflater = coding == .gzip ? Inflater(.gzip) : nil
        room = inflater == nil ? [] : [UInt8](repeating: 0, count: 65_536)
    }

    /// - Throws: ``BodyError``, or ``FileError`` if the disk is full.
    func append(_ buffer: ByteBuffer) throws {
        try buffer.withUnsafeReadableBytes { bytes in
            guard let inflater else { return try keep(bytes) }
            // A compressed body may be as long as the limit for decompressed ones; bytes after the end of the stream are not awaited.
            guard received + bytes.count <= most else { throw BodyError.size }
            try unpack(bytes, inflater)
        }
    }

    private func keep(_ bytes: UnsafeRawBufferPointer) throws {
        guard body.count + bytes.count <= most else { throw BodyError.size }
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
        if inflater.progress == .damaged { throw BodyError.damaged(after: received) }
        // A gzip member begins with 1F. Some programs write several members for a large file, but apps do not send that.
        if let next = rest.first { throw BodyError.more(isMember: next == 0x1F) }
    }

    /// Notes the end of the body.
    func end() throws {
        if let inflater, inflater.progress != .ended { throw BodyError.cut }
    }
}

extension IngestAnswer {
    /// The supported codings, as in the answer's header (RFC 9110, 12.5.3).
    ///
    /// The answer does not repeat the request's header, because a sender may have put its token there.
    static let unread = IngestAnswer.error(
        .unsupportedMediaType, "Content-Encoding: this is not read here; send the body as gzip, or as it is",
        isLast: true, more: [(.acceptEncoding, "gzip, identity")])

    /// - Parameter most: maximum bytes of a post.
    init(_ fault: BodyWriter.BodyError, most: Int) {
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
