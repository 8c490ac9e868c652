import Files
import FoundationEssentials
import Glibc
import HubSettings

/// The right that a confined program seems to lack: its own error names a path or a call, and no setting.
struct ReachHint: Sendable {
    let executable: String
    let reach: ProgramReach
    /// Of its section of `hub.conf`; `nil` while a program is asked what it is.
    var instance: String?

    /// After a line on stderr: a right that it may lack; `nil` for other lines.
    func after(_ line: String) -> String? {
        guard reach.launcher != nil,
            ["Permission denied", "permission denied", "EACCES"].contains(where: { line.contains($0) })
        else { return nil }
        var needs: [String] = []
        if !reach.words.contains(.network) {
            needs.append(#"to reach the network, "network" in `reaches` of its manifest"#)
        } else if !reach.words.contains(.listening) {
            needs.append(
                #"to bind a TCP port or wait for connections, also on this machine as paho-mqtt does, "listening" in `reaches` of its manifest"#
            )
        }
        needs.append("to read another file, a setting of the type path or `readable` in \(section)")
        return "if the hub denied that: it needs, \(needs.joined(separator: "; ")) (Protocol §13.7)"
    }

    /// Why a program does not start though it is there: its interpreter is not in its reach; `nil` if it is.
    var ofInterpreter: String? {
        guard reach.launcher != nil, let start = try? Descriptor(executable, O_RDONLY).read(upTo: 256),
            start.starts(with: "#!".utf8)
        else { return nil }
        let words = String(decoding: start.dropFirst(2).prefix { $0 != 0x0A }, as: UTF8.self).split(separator: " ")
        guard let first = words.first.map(String.init) else { return nil }
        let name = first.hasSuffix("/env") ? words.dropFirst().first { !$0.hasPrefix("-") }.map(String.init) : first
        guard let name, let path = name.hasPrefix("/") ? name : found(name), let outside = outside(path) else {
            return nil
        }
        return
            "its interpreter \(outside) is on this machine but not in its reach: add readable = [\"\(home(of: outside))\"] to \(section), or make a virtual environment with a Python of the system"
    }

    private var section: String { instance.map { "[plugin.\($0)] of hub.conf" } ?? "its section of hub.conf" }

    /// A program by its name, as the hub itself finds it.
    private func found(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { access($0, X_OK) == 0 }
    }

    /// The first place on the way through links that is there and that the program does not see.
    private func outside(_ path: String) -> String? {
        let words = reach.command(executable, []).words.prefix { $0 != "--" }
        // The rest of the paths are places that it must not see.
        let granted = zip(words, words.dropFirst()).filter { ["--execute", "--read", "--write"].contains($0.0) }.map(
            \.1)
        var path = path
        for _ in 0..<40 {
            let folder = ProgramReach.resolved(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
            path = "\(folder)/\(path.split(separator: "/").last ?? "")"
            guard access(path, F_OK) == 0 else { return nil }
            let isSeen = granted.contains { place in
                [place, ProgramReach.resolved(place)].contains { path == $0 || path.hasPrefix($0 + "/") }
            }
            guard isSeen else { return path }
            guard let next = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else { return nil }
            path = next.hasPrefix("/") ? next : "\(folder)/\(next)"
        }
        return nil
    }

    /// The folder that has to be readable: an interpreter's modules lie beside its folder `bin`.
    private func home(of program: String) -> String {
        var parts = program.split(separator: "/")
        if parts.count > 1 { parts.removeLast() }
        if parts.count > 1, parts.last == "bin" || parts.last == "shims" { parts.removeLast() }
        return "/" + parts.joined(separator: "/")
    }
}
