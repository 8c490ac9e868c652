import PostgreSQL

/// Why the centre has not done what it was asked: a sentence for people, without a value or a secret.
struct CentreFailure: Error, Hashable, Sendable, CustomStringConvertible {
    enum Kind: Hashable, Sendable {
        /// Another host, or the same one in a moment, may do it; what was sent is in doubt.
        case moment
        /// Not now, whichever host is asked.
        case later
        /// A person has to mend it.
        case person
        /// The centre cannot take what it was sent: data that PostgreSQL has no form for.
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

    /// What `refused` of an answer means, and what to do.
    init(refused word: String, doing: String) {
        let (kind, text): (Kind, String) =
            switch word {
            case "login": (.person, "it knows no hub by this log-in: ask the desk for an invitation, and enrol again")
            case "another hub":
                (
                    .person,
                    "this log-in is another hub's, or this hub has another log-in: each hub needs a certificate of its own; ask the desk for an invitation"
                )
            case "epoch":
                (
                    .person,
                    "this hub's store is one from before a restore, such as a copy or an old disk: only the newest may deliver; hub restore begins an epoch of its own"
                )
            case "paused": (.later, "the desk has paused this hub; it is asked again in a minute")
            case "stopped": (.person, "the desk has stopped this hub: nothing more is taken; ask the desk")
            case "erased": (.person, "the desk has erased this hub and what it gave; ask the desk")
            case "settings":
                (.person, "synchronous_commit is below on, so that no receipt would be true: the desk sets it to on")
            case "limit": (.data, "more than it takes at once")
            case "study": (.person, "there is no such study, it is over, or it was not offered to this hub")
            case "types": (.person, "the study does not ask for all of these types")
            case "person": (.person, "it was never told of this person")
            case "consent": (.person, "it has no such consent")
            case "invitation": (.person, "the invitation was used before, or is over: ask the desk for another one")
            case "request": (.person, "it does not take the request for a certificate")
            default: (.person, "it says \"\(word.prefix(64))\"")
            }
        (self.kind, description) = (kind, "the centre refuses (\(doing)): \(text)")
    }
}

/// What of a server makes receipts lie, by the words of `hello_v1`.
enum UntrueReceipts {
    /// - Parameter hostCount: how many hosts the centre has, as this hub knows it.
    /// - Returns: what to set, or `nil` where it is accepted.
    static func reason(_ word: String, hostCount: Int) -> String? {
        switch word {
        case "synchronous_commit":
            "synchronous_commit is below on, so that a COMMIT does not wait for the disk of a second host: set it to on"
        case "fsync": "fsync is off, so that a power cut takes what was confirmed: set it to on"
        case "full_page_writes":
            "full_page_writes is off, so that a power cut can leave pages half written: set it to on"
        case "single":
            hostCount == 1
                ? nil
                : "synchronous_standby_names is empty, so that no COMMIT waits for a second host: use Patroni with synchronous_mode and synchronous_mode_strict"
        default: "it names \(word.prefix(64)), which this program does not know"
        }
    }

    /// What is accepted and said: there is one host alone.
    static let single = "the centre is one host alone: a receipt is as safe as that host's disk"
}
