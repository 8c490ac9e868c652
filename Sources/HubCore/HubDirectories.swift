import FoundationEssentials
import Glibc
import HubSettings

/// The hub's folders: made with mode 0700, and checked each time.
struct HubDirectories {
    private let files: HubFiles

    init(_ section: HubSection) { files = HubFiles(section) }

    var storePath: String { files.store }
    var secretsPath: String { files.secrets }

    /// Makes what is missing and takes the run directory for this process.
    ///
    /// libzmq would quietly take over the socket of another hub: the lock is what tells two hubs apart.
    func prepare() throws(HubError) -> RunLock {
        try Self.make(files.data)
        try Self.make(files.run)
        return try RunLock(files.run)
    }

    /// The private folder of an instance.
    func state(of instance: String) throws(HubError) -> String {
        try Self.make(files.plugins)
        let path = "\(files.plugins)/\(instance)"
        try Self.make(path)
        return path
    }

    /// Where the logs of plugins are written.
    func logs() throws(HubError) -> PluginLogFiles {
        let files = PluginLogFiles(data: files.data)
        try Self.make(files.folder)
        return files
    }

    static func make(_ path: String) throws(HubError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw HubError(.endpoints, "cannot make the folder \(path): \(error)")
        }
        var status = stat()
        guard stat(path, &status) == 0, status.st_uid == geteuid(), status.st_mode & S_ISVTX == 0 else {
            throw HubError(
                .endpoints, "the folder \(path) belongs to others too: name one in hub.conf that is the hub's alone")
        }
        guard chmod(path, 0o700) == 0 else {
            throw HubError(
                .endpoints,
                "cannot give the folder \(path) mode 0700 (\(String(cString: strerror(errno)))): the hub does not run where others can read"
            )
        }
    }
}

/// Holds the run directory for one hub.
struct RunLock {
    private let descriptor: CInt

    fileprivate init(_ run: String) throws(HubError) {
        let path = "\(run)/lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            if errno == ELOOP {
                throw HubError(
                    .endpoints,
                    "\(path) is a symbolic link, and the hub writes through none: look where it leads, then remove it")
            }
            throw HubError(.endpoints, "cannot open \(path): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw HubError(
                .endpoints, "another hub runs in \(run); stop it first, or set another run directory in hub.conf")
        }
    }

    /// Lets the next hub in.
    func release() {
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
