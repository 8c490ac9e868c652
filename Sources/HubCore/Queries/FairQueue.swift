/// A line in which those who have cost least come first.
///
/// Each client has used some time; the next turn is that of the client that has used least, within it of the session that has, within
/// that of what has waited longest. A client that has asked nothing for a while begins where the others are now: it has saved up no
/// time, and owes none. So one that asks seldom and little waits for no more than what is being done, however much others ask.
struct FairQueue<Session: Hashable, Element> {
    private struct Entry {
        let element: Element
        let client: String
        let session: Session
    }

    private var waiting: [Entry] = []
    private var clients: [String: Duration] = [:]
    private var sessions: [Session: Duration] = [:]
    /// What the client had used whose turn was last: none that waits has used less.
    private var now = Duration.zero

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element, of session: Session, _ client: String) {
        waiting.append(Entry(element: element, client: client, session: session))
    }

    /// Takes out what is next, among what may have its turn.
    mutating func next(where isReady: (Element) -> Bool) -> Element? {
        var best: (index: Int, client: Duration, session: Duration)?
        for (index, entry) in waiting.enumerated() where isReady(entry.element) {
            let (client, session) = (used(entry.client), max(now, sessions[entry.session] ?? now))
            if let best, (best.client, best.session) <= (client, session) { continue }
            best = (index, client, session)
        }
        guard let best else { return nil }
        now = max(now, best.client)
        // Who has used no more than that is where a newcomer is.
        clients = clients.filter { $0.value > now }
        sessions = sessions.filter { $0.value > now }
        return waiting.remove(at: best.index).element
    }

    /// A turn has taken this long.
    mutating func charge(_ duration: Duration, to session: Session, _ client: String) {
        clients[client] = used(client) + duration
        sessions[session] = max(now, sessions[session] ?? now) + duration
    }

    /// A session is over.
    mutating func drop(_ session: Session) {
        waiting.removeAll { $0.session == session }
        sessions[session] = nil
    }

    private func used(_ client: String) -> Duration { max(now, clients[client] ?? now) }
}
