import ScaleSimulation
import ScaleStandIns

/// The help text of every scale below its options.
enum LongHelp {
    static func discussion(_ begin: String, faults: StandInKind, _ more: String = "") -> String {
        """
        \(begin)

        The first line on stdout is the address for a host; what happens follows,
        a line each (--json: an object each; --wire: also every byte). Commands are
        read from stdin while it is open:

        \(SimulatorCommand.help.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))

        Faults (--fault NAME or NAME=N, any number of them):

        \(rows { !$0.isDisjoint(with: faults) })

        With --hsl:

        \(rows { $0.contains(.hsl) })

        \(more)The scale's zone is that of the environment (TZ). It stays powered when a
        host goes, and serves the next.

        Exit codes: 0 ended by quit, SIGTERM, SIGINT, --exit-when-done or --until-eof;
        64 wrong option; 65 wrong script; 69 the link cannot be opened.
        """
    }

    /// The paragraph about the key of a simulated log-in.
    static let testKey = """
        The log-in needs a key that both sides have: invent 32 hex digits for
        --test-key. A real scale's key is its vendor's and is not in here.


        """

    private static func rows(_ isShown: (StandInKind) -> Bool) -> String {
        FaultOption.all.filter { isShown($0.scales) }.map(row).joined(separator: "\n")
    }

    private static func row(_ fault: FaultOption.Known) -> String {
        let name = fault.name + (fault.standard == nil ? "=n" : "[=n]")
        let padding = String(repeating: " ", count: max(1, 19 - name.count))
        return "  \(name)\(padding)\(fault.value)" + (fault.standard.map { " (n: \($0))" } ?? "")
    }
}
