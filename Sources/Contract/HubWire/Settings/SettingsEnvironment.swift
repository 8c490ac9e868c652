public import Foundation

/// The surroundings of a settings file that the checks need to know; a value, so that tests can make their own.
public struct SettingsEnvironment: Sendable {
    /// Environment variables, for `${NAME}` and the default directories.
    public var variables: [String: String]
    /// The directory from which a relative name of the settings file starts.
    public var currentDirectory: String
    /// Reads a file for `${file:PATH}`; throws a reason for people.
    public var readFile: @Sendable (String) throws -> Data
    /// Whether a path is a directory; nil if nothing is there, or if that is not known.
    public var isDirectory: @Sendable (String) -> Bool? = { _ in nil }
    /// The current day of this machine, in days since 1970-01-01; nil if it is not known.
    public var today: Int?

    /// Makes an environment of these parts.
    public init(
        variables: [String: String], currentDirectory: String, readFile: @escaping @Sendable (String) throws -> Data
    ) {
        (self.variables, self.currentDirectory, self.readFile) = (variables, currentDirectory, readFile)
    }

    /// The environment of this process.
    ///
    /// It reads files of at most 64 KiB and never waits for another program: it refuses to read a pipe.
    public static func process() -> SettingsEnvironment {
        var environment = SettingsEnvironment(
            variables: ProcessInfo.processInfo.environment,
            currentDirectory: FileManager.default.currentDirectoryPath
        ) { path in
            let handle = try SettingsEnvironment.open(path)
            defer { try? handle.close() }
            let limit = 65_536
            let data: Data?
            do {
                data = try handle.read(upToCount: limit + 1)
            } catch {
                throw UnreadableFile(reason: "reading it failed")
            }
            guard let data, !data.isEmpty else { throw UnreadableFile(reason: "it is empty") }
            guard data.count <= limit else { throw UnreadableFile(reason: "it is larger than 64 KiB") }
            return data
        }
        environment.isDirectory = { path in
            var status = stat()
            return stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : nil
        }
        environment.today = Int((Date().timeIntervalSince1970 / 86_400).rounded(.down))
        return environment
    }

    /// Opens a file if it can be read to its end without waiting for another program.
    private static func open(_ path: String) throws(UnreadableFile) -> FileHandle {
        let descriptor = Foundation.open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw UnreadableFile(reason: "it cannot be opened: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw UnreadableFile(reason: "it cannot be examined") }
        switch status.st_mode & S_IFMT {
        case S_IFREG, S_IFCHR: return handle
        case S_IFDIR: throw UnreadableFile(reason: "it is a folder")
        case S_IFIFO: throw UnreadableFile(reason: "it is a pipe; name a file")
        default: throw UnreadableFile(reason: "it is not a file")
        }
    }

    /// No variables and no files.
    static let empty = SettingsEnvironment(variables: [:], currentDirectory: "/") { _ in
        throw UnreadableFile(reason: "there are no files here")
    }

    /// The value of a variable that is set and not empty.
    func variable(_ name: String) -> String? {
        variables[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The value of a variable that is an absolute directory; the XDG rules require ignoring other values.
    package func directoryVariable(_ name: String) -> String? {
        variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// Makes a path absolute.
    ///
    /// `~` is the home directory; a relative path starts at `directory`. Nil if `~` is used and `HOME` is not set.
    package func absolute(_ path: String, from directory: String) -> String? {
        if path == "~" || path.hasPrefix("~/") {
            return variable("HOME").map { $0 + path.dropFirst() }
        }
        if path.hasPrefix("/") { return path }
        return (directory.hasSuffix("/") ? directory : directory + "/") + path
    }

    /// A file in place of a directory, at `path` or above it; nil if there is none.
    package func obstacle(at path: String) -> String? {
        var place = path[...]
        while !place.isEmpty {
            if let isDirectory = isDirectory(String(place)) { return isDirectory ? nil : String(place) }
            place = place[..<(place.lastIndex(of: "/") ?? place.startIndex)]
        }
        return nil
    }

    /// The absolute directory of the settings file.
    func directory(ofFile file: String) -> String {
        let full = file.hasPrefix("/") ? file : currentDirectory + "/" + file
        let parent = full[..<(full.lastIndex(of: "/") ?? full.startIndex)]
        return parent.isEmpty ? "/" : String(parent)
    }
}

/// The reason why a file that a setting names could not be read.
public struct UnreadableFile: Error, CustomStringConvertible {
    /// The reason, worded to follow a colon.
    public var reason: String

    /// An error with this reason.
    public init(reason: String) {
        self.reason = reason
    }

    public var description: String { reason }
}
