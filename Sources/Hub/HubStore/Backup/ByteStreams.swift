import Glibc
import Platform

/// The destination of an encrypted backup's bytes: a program that encrypts them into its file.
public protocol ByteSink: AnyObject {
    func write(_ bytes: [UInt8]) throws(StoreError)
    /// Returns once all bytes are in the file.
    func finish() throws(StoreError)
}

/// The source of a backup's bytes, decrypted if necessary.
public protocol ByteSource: AnyObject {
    /// The next bytes, at most `most`; empty only at the end.
    func read(upTo most: Int) throws(StoreError) -> [UInt8]
    /// Call at the end. Throws if the bytes read are incomplete or are not those that were written.
    func finish() throws(StoreError)
}

/// Reads a file unchanged.
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

/// Writes all bytes to a descriptor at its current offset.
public func writeAll(_ bytes: [UInt8], to file: CInt, _ verb: String) throws(StoreError) {
    var written = 0
    while written < bytes.count {
        let count = bytes.withUnsafeBytes { write(file, $0.baseAddress! + written, $0.count - written) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw StoreError(system: verb + " to", "its file") }
        written += count
    }
}

/// Reads `most` bytes, or fewer at the end.
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
