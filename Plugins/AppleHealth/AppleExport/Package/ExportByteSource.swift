import Glibc
import Platform

/// A sequential source of bytes.
///
/// Used by one task at a time.
public protocol ExportByteSource: AnyObject {
    /// Fills the start of `buffer` and returns the number of bytes; 0 only at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int
    /// The position in the underlying file, out of ``inputSize``, for progress.
    var inputPosition: Int64 { get }
    var inputSize: Int64 { get }
    /// Whether the checksum of the bytes was wrong; known at the end.
    var hasWrongSum: Bool { get }
}

extension ExportByteSource {
    public var hasWrongSum: Bool { false }
}

/// A file on disk.
public final class FileSource: ExportByteSource {
    private let file: Descriptor
    private let path: String
    public private(set) var inputPosition: Int64 = 0
    public let inputSize: Int64

    /// - Parameter followsLinks: whether the path may be a symbolic link; must be false if others can write to the folder of the file.
    public init(_ path: String, followsLinks: Bool = true) throws(ExportError) {
        (file, inputSize) = try FileSource.open(path, followsLinks: followsLinks)
        self.path = path
        posix_fadvise(file.number, 0, 0, POSIX_FADV_SEQUENTIAL)
    }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        let count = try FileSource.read(file, at: inputPosition, into: buffer, path)
        inputPosition += Int64(count)
        return count
    }

    /// Opens a regular file and returns it with its length.
    ///
    /// Other kinds are rejected, because reading a pipe or a device could take for ever.
    static func open(_ path: String, followsLinks: Bool = true) throws(ExportError) -> (Descriptor, Int64) {
        let file: Descriptor
        do throws(FileError) {
            file = try Descriptor(path, O_RDONLY | O_NONBLOCK | (followsLinks ? 0 : O_NOFOLLOW))
        } catch {
            throw ExportError(error.code == ENOENT ? .missing : .io, "\(error)")
        }
        var status = stat()
        guard fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ExportError(.notAnExport, "\(path): it is not a plain file; give the export as it was saved")
        }
        return (file, Int64(status.st_size))
    }

    /// Reads from an offset; returns fewer bytes than requested only at the end of the file.
    static func read(
        _ file: Descriptor, at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, _ path: String
    ) throws(ExportError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let count = pread(
                file.number, buffer.baseAddress! + filled, buffer.count - filled, off_t(offset) + off_t(filled))
            if count < 0 {
                if errno == EINTR { continue }
                throw ExportError(.io, "\(path): it cannot be read: \(String(cString: strerror(errno)))")
            }
            if count == 0 { break }
            filled += count
        }
        return filled
    }
}

/// Bytes in memory.
public final class BytesSource: ExportByteSource {
    private let bytes: [UInt8]
    private var position = 0
    public var inputPosition: Int64 { Int64(position) }
    public var inputSize: Int64 { Int64(bytes.count) }

    public init(_ bytes: [UInt8]) { self.bytes = bytes }

    public func read(into buffer: UnsafeMutableRawBufferPointer) throws(ExportError) -> Int {
        let count = min(buffer.count, bytes.count - position)
        bytes.withUnsafeBytes { source in
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[position..<(position + count)]))
        }
        position += count
        return count
    }
}

/// A name from a file, for a message: it must not contain characters that control a terminal.
enum PrintableName {
    static func text(_ name: String) -> String { SourceName.normalized(String(name.prefix(200))) }
}

extension ExportByteSource {
    /// The bytes of one read; empty only at the end.
    func piece(upTo most: Int) throws(ExportError) -> [UInt8] {
        var failure: ExportError?
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, filled in
            do throws(ExportError) { filled = try read(into: UnsafeMutableRawBufferPointer(buffer)) } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// The next `count` bytes, or all remaining bytes if there are fewer.
    func head(_ count: Int) throws(ExportError) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let before = bytes.count
            do throws(ExportError) { bytes += try piece(upTo: count - before) } catch {
                // The bytes before the damage are sufficient.
                if bytes.isEmpty { throw error }
            }
            if bytes.count == before { break }
        }
        return bytes
    }

    /// All remaining bytes, at most `most`.
    public func readAll(upTo most: Int) throws(ExportError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let next = try piece(upTo: 65_536)
            guard !next.isEmpty else { return bytes }
            guard bytes.count + next.count <= most else {
                throw ExportError(.tooLarge, "it has more than \(most) bytes")
            }
            bytes += next
        }
    }
}
