/// The exit codes of `hub`; they follow `sysexits.h` if it has a matching code.
package enum HubExit: Int32, CaseIterable, Sendable {
    case success = 0
    case unhealthy = 1
    case broken = 2
    case usage = 64
    case badConfiguration = 65
    case noConfiguration = 66
    case noHub = 69
    case fault = 70
    case system = 71
    case tryAgain = 75
    case dialogue = 76
    case forbidden = 77
    case interrupted = 130

    /// The text for `hub --help`.
    package var meaning: String {
        switch self {
        case .success: "done, no problems"
        case .unhealthy: "a problem was found, or a named thing does not exist"
        case .broken: "hub doctor: something must be repaired"
        case .usage: "wrong arguments"
        case .badConfiguration: "hub.conf has errors"
        case .noConfiguration: "there is no hub.conf, or it cannot be read"
        case .noHub: "no hub answers"
        case .fault: "an error of this program or of the hub; the hub's log says more"
        case .system: "the system refused something: a file, a socket, a program"
        case .tryAgain: "not now: the hub is stopping, busy, or runs already"
        case .dialogue: "this program does not understand the hub's answer"
        case .forbidden: "no permission"
        case .interrupted: "ended by Ctrl-C before it was done"
        }
    }

    package static var table: String {
        allCases.map { exit in
            let number = String(exit.rawValue)
            return "  " + String(repeating: " ", count: 3 - number.count) + number + "  " + exit.meaning
        }.joined(separator: "\n")
    }
}

/// The failure of a command: a line for people and an exit code for scripts.
package struct Failure: Error, Hashable, CustomStringConvertible {
    package let exit: HubExit
    /// States the action, its object, the cause, and the remedy.
    package let message: String
    /// Whether the hub no longer knows the cursor that it was asked about.
    package let isForeignCursor: Bool
    /// The member of a message that the hub refuses, such as `QUERY.persons`.
    package let member: String?

    package init(_ exit: HubExit, _ message: String, isForeignCursor: Bool = false, member: String? = nil) {
        (self.exit, self.message) = (exit, message)
        (self.isForeignCursor, self.member) = (isForeignCursor, member)
    }

    package var description: String { message }
}

/// The reader of stdout has closed it; this is not an error.
package struct OutputClosed: Error { package init() {} }
