import FoundationEssentials
import Glibc
import HubWire
import Platform

/// Finds the right that a confined program seems to lack: its own error names a path or a call, but no setting.
struct ConfinementHint: Sendable {
    let executable: String
    let reach: ConfinementRules
    /// The resources of the running program; `nil` while it is asked for its manifest.
    var own: ConfinementRules.Own?
    /// The name of its section in `hub.conf`; `nil` while a program is asked for its manifest.
    var instance: String?

    /// A right that the program may lack, from a line on stderr; `nil` for other lines.
    func after(_ line: String) -> String? { place(in: line) ?? module(in: line) ?? denial(in: line) }

    /// The same for the last line of a program that is asked for its manifest.
    func after(lastErrorLine line: String) -> String? { place(in: line) ?? module(in: line) }

    /// Why an existing program did not start; `nil` if its interpreter is not the reason.
    ///
    /// - Parameter code: its exit code: 125 of `hub-confine`, 126 and 127 of `env`.
    func ofInterpreter(_ code: Int) -> String? {
        guard reach.launcher != nil, [125, 126, 127].contains(code), let interpreter = Interpreter(of: executable)
        else { return nil }
        let name = interpreter.name
        guard !name.hasSuffix("\r") else {
            return "the first line of \(executable) ends with a carriage return: save it with line ends of Unix"
        }
        guard !interpreter.isSought else {
            let found = Interpreter.found(name)
            guard let first = found.first else {
                return "its interpreter \(name) is in no folder of the hub's PATH, which is \(Interpreter.searchPath)"
            }
            return found.contains { view.sight(of: $0) == .seen } ? nil : lack(of: first)
        }
        guard access(name, F_OK) == 0 else { return "its interpreter \(name) is not on this machine" }
        return lack(of: name)
    }

    private var view: ConfinedFileView { ConfinedFileView(reach, executable, own) }
    private var section: String { instance.map { "[plugin.\($0)]" } ?? "the plugin's section of hub.conf" }

    /// The setting that allows an interpreter; `nil` if it is allowed already.
    private func lack(of interpreter: String) -> String? {
        var (view, path, unseen, folders) = (view, interpreter, String?.none, [String]())
        // An interpreter may be a link to another one, or a script that names a further interpreter.
        for _ in 0..<16 {
            switch view.sight(of: path) {
            case .unseen(let place):
                let folder = home(of: place)
                (unseen, folders) = (unseen ?? place, folders + [folder])
                view.grant(folder)
            case .hidden(let place):
                return
                    "its interpreter \(place) lies among the hub's own files, which no plugin sees: move it elsewhere"
            case .absent: return nil
            case .seen:
                guard let next = Interpreter(of: path), !next.isSought else {
                    guard let unseen else { return nil }
                    let system =
                        interpreter.contains("python")
                        ? ", or make a virtual environment with a Python of the system" : ""
                    return
                        "its interpreter \(unseen) is on this machine but not in its reach\(privateFolderNote(unseen)): write \(setting(folders)) into \(section)\(system)"
                }
                path = next.name
            }
        }
        return nil
    }

    /// A path that an error names, if it exists and the program does not see it.
    private func place(in line: String) -> String? {
        let errors = ["o such file", "ot found", "ermission denied", "EACCES", "ENOENT", "cannot open shared object"]
        guard reach.launcher != nil, errors.contains(where: { line.contains($0) }) else { return nil }
        let quotes = Set("'\"`\u{2018}\u{2019}\u{201C}\u{201D}")
        let pieces = line.split(whereSeparator: quotes.contains)
        let words = pieces.flatMap { $0.split { $0.isWhitespace || ",;()[]<>=".contains($0) } }
        let view = view
        for word in pieces + words where word.hasPrefix("/") {
            let path = String(word.last.map { ":.".contains($0) } == true ? word.dropLast() : word)
            guard case .unseen(let place) = view.sight(of: path), !place.hasPrefix("/proc/"), !place.hasPrefix("/sys/")
            else { continue }
            let named =
                "\(place) is on this machine but not in its reach\(privateFolderNote(place)): if it needs that, "
            if place.hasPrefix("/dev/") { return named + "name it in a setting of the type path (Protocol §13.7)" }
            var isFolder = false
            let isProgram =
                FileManager.default.fileExists(atPath: place, isDirectory: &isFolder) && !isFolder
                && access(place, X_OK) == 0
            return named
                + "write \(setting([isProgram ? home(of: place) : place])) into \(section), or name it in a setting of the type path"
        }
        return nil
    }

    /// A missing module, if `env` skipped an interpreter that the program does not see.
    private func module(in line: String) -> String? {
        let errors = ["No module named", "cannot load such file", "Can't locate", "Cannot find module"]
        guard reach.launcher != nil, errors.contains(where: { line.contains($0) }),
            let interpreter = Interpreter(of: executable), interpreter.isSought
        else { return nil }
        let found = Interpreter.found(interpreter.name)
        guard let first = found.first, let used = found.first(where: { view.sight(of: $0) == .seen }), first != used,
            let lack = lack(of: first)
        else { return nil }
        return "it runs with \(used); \(lack)"
    }

    /// A call that the hub may have denied.
    private func denial(in line: String) -> String? {
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

    private func privateFolderNote(_ path: String) -> String {
        path.hasPrefix("/tmp/") ? ", because a plugin has its own /tmp" : ""
    }

    /// The whole line including the present entries, because a section has only one such line.
    private func setting(_ folders: [String]) -> String {
        let all = reach.readable + folders
        return "readable = [\(all.map { "\"\($0)\"" }.joined(separator: ", "))]"
    }

    /// The folder that must be readable: an interpreter's modules are beside its folder `bin`.
    private func home(of program: String) -> String {
        func folder(of path: String) -> String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }
        let bin = folder(of: program)
        let home = folder(of: bin)
        guard !ConfinementRules.isSharedFolder(bin), !bin.isEmpty else { return program }
        let isLink = (try? FileManager.default.destinationOfSymbolicLink(atPath: program)) != nil
        let hasModules = !isLink || access("\(home)/pyvenv.cfg", F_OK) == 0
        guard hasModules, ["bin", "shims"].contains(bin.split(separator: "/").last), !home.isEmpty,
            !ConfinementRules.isSharedFolder(home), folder(of: home) != "/home"
        else { return bin }
        return home
    }
}

/// The interpreter in the first line of a script: `#!PATH`, or `#!/usr/bin/env NAME`.
private struct Interpreter {
    let name: String
    /// Whether it is searched in `PATH`.
    let isSought: Bool

    /// `nil` if the file is not a script, or cannot be read.
    init?(of file: String) {
        guard let start = try? Descriptor(file, O_RDONLY).read(upTo: 256), start.starts(with: "#!".utf8) else {
            return nil
        }
        let words = String(decoding: start.dropFirst(2).prefix { $0 != 0x0A }, as: UTF8.self)
            .split { $0 == " " || $0 == "\t" }.map(String.init)
        guard let first = words.first else { return nil }
        guard first.hasSuffix("/env") else {
            (name, isSought) = (first, false)
            return
        }
        guard let name = words.dropFirst().first(where: { !$0.hasPrefix("-") && !$0.contains("=") }) else { return nil }
        (self.name, isSought) = (name, !name.contains("/"))
    }

    static var searchPath: String { ProcessInfo.processInfo.environment["PATH"] ?? "" }

    /// The programs with this name, in the order of `PATH`.
    static func found(_ name: String) -> [String] {
        searchPath.split(separator: ":").map { "\($0)/\(name)" }.filter { access($0, X_OK) == 0 }
    }
}
