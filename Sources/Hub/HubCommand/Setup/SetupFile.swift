import CLinux
import Foundation
import HubClient
import HubSettings
import Platform

/// The `hub.conf` that is set up: an existing one or the future path; only one setup at a time.
struct SetupFile {
    /// Absolute, with links resolved.
    let path: String
    /// The content; nil if there is no file.
    let text: String?
    /// Locks its folder, or the nearest existing one above; the lock ends with the process and leaves no file.
    private let lock: Descriptor

    var former: String { path + ".before" }

    /// - Parameter named: the value of `--config`.
    init(named: String?, _ environment: [String: String] = ProcessInfo.processInfo.environment) throws(Failure) {
        let path = try Self.place(named, environment)
        self.path = path
        var status = stat()
        let isThere = stat(path, &status) == 0
        text = try isThere ? ConfigurationFile.text(path) : nil
        var folder = Folder.parent(of: path)
        while stat(folder, &status) != 0, folder != "/" { folder = Folder.parent(of: folder) }
        guard access(folder, W_OK) == 0 else {
            throw Failure(
                .system,
                "\(folder): \(String(cString: strerror(errno))), and hub setup writes there at its end; name another place with --config FILE, or run it as the folder's owner"
            )
        }
        let isFree: Bool
        do throws(FileError) {
            lock = try Descriptor(folder, O_RDONLY | O_DIRECTORY)
            isFree = try lock.lock()
        } catch { throw Failure(.system, error.description) }
        guard isFree else { throw Failure(.tryAgain, "another hub setup is at work in \(folder); end that first") }
    }

    /// The file that every command of hub finds, or its future path.
    static func place(
        _ named: String?, _ environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(Failure) -> String {
        let places = ConfigurationFile.places(environment)
        let variable = environment["HUB_CONF"].flatMap { $0.isEmpty ? nil : $0 }
        let found = places.first { access($0, F_OK) == 0 }
        // Do not create it in the folder where the person happens to be.
        let chosen = named ?? variable ?? found ?? places[min(1, places.count - 1)]
        let path = URL(filePath: chosen).standardizedFileURL.resolvingSymlinksInPath().path
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw Failure(.noConfiguration, "\(path): it is not a file")
        }
        return path
    }

    // MARK: - Writing

    /// Writes the secrets, then the former text beside the file, then the file; each completely or not at all.
    ///
    /// The former text gets its name only when the file is replaced: until then the older one can be restored.
    ///
    /// - Returns: the path of the former text; nil for a new file.
    func write(_ draft: SetupDraft) throws(Failure) -> String? {
        let (folder, kept) = (Folder.parent(of: path), "\(path).kept")
        // If root sets up the hub of another account, that account must be able to read the new files.
        let owned = text == nil ? folder : path
        var made: [String] = []
        do throws(FileError) {
            try Folder.make(folder)
            for (name, secret) in draft.secrets.sorted(by: { $0.key < $1.key }) {
                let place = "\(folder)/\(name)"
                guard try PrivateFile.write(Array("\(secret)\n".utf8), to: place, replacing: false, forOwnerOf: owned)
                else {
                    throw FileError("make", place, code: EEXIST)
                }
                made.append(place)
            }
            if let text {
                made.append(kept)
                try PrivateFile.write(Array(text.utf8), to: kept, mode: mode, forOwnerOf: path)
            } else {
                guard try PrivateFile.write(Array(draft.text.utf8), to: path, replacing: false, forOwnerOf: owned)
                else {
                    throw FileError("make", path, code: EEXIST)
                }
            }
        } catch {
            for place in made { unlink(place) }
            throw Failure(.system, "\(error.description); nothing was changed")
        }
        guard let text else { return nil }
        do throws(Failure) { try ConfigurationFile.replace(text, with: draft.text, in: path) } catch {
            for place in made { unlink(place) }
            throw error
        }
        guard rename(kept, former) == 0 else { return kept }
        try? Folder.flush(of: former)
        return former
    }

    private var mode: UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0o600
    }

    // MARK: - Undo

    /// The content of the file before the last setup.
    func formerText() throws(Failure) -> String {
        guard text != nil, access(former, F_OK) == 0 else {
            throw Failure(
                .unhealthy, "there is no \(former): hub setup keeps a replaced hub.conf there, and has replaced none")
        }
        return try ConfigurationFile.text(former)
    }

    /// Swaps the file and its former text, so that a second undo reverts the first.
    ///
    /// - Parameter shown: the former text as the person saw it; if one of the files has changed since, nothing is swapped.
    func swap(with shown: String) throws {
        try ConfigurationFile.hold(text ?? "", in: path) {
            guard try formerText() == shown else {
                throw Failure(.tryAgain, "\(former) was changed meanwhile; try again")
            }
            // Exchange atomically: at no moment is one of the texts in no file.
            guard exchange_files(path, former) == 0 else {
                throw Failure(
                    .system, "\(former) cannot take the place of \(path): \(String(cString: strerror(errno)))")
            }
            do throws(FileError) { try Folder.flush(of: path) } catch { throw Failure(.system, error.description) }
        }
    }
}
