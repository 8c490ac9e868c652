/// The program after `--`: ArgumentParser cannot parse it beside a list of types.
enum BridgeProgram {
    /// The words before it, which are parsed as arguments of `hub`.
    static let arguments = divided(CommandLine.arguments.dropFirst()).arguments
    /// The program and its arguments; empty if there is none.
    static let words = divided(CommandLine.arguments.dropFirst()).program

    static func divided(_ words: some Collection<String>) -> (arguments: [String], program: [String]) {
        let words = Array(words)
        guard words.first == "bridge", let end = words.firstIndex(of: "--") else { return (words, []) }
        return (Array(words[..<end]), Array(words[(end + 1)...]))
    }
}
