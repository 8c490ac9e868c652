import FoundationEssentials
import Glibc
import HubSettings
import HubWire

/// The places that the program of an instance may reach, and the command that confines it to them.
struct ConfinementRules: Sendable, Hashable {
    struct Place: Sendable, Hashable {
        let path: String
        let access: SettingAccess
    }

    /// The path of `hub-confine`; `nil` if `hub.conf` has `confine = false`.
    var launcher: String?
    /// Files and folders of `readable` in `hub.conf`.
    var readable: [String] = []
    /// The places that its settings name.
    var places: [Place] = []
    var words: Set<PluginReach> = []
    /// The hub's own folders, which no plugin may reach wherever they are.
    var hidden: [String] = []

    static let unconfined = ConfinementRules()

    /// The hub's resources for a running plugin.
    struct Own: Sendable, Hashable {
        let state, temporary: String
        let sockets: [String]
    }

    /// The folders in which distributions keep programs and libraries.
    private static let systems = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
    ]
    /// Files that the C library, TLS and interpreters read.
    private static let facts = [
        "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
        "/etc/ssl",
        "/etc/pki", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/hosts", "/etc/host.conf",
        "/etc/nsswitch.conf", "/etc/gai.conf", "/etc/localtime", "/etc/timezone", "/etc/locale.alias", "/etc/passwd",
        "/etc/group", "/etc/services", "/etc/protocols", "/etc/mime.types", "/etc/python3",
        "/sys/devices/system/cpu",
    ]
    private static let resolver = "/etc/resolv.conf"

    /// The words of the command that starts `executable`.
    ///
    /// - Parameters:
    ///   - own: `nil` while the program is only asked; it may not write anything then.
    ///   - group: the folder of the control group in which it is started.
    func command(
        _ executable: String, _ arguments: [String], _ own: Own? = nil, group: String? = nil
    ) -> (program: String, words: [String]) {
        guard let launcher else { return (executable, arguments) }
        let executable = executable.hasPrefix("/") ? executable : Self.resolved(executable)
        var words = group.map { ["--group", $0] } ?? []
        func grant(_ kind: String, _ paths: [String]) { for path in paths { words += ["--\(kind)", path] } }
        func existing(_ paths: [String]) -> [String] { paths.filter { access($0, F_OK) == 0 } }
        for word in self.words.map(\.rawValue).sorted() where own != nil { words += ["--reach", word] }
        // Places inside hidden folders are granted after these; otherwise they would be hidden too.
        let (installed, places) = programPlaces(executable).divided { place in
            hidden.contains { place.hasPrefix(InstalledPrograms(data: $0).folder + "/") }
        }
        let libraries = [OwnProgram.path, Self.resolved(executable)].compactMap(Self.libraries)
        grant("execute", existing(Self.systems + libraries) + [OwnProgram.path] + places + readable)
        grant("read", existing(Self.facts + (self.words.contains(.network) ? [Self.resolver] : [])))
        for place in self.places {
            grant(place.access == .read || own == nil ? "read" : "write", [place.path])
        }
        grant("hide", hidden)
        grant("execute", installed)
        if let own {
            grant("write", [own.state, own.temporary])
            grant("temporary", [own.temporary])
            grant("socket", own.sockets)
        }
        return (launcher, words + ["--", executable] + arguments)
    }

    /// The program and its folder, which may contain modules, resources and libraries.
    ///
    /// A folder such as `/tmp` or a home folder is not granted.
    private func programPlaces(_ executable: String) -> [String] {
        let file = Self.resolved(executable)
        let folders = Set([executable, file].map { String($0.prefix(upTo: $0.lastIndex(of: "/") ?? $0.startIndex)) })
            .filter { !$0.isEmpty && !Self.isSharedFolder(Self.resolved($0)) }
        // The folder of a link is skipped, because it contains only the link.
        return [executable] + folders.filter { file == executable || file.hasPrefix($0 + "/") }.sorted()
    }

    /// `PREFIX/lib` of a program in `PREFIX/bin`, in which Unix keeps the program's libraries.
    private static func libraries(of program: String) -> String? {
        let parts = program.split(separator: "/").dropLast()
        let prefix = "/" + parts.dropLast().joined(separator: "/")
        return parts.last == "bin" && !isSharedFolder(prefix) ? prefix + "/lib" : nil
    }

    /// Whether a folder contains many unrelated files, so that no program gets all of it.
    static func isSharedFolder(_ folder: String) -> Bool {
        ["/", "/tmp", "/var/tmp", "/home", "/root", "/etc"].contains(folder)
            || ProcessInfo.processInfo.environment["HOME"].map { resolved($0) } == folder
    }

    static func resolved(_ path: String) -> String {
        guard let text = realpath(path, nil) else { return path }
        defer { free(text) }
        return String(cString: text)
    }

    /// Makes missing places that settings name, if their declarations say so.
    func makePlaces() {
        guard launcher != nil else { return }
        for place in places where access(place.path, F_OK) != 0 {
            switch place.access {
            case .folder: mkdir(place.path, 0o700)
            case .write where !place.path.hasPrefix("/dev/"):
                let file = open(place.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
                if file >= 0 { close(file) }
            default: break
            }
        }
    }

    /// The files that a program sees if it starts now; it would not see a file that is created or replaced later.
    var sight: [String: ProgramFile.Identity?] {
        guard launcher != nil else { return [:] }
        return Dictionary(
            places.map { ($0.path, ProgramFile.Identity($0.path)) }, uniquingKeysWith: { first, _ in first })
    }

    /// The configuration for name resolution, which is replaced whenever the machine joins another network.
    var resolverText: Data? {
        launcher != nil && words.contains(.network) ? FileManager.default.contents(atPath: Self.resolver) : nil
    }
}

extension ConfinementRules {
    /// - Parameter manifest: `nil` while the program is asked for its manifest.
    init(
        _ confinement: PluginInstance.Confinement, _ manifest: Manifest?, _ instance: PluginInstance?,
        _ isolation: Isolation, hidden: [String]
    ) {
        guard confinement.isOn else {
            self = .unconfined
            return
        }
        launcher = isolation.launcher
        readable = confinement.readable
        self.hidden = Set(hidden + hidden.map(Self.resolved)).filter { $0.hasPrefix("/") }.sorted()
        guard let manifest, let instance else { return }
        let granted = instance.grants.reach.map(Set.init)
        words = Set(manifest.reaches.filter { granted?.contains($0) ?? true }.compactMap(PluginReach.init))
        places = manifest.settings.flatMap { declaration in
            instance.settings[declaration.name].map { declaration.places(in: $0) } ?? []
        }.map { Place(path: $0.path, access: $0.access) }
    }
}

extension Sequence {
    /// The elements that meet a condition, and the others.
    fileprivate func divided(_ condition: (Element) -> Bool) -> (these: [Element], others: [Element]) {
        (filter(condition), filter { !condition($0) })
    }
}
