import FoundationEssentials

/// Finds the program of a plugin.
///
/// An absolute path is used unchanged. A name is searched in the folder of the hub's own program first, then among the programs that
/// `hub plugin install` has installed, then in `PATH`.
struct ExecutableFinder: Sendable {
    enum Finding: Sendable, Hashable {
        /// The path of an executable file.
        case found(String)
        /// There is a file at this path, which the hub may not execute.
        case notExecutable(String)
        case folder(String)
        case missing
    }

    /// Folder of the running hub program.
    let ownFolder: String
    /// The value of `PATH`.
    let searchPath: String
    /// The installed programs of `hub.conf`; `nil` if it does not name the data folder.
    var installed: InstalledPrograms?

    init(programPath: String, searchPath: String) {
        let parts = programPath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        ownFolder = parts.isEmpty ? "." : parts.joined(separator: "/")
        self.searchPath = searchPath
    }

    /// The first executable file among the candidates, or else the closest match.
    func find(_ executable: String) -> Finding {
        if executable.contains("/") { return look(at: executable) }
        let own = "\(ownFolder)/\(executable)"
        let installed = installed?.program(executable)
        let others = searchPath.split(separator: ":").map { "\($0)/\(executable)" }
        var nearest = Finding.missing
        for path in [own] + (installed.map { [$0] } ?? []) + others {
            let finding = look(at: path)
            if case .found = finding { return finding }
            if case .notExecutable = finding, nearest == .missing { nearest = finding }
        }
        return nearest
    }

    private func look(at path: String) -> Finding {
        var isFolder = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return .missing }
        if isFolder { return .folder(path) }
        return FileManager.default.isExecutableFile(atPath: path) ? .found(path) : .notExecutable(path)
    }
}

extension ExecutableFinder.Finding {
    /// The reason why there is no program, with the remedy.
    func fault(of executable: String) -> String? {
        let remedy = "correct executable, or set enabled = false"
        return switch self {
        case .found: nil
        case .notExecutable(let path): "its program \(path) is not executable; chmod +x it, \(remedy)"
        case .folder(let path): "its program \(path) is a folder; \(remedy)"
        case .missing where executable.contains("/"): "there is no file \(executable); install its program, \(remedy)"
        case .missing: "its program \(executable) is not beside the hub, installed or in PATH; install it, \(remedy)"
        }
    }
}
