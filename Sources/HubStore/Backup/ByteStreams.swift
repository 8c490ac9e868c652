import Digests
import Files
import Glibc

/// Where a backup's bytes go on their way into its file: into it as they are, or through a program that encrypts them.
public protocol ByteSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(StoreError)
    /// Returns once all of it is in the file.
    func finish() throws(StoreError)
}

/// Where a backup's bytes come from, decrypted where they need be.
public protocol ByteSource: AnyObject {
    /// The next bytes, so many at most; none at the end, and only there.
    func read(upTo most: Int) throws(StoreError) -> [UInt8]
    /// After the end: throws where what was read is not all, or not what was written.
    func finish() throws(StoreError)
}

/// How the files of backups are written.
public struct BackupSeal: Sendable {
    /// What encrypted names end in, empty where nothing is encrypted.
    public let suffix: String
    /// Tells those to whom it is encrypted from others: two files of a chain have the same.
    let mark: String
    /// Begins a file, of which this is the descriptor.
    let sink: @Sendable (CInt) throws(StoreError) -> any ByteSink
    /// - Parameter recipients: for whom it is, in any words that are the same for the same.
    public init(
        suffix: String, recipients: String, sink: @escaping @Sendable (CInt) throws(StoreError) -> any ByteSink
    ) {
        mark = recipients.isEmpty ? "none" : Hex.text(Digests.sha256(recipients.utf8).prefix(16))
        (self.suffix, self.sink) = (suffix, sink)
    }

    /// The file has the bytes as they are.
    public static let none = BackupSeal(suffix: "", recipients: "") { (file) throws(StoreError) in
        PlainSink(file)
    }
}

/// A file as it is.
private final class PlainSink: ByteSink {
    private let file: CInt

    init(_ file: CInt) { self.file = file }

    func write(_ bytes: [UInt8]) throws(StoreError) { try writeAll(bytes, to: file, "write the backup") }
    func finish() {}
}

/// A file as it is.
public final class PlainSource: ByteSource {
    private let file: Descriptor
    private let path: String

    public init(_ path: String) throws(StoreError) {
        guard access(path, F_OK) == 0 else { throw StoreError(.missing, "open \(path): there is no such file") }
        self.path = path
        file = try StoreError.translated { () throws(FileError) in try Descriptor(path, O_RDONLY) }
    }

    public func read(upTo most: Int) throws(StoreError) -> [UInt8] { try readSome(file.number, most, "read \(path)") }
    public func finish() {}
}

/// Writes all of it to a descriptor, where it goes on from.
public func writeAll(_ bytes: [UInt8], to file: CInt, _ verb: String) throws(StoreError) {
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + written, $0.count - written) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw StoreError(system: verb + " to", "its file") }
        written += count
    }
}

/// So many bytes, fewer only at the end.
public func readSome(_ file: CInt, _ most: Int, _ verb: String) throws(StoreError) -> [UInt8] {
    var (bytes, count) = ([UInt8](repeating: 0, count: most), 0)
    while count < most {
        let got = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress! + count, most - count) }
        if got < 0, errno == EINTR { continue }
        guard got >= 0 else { throw StoreError(system: verb, "") }
        if got == 0 { break }
        count += got
    }
    return Array(bytes[..<count])
}
