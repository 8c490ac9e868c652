import Glibc

/// The arguments of this program, which Swift reads from /proc: without it a program sees none, not even its own name.
package enum ProgramArguments {
    /// Ends the process with one line on stderr and exit code 71 if the arguments cannot be seen.
    ///
    /// - Parameter name: what the line calls the program.
    package static func demand(_ name: String) {
        guard CommandLine.argc == 0 else { return }
        let line = "\(name): \(fault)\n"
        _ = Array(line.utf8).withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
        _exit(71)
    }

    static let fault =
        "its arguments cannot be seen, because /proc/self/cmdline cannot be read: mount /proc (mount -t proc proc /proc), and let the program see it (ProcSubset=, hidepid=)"
}
