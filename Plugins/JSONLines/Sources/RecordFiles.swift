import Glibc
import PluginKit

/// The directory of the files: names, and the few system calls that make lines durable.
///
/// Files are `<instance>[-<period>]-<nnnn>.<extension>`, mode 0600; their names sort in the order in which they were begun.
struct RecordFiles: Sendable {
    let directory: String
    let instance: String
    let `extension`: String

    private func path(_ name: String) -> String { "\(directory)/\(name)" }

    private func failure(_ what: String, _ path: String) -> FileFailure {
        FileFailure(message: "\(what) \(path): \(String(cString: strerror(errno)))")
    }

    /// Throws where a file stands at `directory` or above it; what else is in the way may have gone by the time it is needed.
    static func judge(_ directory: String) throws {
        var (place, status) = (directory[...], stat())
        while !place.isEmpty, stat(String(place), &status) != 0 {
            place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
        }
        guard place.isEmpty || status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(.settings, "setting path: expected a directory, or a place for one; \(place) is a file")
        }
    }

    /// Makes the directory where it is missing.
    func prepare() throws(FileFailure) {
        var status = stat()
        if stat(directory, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw FileFailure(message: "\(directory) is no directory; name one in the setting path")
            }
            return
        }
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else {
            throw failure("cannot make the directory", directory)
        }
        let slash = directory.lastIndex(of: "/") ?? directory.startIndex
        try synchronize(directory: slash == directory.startIndex ? "/" : String(directory[..<slash]))
    }

    /// Finds out whether files can be written, and leaves nothing behind.
    func prove() throws {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            let slash = directory.lastIndex(of: "/") ?? directory.startIndex
            let parent = slash == directory.startIndex ? "/" : String(directory[..<slash])
            guard access(parent, W_OK | X_OK) == 0 else {
                throw PluginFailure(.unavailable, failure("cannot make \(directory) in", parent).message)
            }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw PluginFailure(.settings, "setting path: \(directory) is no directory")
        }
        guard access(directory, W_OK | X_OK) == 0 else {
            throw PluginFailure(.unavailable, failure("cannot write in", directory).message)
        }
    }

    /// The name after the last of its period; nothing of that name exists.
    func next(period: String) throws(FileFailure) -> String {
        let begin = period.isEmpty ? "\(instance)-" : "\(instance)-\(period)-"
        var last = 0
        for name in try names() where name.hasPrefix(begin) {
            let digits = name.dropFirst(begin.count).prefix { $0 != "." }
            if let number = Int(digits) { last = max(last, number) }
        }
        let number = "\(last + 1)"
        return begin + String(repeating: "0", count: max(0, 4 - number.count)) + number + ".\(`extension`)"
    }

    private func names() throws(FileFailure) -> [String] {
        guard let folder = opendir(directory) else {
            if errno == ENOENT { return [] }
            throw failure("cannot list", directory)
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
                })
        }
        return names
    }

    /// The size of a file; `nil` when it is not there.
    func size(of name: String) -> Int64? {
        var status = stat()
        return stat(path(name), &status) == 0 ? Int64(status.st_size) : nil
    }

    /// Makes a file that was not there, durably.
    func create(_ name: String) throws(FileFailure) {
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("cannot make", path(name)) }
        close(descriptor)
        try synchronize(directory: directory)
    }

    /// Cuts a file to `length` bytes, appends `bytes`, and returns when they are on the disk.
    ///
    /// When it throws, the file may hold a part of them; the next call cuts that off.
    func append(_ bytes: [UInt8], to name: String, at length: Int64) throws(FileFailure) {
        let descriptor = open(path(name), O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot open", path(name)) }
        defer { close(descriptor) }
        guard ftruncate(descriptor, off_t(length)) == 0 else { throw failure("cannot cut", path(name)) }
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(
                    descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written,
                    off_t(length) + off_t(written))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw failure("cannot write to", path(name))
            }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw failure("cannot flush", path(name)) }
    }

    private func synchronize(directory: String) throws(FileFailure) {
        let descriptor = open(directory, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure("cannot open", directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw failure("cannot flush", directory) }
    }
}

/// Which file, and why not.
struct FileFailure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
}
