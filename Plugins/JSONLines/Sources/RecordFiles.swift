import Glibc
import Platform
import PluginKit

/// The directory of the files: their names, and the system calls that make lines durable.
///
/// Files are named `<instance>[-<period>]-<nnnn>.<extension>`, have mode 0600, and sort in the order of their creation.
struct RecordFiles: Sendable {
    let directory: String
    let instance: String
    let `extension`: String

    private func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Throws if `directory` or a folder above it is a file; other obstacles may be gone by the time it is needed.
    static func judge(_ directory: String) throws {
        var (place, status) = (directory[...], stat())
        while !place.isEmpty, stat(String(place), &status) != 0 {
            place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
        }
        guard place.isEmpty || status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(.settings, "setting path: expected a directory, or a place for one; \(place) is a file")
        }
    }

    /// Creates the directory if it is missing, but no folder above it, which may be a disk that is not mounted.
    func prepare() throws {
        do throws(FileError) {
            try Folder.make(directory, withParents: false)
        } catch {
            throw PluginFailure(
                .unavailable, "\(error); name another place in the setting path, or make room for this one")
        }
    }

    /// Checks whether files can be written, and leaves nothing behind.
    func prove() throws {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            let parent = Folder.parent(of: directory)
            guard access(parent, W_OK | X_OK) == 0 else {
                throw PluginFailure(.unavailable, FileError("make \(directory) in", parent).description)
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(.settings, "setting path: \(directory) is not a directory")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            throw PluginFailure(.unavailable, FileError("write in", directory).description)
        }
    }

    /// The first unused name of a period.
    func next(period: String) throws(FileError) -> String {
        let begin = period.isEmpty ? "\(instance)-" : "\(instance)-\(period)-"
        var last = 0
        for name in try Folder.names(in: directory) where name.hasPrefix(begin) {
            let digits = name.dropFirst(begin.count).prefix { $0 != "." }
            if let number = Int(digits) { last = max(last, number) }
        }
        let number = "\(last + 1)"
        return begin + String(repeating: "0", count: max(0, 4 - number.count)) + number + ".\(`extension`)"
    }

    /// The size of a file; nil if it does not exist.
    func size(of name: String) -> Int64? {
        var status = stat()
        return stat(path(name), &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Creates a new file durably; fails if it exists.
    func create(_ name: String) throws(FileError) {
        _ = try Descriptor(path(name), O_WRONLY | O_CREAT | O_EXCL)
        try Folder.flush(of: path(name))
    }

    /// Cuts a file to `length` bytes, appends `bytes`, and returns when they are on disk.
    ///
    /// If it throws, the file may hold a part of the bytes; the next call cuts that off.
    func append(_ bytes: [UInt8], to name: String, at length: Int64) throws(FileError) {
        let file = try Descriptor(path(name), O_WRONLY)
        try file.cut(to: length)
        try file.write(bytes, at: length)
        try file.flush()
    }
}
