import Glibc

/// Creates folders that only the owner can use, and flushes them, because a crash can lose a new name in an unflushed folder.
public enum Folder {
    /// Creates the folder durably, with mode 0700; leaves an existing folder unchanged.
    ///
    /// - Parameter withParents: whether to create missing parent folders.
    public static func make(_ path: String, withParents: Bool = true) throws(FileError) {
        if mkdir(path, 0o700) == 0 { return try flush(of: path) }
        let parent = parent(of: path)
        switch errno {
        case EEXIST:
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
                throw FileError("make the folder", path, code: ENOTDIR)
            }
        case ENOENT where withParents && parent != path:
            try make(parent)
            guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError("make the folder", path) }
            try flush(of: path)
        default: throw FileError("make the folder", path)
        }
    }

    /// The folder that contains a file or folder.
    public static func parent(of path: String) -> String {
        var rest = path[...]
        while rest.count > 1, rest.last == "/" { rest.removeLast() }
        guard let slash = rest.lastIndex(of: "/") else { return "." }
        return slash == rest.startIndex ? "/" : String(rest[..<slash])
    }

    /// Returns when the name of this file or folder is on the disk.
    public static func flush(of path: String) throws(FileError) {
        try Descriptor(parent(of: path), O_RDONLY | O_DIRECTORY).flush()
    }

    /// The unsorted names in a folder; empty if the folder does not exist.
    public static func names(in path: String) throws(FileError) -> [String] {
        guard let folder = opendir(path) else {
            if errno == ENOENT { return [] }
            throw FileError("read", path)
        }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}
