/// A queue in which clients with the least cost come first.
///
/// Each client has used some time. The next turn goes to the client that has used least, then to its session that has used least, then to
/// the element that has waited longest. A client that was idle for a while starts where the others are now, with neither credit nor debt.
/// So a client with few small questions only waits for work in progress, however much others ask.
struct FairQueue<Session: Hashable, Element> {
    private struct Entry {
        let element: Element
        let client: String
        let session: Session
    }

    private var waiting: [Entry] = []
    private var clients: [String: Duration] = [:]
    private var sessions: [Session: Duration] = [:]
    /// The time that the last served client had used: no waiting client has used less.
    private var now = Duration.zero

    var isEmpty: Bool { waiting.isEmpty }

    mutating func append(_ element: Element, of session: Session, _ client: String) {
        waiting.append(Entry(element: element, client: client, session: session))
    }

    /// Removes the next element among those that may have their turn.
    mutating func next(where isReady: (Element) -> Bool) -> Element? {
        var best: (index: Int, client: Duration, session: Duration)?
        for (index, entry) in waiting.enumerated() where isReady(entry.element) {
            let (client, session) = (used(entry.client), max(now, sessions[entry.session] ?? now))
            if let best, (best.client, best.session) <= (client, session) { continue }
            best = (index, client, session)
        }
        guard let best else { return nil }
        now = max(now, best.client)
        // A client that has used no more than `now` counts like a new one.
        clients = clients.filter { $0.value > now }
        sessions = sessions.filter { $0.value > now }
        return waiting.remove(at: best.index).element
    }

    /// Charges the time of a turn.
    mutating func charge(_ duration: Duration, to session: Session, _ client: String) {
        clients[client] = used(client) + duration
        sessions[session] = max(now, sessions[session] ?? now) + duration
    }

    /// Removes a session that is over.
    mutating func drop(_ session: Session) {
        waiting.removeAll { $0.session == session }
        sessions[session] = nil
    }

    private func used(_ client: String) -> Duration { max(now, clients[client] ?? now) }
}
