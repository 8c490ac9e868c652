import Foundation
import HubClient

/// A language in which `hub plugin new` writes a plugin.
enum PluginLanguage: String, CaseIterable {
    case python, sh, ruby, php, perl, swift

    var name: String {
        switch self {
        case .python: "Python"
        case .sh: "shell"
        case .ruby: "Ruby"
        case .php: "PHP"
        case .perl: "Perl"
        case .swift: "Swift"
        }
    }

    /// A file of the folder, and the embedded file that it is made from (``EmbeddedFile``).
    struct Part {
        var path: String
        var origin: String
        var isProgram = false
        /// A row of README.md; empty for a file that belongs to the row before.
        var meaning = ""
    }

    /// The files of a plugin in this language.
    ///
    /// - Parameter program: `hub-NAME`.
    func parts(_ program: String, _ role: PluginRole) -> [Part] {
        let library = "the hub's client library (Apache-2.0), all that speaks with the hub"
        func whole(_ ending: String, _ file: String, from origin: String) -> [Part] {
            [
                Part(path: program, origin: "\(role).\(ending)", isProgram: true, meaning: "the plugin"),
                Part(path: file, origin: "Clients/\(origin)", meaning: library),
            ]
        }
        switch self {
        case .python:
            let modules = ["__init__", "_aio", "_core", "_plugin", "_spool", "_sync", "_wire"]
            return [
                Part(path: program, origin: "\(role).py", isProgram: true, meaning: "the plugin"),
                Part(
                    path: "requirements.txt", origin: "python.requirements.txt",
                    meaning: "the packages that it needs, for a virtual environment `venv` in this folder"),
                Part(path: ".gitignore", origin: "python.gitignore"),
            ]
                + modules.map { module in
                    Part(
                        path: "health_hub/\(module).py", origin: "Clients/Python/health_hub/\(module).py",
                        meaning: module == modules[0] ? library : "")
                }
        case .ruby: return whole("rb", "health_hub.rb", from: "Ruby/health_hub.rb")
        case .php: return whole("php", "HealthHub.php", from: "PHP/HealthHub.php")
        case .perl: return whole("pl", "HealthHub.pm", from: "Perl/HealthHub.pm")
        case .sh:
            return [
                Part(
                    path: program, origin: "plugin.sh", isProgram: true,
                    meaning: "the program that the hub starts: it becomes `hub bridge plugin`"),
                Part(path: "manifest.json", origin: "\(role).manifest.json", meaning: "the plugin's manifest"),
                Part(path: "program.sh", origin: "\(role).sh", meaning: "the plugin: it reads and writes lines"),
            ]
        case .swift:
            return [
                Part(path: "Sources/Plugin.swift", origin: "\(role).swift.in", meaning: "the plugin"),
                Part(path: "Package.swift", origin: "Package.swift.in", meaning: "the place of PluginKit"),
                Part(path: ".gitignore", origin: "swift.gitignore"),
            ]
        }
    }

    /// A shell command, run in the folder, that builds the program; empty if the program needs no build.
    ///
    /// `cp -f`, because the old program may be running.
    func build(_ program: String) -> String {
        self == .swift ? "swift build -c release && cp -f .build/release/\(program) ." : ""
    }

    /// The language of a folder whose program ``build(_:)`` can make; `nil` if there is nothing to build.
    static func built(in folder: String) -> PluginLanguage? {
        FileManager.default.fileExists(atPath: "\(folder)/Package.swift") ? .swift : nil
    }

    /// The software that it needs on the machine, in words.
    var needs: String {
        switch self {
        case .python: "Python 3.9 with pyzmq (Debian: `python3-zmq`)"
        case .sh: "`jq`, and `hub` on the machine"
        case .ruby: "Ruby with ffi, and libzmq (Debian: `ruby`, `ruby-ffi`, `libzmq5`)"
        case .php: "PHP 8.1 with the extension zmq (Debian: `php-cli`, `php-zmq`)"
        case .perl: "Perl 5.26 with FFI::Platypus, and libzmq (Debian: `libffi-platypus-perl`, `libzmq5`)"
        case .swift: "Swift 6.2 to be built, and libzmq, libsodium and SQLite"
        }
    }

    /// Debian packages that it needs in addition to those of the hub.
    var packages: String {
        switch self {
        case .python: "python3-zmq"
        case .sh: "jq"
        case .ruby: "ruby ruby-ffi"
        case .php: "php-cli php-zmq"
        case .perl: "libffi-platypus-perl"
        case .swift: ""
        }
    }

    /// A command that ends with 0 if the machine has the needed software.
    private var probe: [String] {
        switch self {
        case .python: ["python3", "-c", "import zmq"]
        case .sh: ["jq", "--version"]
        case .ruby: ["ruby", "-e", "require 'ffi'"]
        case .php: ["php", "-n", "-d", "extension=zmq", "-r", "exit(class_exists('ZMQ') ? 0 : 1);"]
        case .perl: ["perl", "-MFFI::Platypus", "-e", "1"]
        case .swift: ["swift", "--version"]
        }
    }

    /// The first interpreter in the search path that a confined plugin can reach; those in a person's home are skipped.
    ///
    /// A machine may have several, with different packages.
    var interpreter: String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let home = FileManager.default.homeDirectoryForCurrentUser.path + "/"
        return folders.filter { self == .swift || !$0.hasPrefix(home) }.map { "\($0)/\(probe[0])" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether a plugin in this language can run here.
    var isOnThisMachine: Bool {
        guard let interpreter else { return false }
        let process = Process.silent(interpreter, Array(probe.dropFirst()))
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// The role of a plugin: it gives or receives records.
enum PluginRole: String, CustomStringConvertible {
    case source, sink

    var description: String { rawValue }
}
