import Glibc

/// A file that is written piece by piece, and has its name only once it is whole and on the disk.
///
/// Until then it lies beside its place as a draft of this process; a process that was killed leaves one, which the next that writes a
/// file of this name removes. For one thread.
public final class OutputFile {
    public let path: String
    /// Where it lies until it is published: for a program or library that writes it itself.
    public let draft: String
    private let file: Descriptor
    private var length: Int64 = 0
    private var isPublished = false

    /// - Throws: where there is no such folder, or it cannot be written.
    public init(_ path: String) throws(FileError) {
        self.path = path
        PrivateFile.removeLeftDrafts(of: path)
        draft = "\(path).\(getpid()).draft"
        unlink(draft)
        file = try Descriptor(draft, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    }

    deinit { if !isPublished { unlink(draft) } }

    public func write(_ bytes: [UInt8]) throws(FileError) {
        try file.write(bytes, at: length)
        length += Int64(bytes.count)
    }

    /// Gives it its name.
    ///
    /// - Parameter replacing: whether a file that has the name goes; else it stays, and this is thrown away.
    /// - Returns: false where there is one that stays.
    public func publish(replacing: Bool) throws(FileError) -> Bool {
        try file.flush()
        if !replacing {
            // A second name is not given where there is a file, and no moment of it shows half of one.
            if link(draft, path) == 0 {
                isPublished = true
                unlink(draft)
                try Folder.flush(of: path)
                return true
            }
            // Where a file system knows of no second names, as on a stick, the name is taken first by an empty file.
            do throws(FileError) { _ = try Descriptor(path, O_WRONLY | O_CREAT | O_EXCL) } catch {
                guard error.code == EEXIST else { throw error }
                return false
            }
        }
        guard rename(draft, path) == 0 else { throw FileError("write", path) }
        isPublished = true
        try Folder.flush(of: path)
        return true
    }
}
