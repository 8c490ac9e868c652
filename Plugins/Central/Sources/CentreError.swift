import PostgreSQL

/// A failed call to the centre, with a sentence for people that contains no value and no secret.
struct CentreError: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// Another host, or the same one in a moment, may succeed; the outcome is in doubt.
        case moment
        /// The call cannot succeed now on any host.
        case later
        /// A person has to fix the problem.
        case person
        /// The call contains data that PostgreSQL cannot represent.
        case data
    }

    let kind: Kind
    let description: String

    init(_ kind: Kind, _ description: String) { (self.kind, self.description) = (kind, description) }

    init(_ error: PostgreSQLError) {
        kind =
            switch error.kind {
            case .host, .deadline: .moment
            case .identity: .person
            case .statement: ["22", "54"].contains(error.code?.prefix(2)) ? .data : .person
            }
        description = error.description
    }

    /// Translates the word in `refused` of an answer to a reason and a remedy.
    init(refused word: String, doing: String) {
        let (kind, text): (Kind, String) =
            switch word {
            case "login": (.person, "it knows no hub by this log-in: ask the desk for an invitation, and enrol again")
            case "another hub":
                (
                    .person,
                    "this log-in is another hub's, or this hub has another log-in: each hub needs its own certificate; ask the desk for an invitation"
                )
            case "epoch":
                (
                    .person,
                    "this hub's store is from before a restore, such as a copy or an old disk: only the newest may deliver; hub restore begins a new epoch"
                )
            case "paused": (.later, "the desk has paused this hub; it is asked again in a minute")
            case "stopped": (.person, "the desk has stopped this hub: nothing more is taken; ask the desk")
            case "erased": (.person, "the desk has erased this hub and its records; ask the desk")
            case "settings":
                (.person, "synchronous_commit is below on, so that no receipt would be true: the desk sets it to on")
            case "limit": (.data, "more than it takes at once")
            case "study": (.person, "there is no such study, it is over, or it was not offered to this hub")
            case "types": (.person, "the study does not ask for all of these types")
            case "person": (.person, "it does not know this person")
            case "consent": (.person, "it has no such consent")
            case "invitation": (.person, "the invitation was used before, or is over: ask the desk for another one")
            case "request": (.person, "it does not take the request for a certificate")
            default: (.person, "it says \"\(word.prefix(64))\"")
            }
        (self.kind, description) = (kind, "the centre refuses (\(doing)): \(text)")
    }
}

/// Server settings that make receipts untrue, by the words of `hello_v1`.
enum UnsafeServerSettings {
    /// - Parameter hostCount: the number of the centre's hosts that this hub knows.
    /// - Returns: the remedy, or nil if the setting is accepted.
    static func reason(_ word: String, hostCount: Int) -> String? {
        switch word {
        case "synchronous_commit":
            "synchronous_commit is below on, so that a COMMIT does not wait for the disk of a second host: set it to on"
        case "fsync": "fsync is off, so that a power cut loses confirmed records: set it to on"
        case "full_page_writes":
            "full_page_writes is off, so that a power cut can leave pages half written: set it to on"
        case "single":
            hostCount == 1
                ? nil
                : "synchronous_standby_names is empty, so that no COMMIT waits for a second host: use Patroni with synchronous_mode and synchronous_mode_strict"
        default: "it names \(word.prefix(64)), which this program does not know"
        }
    }

    /// The warning for a single host, which is accepted.
    static let single = "the centre is one host alone: a receipt is as safe as that host's disk"
}
