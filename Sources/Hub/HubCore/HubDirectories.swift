import Glibc
import HubSettings
import Platform

/// The hub's folders: made with mode 0700, and checked each time.
struct HubDirectories {
    private let files: HubFiles

    init(_ section: HubSection) { files = HubFiles(section) }

    var storePath: String { files.store }
    var secretsPath: String { files.secrets }

    /// Makes missing folders and locks the run directory for this process.
    ///
    /// libzmq would silently take over the socket of another hub; the lock prevents that.
    ///
    /// - Parameter notice: receives a sentence for each folder that was writable by all users until now.
    func prepare(_ notice: (String) -> Void = { _ in }) throws(HubError) -> FileLock {
        for folder in [files.data, files.run] {
            if try Self.make(folder) {
                notice("the folder \(folder) was open to all users: it has mode 0700 now, and is the hub's alone")
            }
        }
        do throws(FileLock.LockError) { return try FileLock("\(files.run)/lock") } catch {
            switch error {
            case .held(let holder):
                throw HubError(
                    .endpoints,
                    "another hub (\(holder)) runs in \(files.run); stop it first, or set another run directory in hub.conf"
                )
            case .refused(let error): throw HubError(error)
            }
        }
    }

    /// Removes the sockets of this process while it holds the lock; libzmq leaves them, and a left socket is a sign of a killed hub.
    func removeSockets() {
        for name in (try? Folder.names(in: files.run)) ?? []
        where HubSection.socketNames.contains(name) || name.hasPrefix("feed-") {
            unlink("\(files.run)/\(name)")
        }
    }

    /// The private folder of an instance.
    func state(of instance: String) throws(HubError) -> String {
        try Self.make(files.plugins)
        let path = "\(files.plugins)/\(instance)"
        try Self.make(path)
        return path
    }

    /// A folder of an instance for files that need not last; emptied before each start of its process.
    func temporary(of instance: String) throws(HubError) -> String {
        try Self.make("\(files.data)/tmp")
        let path = "\(files.data)/tmp/\(instance)"
        try Self.make(path)
        return path
    }

    /// The folder of the plugins' logs, once ``logs()`` has made it.
    var logFiles: PluginLogFiles { PluginLogFiles(data: files.data) }

    /// Makes the folder of the plugins' logs.
    func logs() throws(HubError) -> PluginLogFiles {
        try Self.make(logFiles.folder)
        return logFiles
    }

    /// - Returns: whether all users could write the folder before.
    @discardableResult
    static func make(_ path: String) throws(HubError) -> Bool {
        try HubError.translated { () throws(FileError) in try Folder.make(path) }
        var status = stat()
        guard stat(path, &status) == 0 else { throw HubError(FileError("examine", path)) }
        guard status.st_uid == geteuid() else {
            throw HubError(
                .endpoints,
                "the folder \(path) belongs to the user with the id \(status.st_uid): run this as that user, or name a folder in hub.conf that is yours"
            )
        }
        let isOpen = status.st_mode & S_ISVTX != 0
        if isOpen, try !isDedicatedFileSystem(path) { throw shared(path) }
        guard chmod(path, 0o700) == 0 else {
            throw HubError(
                .endpoints,
                "cannot give the folder \(path) mode 0700 (\(String(cString: strerror(errno)))): the hub does not run where others can read"
            )
        }
        // Other users could create files until now, so the contents are checked again after the change of mode.
        if isOpen, try !isDedicatedFileSystem(path) {
            chmod(path, status.st_mode & 0o7777)
            throw shared(path)
        }
        return isOpen
    }

    private static func shared(_ path: String) -> HubError {
        HubError(.endpoints, "the folder \(path) belongs to others too: name one in hub.conf that is the hub's alone")
    }

    /// Whether a folder that all users can write is a file system for the hub alone, such as a mounted tmpfs with its usual mode.
    ///
    /// That is a mount point that contains only the hub's files. Programs need `/tmp` and similar folders unchanged.
    private static func isDedicatedFileSystem(_ path: String) throws(HubError) -> Bool {
        let place = ConfinementRules.resolved(path)
        var (folder, above) = (stat(), stat())
        guard !ConfinementRules.isSharedFolder(place), place.split(separator: "/").first != "dev", place != "/run/lock",
            lstat(place, &folder) == 0, lstat(Folder.parent(of: place), &above) == 0, folder.st_dev != above.st_dev
        else { return false }
        let names = try HubError.translated { () throws(FileError) in try Folder.names(in: place) }
        return names.allSatisfy { name in
            var status = stat()
            return lstat("\(place)/\(name)", &status) == 0 && status.st_uid == geteuid()
        } && (names.isEmpty || names.contains { $0.hasPrefix("hub.sqlite") || $0 == "lock" })
    }
}
