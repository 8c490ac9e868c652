import FoundationEssentials

/// Finds the program of a plugin: an absolute path as it is, a name beside the hub's own program first, then in `PATH`.
struct ExecutableFinder: Sendable {
    /// Folder of the running hub program.
    let ownFolder: String
    /// The value of `PATH`.
    let searchPath: String

    init(programPath: String, searchPath: String) {
        let parts = programPath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        ownFolder = parts.isEmpty ? "." : parts.joined(separator: "/")
        self.searchPath = searchPath
    }

    /// The path of an executable file, or `nil` when no candidate is one.
    func path(of executable: String) -> String? {
        if executable.contains("/") { return isExecutable(executable) ? executable : nil }
        let folders = [ownFolder] + searchPath.split(separator: ":").map(String.init)
        return folders.lazy.map { "\($0)/\(executable)" }.first(where: isExecutable)
    }

    private func isExecutable(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder
            && FileManager.default.isExecutableFile(atPath: path)
    }
}
