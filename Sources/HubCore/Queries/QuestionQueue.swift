import HubSessions
import HubStore
import HubWire

/// A QUERY that a session has admitted, and how far its answer has come.
struct Question {
    let query: QueryRequest
    let session: ClientSession
    /// `nil` before the first turn.
    var progress: Progress?
    /// What its turns have taken so far.
    var used = Duration.zero

    enum Progress: Sendable {
        /// What is asked of the store next.
        case records(PageQuestion)
        /// What has been found.
        case trace(RecordTrace)
        /// What has been counted, and from where it goes on.
        case sources(SourceCountPage)
        /// How far it has been computed.
        case statistics(StatisticsQuestion)
    }

    init(query: QueryRequest, session: ClientSession) { (self.query, self.session) = (query, session) }

    /// What looks through records; everything else is small.
    var isOfRecords: Bool { !query.want.isOfOwner }

    /// What an answer may cost; then it has what was found until then (R8.42).
    static let budget = Duration.milliseconds(100)
}

/// The questions that wait for their turn (R8.39).
///
/// So few are worked on at a time that what they hold is bounded, also for sessions that ended meanwhile: a peer may ask and say HELLO again
/// without an end. A question about the hub's state does not wait behind those for records.
struct QuestionQueue {
    /// Of each of the two kinds; the store reads on as many connections at a time, and there are not more cores to gain.
    static let bound = 2

    private var records = FairQueue<SessionReference, Question>()
    private var others = FairQueue<SessionReference, Question>()
    private var begun = (records: 0, others: 0)
    /// Those at work whose first turn was not enough: one at a time, so that a question that needs a single turn finds room.
    private var begunAgain = 0

    mutating func append(_ question: Question) {
        let (session, client) = (question.session.reference, question.session.instance)
        if question.isOfRecords {
            records.append(question, of: session, client)
        } else {
            others.append(question, of: session, client)
        }
    }

    /// The next that may have a turn, which it then has.
    ///
    /// - Parameter isOpen: whether the session that asked still waits.
    mutating func next(where isOpen: (SessionReference) -> Bool) -> Question? {
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

    /// The turn of one that `next` returned is over, and has taken this long.
    mutating func ended(_ question: Question, after duration: Duration) {
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

    /// A session is over.
    mutating func drop(_ session: SessionReference) {
        records.drop(session)
        others.drop(session)
    }
}
