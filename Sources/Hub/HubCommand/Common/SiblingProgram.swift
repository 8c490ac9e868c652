import Foundation
import HubClient

/// A subcommand that is a separate program beside this one, so that it need not be built.
enum SiblingProgram: String, CaseIterable {
    case demo, plugin

    /// The source of the program.
    private var origin: String {
        switch self {
        case .demo: "make demo builds it, and the package health-hub-demo has it"
        case .plugin: "make build builds it"
        }
    }

    /// Replaces this process by that program if `words` begin with its name; called at the start, before options are parsed.
    ///
    /// - Parameter words: the arguments as typed, including `--help`.
    static func become(_ words: ArraySlice<String>) throws(Failure) {
        guard let program = words.first.flatMap(SiblingProgram.init) else { return }
        try program.become(words.dropFirst())
    }

    private func become(_ words: ArraySlice<String>) throws(Failure) -> Never {
        let path = HubProgram.beside("hub-\(rawValue)")
        // Pass the name that was typed, because the program's advice uses it.
        let typed = CommandLine.arguments[0]
        let name = typed.lastIndex(of: "/").map { typed[...$0] + "hub-\(rawValue)" } ?? "hub-\(rawValue)"
        var pointers = ([name] + words).map { strdup($0) } + [nil]
        execv(path, &pointers)
        throw Failure(
            .system,
            "\(path): the program cannot be started (\(String(cString: strerror(errno)))); \(origin)")
    }
}
