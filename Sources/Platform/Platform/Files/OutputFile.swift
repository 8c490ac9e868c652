import Glibc

/// A file that is written piece by piece and gets its name only when it is complete and on the disk.
///
/// Until then it is a draft of this process in the same folder. If a process is killed, its draft stays, and the next process that writes a
/// file with this name removes it. For use on one thread.
public final class OutputFile {
    public let path: String
    /// The path of the draft, for a program or library that writes the file directly.
    public let draft: String
    private let file: Descriptor
    private var length: Int64 = 0
    private var isPublished = false

    /// - Throws: if the folder does not exist or is not writable.
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

    /// Gives the file its name.
    ///
    /// - Parameter replacing: whether to replace an existing file with that name; otherwise the existing file stays and this one is discarded.
    /// - Returns: false if an existing file was kept.
    public func publish(replacing: Bool) throws(FileError) -> Bool {
        try file.flush()
        if !replacing {
            // `link` fails if the file exists, and never exposes a partial file.
            if link(draft, path) == 0 {
                isPublished = true
                unlink(draft)
                try Folder.flush(of: path)
                return true
            }
            // On a file system without hard links, such as on a USB stick, reserve the name with an empty file first.
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
