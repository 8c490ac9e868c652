import HubStore
import HubWire

/// A QUERY that a session has admitted, with the progress of its answer.
struct PendingQuery {
    let query: QueryRequest
    let session: ClientSession
    /// `nil` before the first turn.
    var progress: Progress?
    /// The time that its turns have taken so far.
    var used = Duration.zero

    enum Progress: Sendable {
        /// The next question to the store.
        case records(PagedQuery)
        /// The result so far.
        case trace(RecordTrace)
        /// The counts so far, and where to continue.
        case sources(SourceCountPage)
        /// The progress of the computation.
        case statistics(StatisticsQuestion)
    }

    init(query: QueryRequest, session: ClientSession) { (self.query, self.session) = (query, session) }

    /// Whether the question scans records; all others are small.
    var isOfRecords: Bool { !query.want.isOfOwner }

    /// Maximum time of one answer; it then contains the results so far (R8.42).
    static let budget = Duration.milliseconds(100)
}

/// The questions that wait for their turn (R8.39).
///
/// Only a few are worked on at a time, so that their memory is bounded. Questions of ended sessions count too, because a peer may repeat
/// HELLO and ask without end. A question about the hub's state does not wait behind questions for records.
struct QueryQueue {
    /// Maximum number of questions at work of each of the two kinds.
    ///
    /// The store has this number of reading connections, and there are no further cores to use.
    static let bound = 2

    private var records = FairQueue<SessionReference, PendingQuery>()
    private var others = FairQueue<SessionReference, PendingQuery>()
    private var begun = (records: 0, others: 0)
    /// The number of questions in a second or later turn: one at a time, so that a question that needs a single turn finds room.
    private var begunAgain = 0

    mutating func append(_ question: PendingQuery) {
        let (session, client) = (question.session.reference, question.session.instance)
        if question.isOfRecords {
            records.append(question, of: session, client)
        } else {
            others.append(question, of: session, client)
        }
    }

    /// Takes the next question that may have a turn.
    ///
    /// - Parameter isOpen: whether the session that asked still waits.
    mutating func next(where isOpen: (SessionReference) -> Bool) -> PendingQuery? {
        if begun.records < Self.bound,
            let question = records.next(where: {
                (begunAgain == 0 || $0.used == .zero) && isOpen($0.session.reference)
            })
        {
            begun.records += 1
            if question.used > .zero { begunAgain += 1 }
            return question
        }
        guard begun.others < Self.bound, let question = others.next(where: { isOpen($0.session.reference) }) else {
            return nil
        }
        begun.others += 1
        return question
    }

    /// Ends the turn of a question that `next` returned, and charges its time.
    mutating func ended(_ question: PendingQuery, after duration: Duration) {
        let (session, client) = (question.session.reference, question.session.instance)
        if question.isOfRecords {
            begun.records -= 1
            if question.used > .zero { begunAgain -= 1 }
            records.charge(duration, to: session, client)
        } else {
            begun.others -= 1
            others.charge(duration, to: session, client)
        }
    }

    /// Removes a session that is over.
    mutating func drop(_ session: SessionReference) {
        records.drop(session)
        others.drop(session)
    }
}
