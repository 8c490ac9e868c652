import HubSessions
import HubWire

/// A QUERY that a session has admitted.
struct Question {
    let query: QueryRequest
    let session: ClientSession

    /// Pages of records; everything else is small.
    var isOfRecords: Bool { query.want == .records }
}

/// The questions that wait for their turn.
///
/// So few are worked on at a time that what they hold is bounded, also for sessions that ended meanwhile: a peer may ask and say HELLO again
/// without an end. A question about the hub's state does not wait behind those for records.
struct QuestionQueue {
    /// Of each of the two kinds; the store reads on as many connections at a time, and there are not more cores to gain.
    static let bound = 2

    private var waiting: [Question] = []
    private var begun = (records: 0, others: 0)

    mutating func append(_ question: Question) { waiting.append(question) }

    /// The first that may begin, which then has.
    ///
    /// - Parameter isOpen: whether the session that asked still waits.
    mutating func next(where isOpen: (SessionReference) -> Bool) -> Question? {
        let index = waiting.firstIndex { question in
            (question.isOfRecords ? begun.records : begun.others) < Self.bound && isOpen(question.session.reference)
        }
        guard let index else { return nil }
        let question = waiting.remove(at: index)
        if question.isOfRecords { begun.records += 1 } else { begun.others += 1 }
        return question
    }

    /// One that `next` returned has been answered, or no session waits for it any more.
    mutating func ended(_ question: Question) {
        if question.isOfRecords { begun.records -= 1 } else { begun.others -= 1 }
    }

    /// A session is over.
    mutating func drop(_ session: SessionReference) { waiting.removeAll { $0.session.reference == session } }
}
