import Foundation
import HubClient

/// A subcommand that is a program of its own, beside this one: who does not need it need not build it.
enum ProgramBeside: String, CaseIterable {
    case demo, plugin

    /// What `make` builds it.
    private var target: String {
        switch self {
        case .demo: "demo"
        case .plugin: "build"
        }
    }

    /// Makes this process that program, where `words` begin with its name; the program's start calls it, before options are read.
    ///
    /// - Parameter words: as they were written, `--help` included.
    static func become(_ words: ArraySlice<String>) throws(Failure) {
        guard let program = words.first.flatMap(ProgramBeside.init) else { return }
        try program.become(words.dropFirst())
    }

    private func become(_ words: ArraySlice<String>) throws(Failure) -> Never {
        let path = HubProgram.beside("hub-\(rawValue)")
        // By the name that was typed, from which it tells people what to type.
        let typed = CommandLine.arguments[0]
        let name = typed.lastIndex(of: "/").map { typed[...$0] + "hub-\(rawValue)" } ?? "hub-\(rawValue)"
        var pointers = ([name] + words).map { strdup($0) } + [nil]
        execv(path, &pointers)
        throw Failure(
            .system,
            "\(path): the program cannot be started (\(String(cString: strerror(errno)))); make \(target) builds it")
    }
}
