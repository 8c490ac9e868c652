import Glibc
import Platform

/// The body of a post: a small one is in memory, a larger one in an unlinked file.
final class BodyBytes: @unchecked Sendable {
    // One task writes it, and one reads it when it is complete.
    private var small = UnsafeMutableRawBufferPointer.allocate(byteCount: 4_096, alignment: 16)
    private var file: CInt = -1
    private var mapped: UnsafeMutableRawPointer?
    private(set) var count = 0
    private let folder: String
    private static let inMemory = 262_144

    /// - Parameter folder: directory for large bodies.
    init(folder: String) { self.folder = folder }

    deinit {
        if let mapped { munmap(mapped, count) }
        if file >= 0 { close(file) }
        small.deallocate()
    }

    /// - Throws: ``FileError`` if the disk is full.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        if file < 0, count + bytes.count <= Self.inMemory { return remember(bytes) }
        if file < 0 {
            var path = Array("\(folder)/post-XXXXXX".utf8CString)
            file = mkstemp(&path)
            guard file >= 0 else { throw FileError("make a file in", folder) }
            _ = fcntl(file, F_SETFD, FD_CLOEXEC)
            // An unlinked file disappears with the process, however that ends.
            unlink(path)
            try write(UnsafeRawBufferPointer(rebasing: small[..<count]))
        }
        try write(bytes)
        count += bytes.count
    }

    private func remember(_ bytes: UnsafeRawBufferPointer) {
        if count + bytes.count > small.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(2 * small.count, count + bytes.count), alignment: 16)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: small[..<count]))
            small.deallocate()
            small = larger
        }
        UnsafeMutableRawBufferPointer(rebasing: small[count...]).copyMemory(from: bytes)
        count += bytes.count
    }

    private func write(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes
        while let start = rest.baseAddress, !rest.isEmpty {
            let written = Glibc.write(file, start, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw FileError("write", "\(folder), a post") }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }

    /// The bytes, valid as long as this object lives.
    /// - Throws: ``FileError`` if the file cannot be mapped.
    func bytes() throws -> UnsafeRawBufferPointer {
        guard file >= 0 else { return UnsafeRawBufferPointer(rebasing: small[..<count]) }
        if mapped == nil {
            let pointer = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0)
            guard let pointer, pointer != MAP_FAILED else { throw FileError("map", "\(folder), a post") }
            mapped = pointer
        }
        return UnsafeRawBufferPointer(start: mapped, count: count)
    }
}
