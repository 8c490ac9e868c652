import Digests
import JSON
import PluginKit
import PostgreSQL

/// The centre as this hub comes to it: one connection, one transaction at a time, and nothing that is believed before COMMIT has returned
/// without a warning.
actor Centre {
    private let hub: PluginContext
    private let enrolment: Enrolment
    private let book: ConsentBook
    private let patience: Duration
    /// A hub has one transaction at a time at the centre.
    private let turn = AsyncLock()

    private struct Session {
        var connection: Connection
        var hello: Hello
        var identity: HubIdentity
        var hostCount: Int
    }
    private var session: Session?
    /// The host that has not answered may believe that it leads: it is asked last.
    private var suspect: ConnectionOptions.Host?
    private var lastBatch = 0
    private var lastUse = ContinuousClock.now
    /// Told of each hello, after the consents.
    private let greeted: @Sendable (Hello) -> Void

    /// Attempts of one call before its caller is told.
    private static let attempts = 4
    /// What is asked of it beside hello, and was not always served.
    private static let needed: Set = ["take_v2", "consent_v1", "withdraw_v1", "digest_v2", "erased_v1"]

    private static let taking = {
        let columns = WireRecord.Column.allCases.enumerated().map { ", \($1) => $\($0 + 4)" }.joined()
        return "SELECT central.take_v2($1, $2, $3\(columns)) AS answer"
    }()

    init(
        _ hub: PluginContext, _ enrolment: Enrolment, _ book: ConsentBook, patience: Duration,
        greeted: @escaping @Sendable (Hello) -> Void
    ) {
        (self.hub, self.enrolment, self.book, self.patience) = (hub, enrolment, book, patience)
        self.greeted = greeted
    }

    // MARK: - What it is asked

    /// Says hello, also where a session is open, and tells the consents that the centre does not have.
    @discardableResult
    func greet() async throws -> Hello {
        try await inTurn {
            if self.session != nil { try await self.hello() }
            return try await self.open().hello
        }
    }

    /// Calls a function; `statement` selects its answer as `answer`.
    func call(_ name: String, _ statement: String, _ parameters: [String?]) async throws -> JSONTree {
        try await inTurn { try await self.ask(try await self.open(), name, statement, parameters) }
    }

    /// What became of one record for good.
    enum Outcome: Sendable {
        case answered(Taken.Letter, receipt: String)
        /// The centre has no form for it.
        case impossible(CentreFailure)
    }

    /// Gives records at the centre's pace, and returns what became of each.
    ///
    /// Where the centre cannot take what is among them they are halved, until it stands alone.
    /// - Parameters:
    ///   - epoch: of the records.
    ///   - backlog: about how many wait behind them.
    ///   - isWanted: asked when it is a batch's turn.
    func give(
        _ records: [WireRecord], epoch: String, backlog: Int64?, isWanted: @escaping @Sendable () async throws -> Bool
    ) async throws -> [Outcome] {
        do {
            let taken = try await take(records, epoch: epoch, backlog: backlog, isWanted: isWanted)
            // The records are there: who stops now has a receipt all the same.
            if taken.pause > 0 { try? await Task.sleep(for: .milliseconds(min(taken.pause, 60_000))) }
            return taken.letters.map { .answered($0, receipt: taken.receipt) }
        } catch let failure as CentreFailure where failure.kind == .data {
            guard records.count > 1 else { return [.impossible(failure)] }
            let middle = records.count / 2
            let first = try await give(Array(records[..<middle]), epoch: epoch, backlog: backlog, isWanted: isWanted)
            return first
                + (try await give(Array(records[middle...]), epoch: epoch, backlog: backlog, isWanted: isWanted))
        }
    }

    private func take(
        _ records: [WireRecord], epoch: String, backlog: Int64?, isWanted: @escaping @Sendable () async throws -> Bool
    ) async throws -> Taken {
        let columns = WireRecord.Column.allCases.map { column in ArrayText.of(records.map { $0[column] }) }
        var number: Int?
        return try await inTurn {
            guard try await isWanted() else { throw CentreFailure(.later, "the consent was withdrawn meanwhile") }
            let session = try await self.open()
            guard session.identity.epoch == epoch else {
                throw CentreFailure(.later, "the hub's store was restored meanwhile: the record is delivered again")
            }
            // The same number for the same batch, also on another host.
            let batch = number ?? max(self.lastBatch, session.hello.batch) + 1
            (number, self.lastBatch) = (batch, batch)
            let answer = try await self.ask(
                session, "take", Self.taking,
                [epoch, "\(batch)", backlog.map { "\($0)" }] + columns)
            guard let taken = Taken(answer), taken.letters.count == records.count else {
                throw CentreFailure(.person, "the centre answers take_v2 in a way that this program does not know")
            }
            return taken
        }
    }

    /// Tells the centre of consents and withdrawals that it does not have.
    func tell() async throws { try await inTurn { try await self.tellConsents(try await self.open()) } }

    /// Ends a connection that nothing was asked on for so long: the centre has one for each hub that is at work.
    func rest(after time: Duration) async {
        await turn.withLock { if lastUse.duration(to: .now) >= time { session = nil } }
    }

    /// One call on a connection of its own, for who has no log-in yet.
    static func once(
        _ options: ConnectionOptions, _ statement: String, _ parameters: [String?], _ doing: String,
        _ patience: Duration
    ) async throws -> JSONTree {
        do {
            let connection = try await Connection.open(options)
            let answer = try await transaction(connection, statement, parameters, doing, patience).answer
            if let word = answer["refused"]?.text { throw CentreFailure(refused: word, doing: doing) }
            return answer
        } catch let error as PostgreSQLError {
            throw CentreFailure(error)
        }
    }

    // MARK: - Turns and attempts

    /// Does `body` when it is its turn, and once more on whichever host leads while that may help.
    private func inTurn<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await turn.withLock {
            for attempt in 1... {
                lastUse = .now
                do { return try await body() } catch let failure as CentreFailure {
                    guard failure.kind == .moment, attempt < Self.attempts else { throw failure }
                    hub.logger.info("asking the centre again", metadata: ["centre.reason": "\(failure)"])
                    try await Task.sleep(for: .milliseconds(100 * attempt) * Double.random(in: 0.5...1))
                }
            }
            preconditionFailure("attempts have an end")
        }
    }

    // MARK: - A session

    private func open() async throws -> Session {
        guard let identity = hub.identity else { throw CentreFailure(.later, "the hub is away") }
        if let session, session.identity.epoch == identity.epoch { return session }
        session = nil
        var options = try await enrolment.options()
        options.hosts.sort { $1 == suspect && $0 != suspect }
        do {
            let connection = try await Connection.open(options)
            session = Session(
                connection: connection, hello: Hello(), identity: identity, hostCount: options.hosts.count)
        } catch let error as PostgreSQLError {
            let failure = CentreFailure(error)
            guard error.kind == .identity, let advice = await enrolment.advice else { throw failure }
            throw CentreFailure(failure.kind, "\(failure.description); \(advice)")
        }
        return try await hello()
    }

    /// Says hello in the session that is open; consents come before anything else can be sent.
    @discardableResult
    private func hello() async throws -> Session {
        guard var session else { throw CentreFailure(.moment, "the connection was lost") }
        let identity = session.identity
        let answer = try await ask(
            session, "hello", "SELECT central.hello_v1($1, $2, $3, $4) AS answer",
            [
                identity.id, identity.epoch, "hub-central \(Central.manifest.version)",
                Timestamp(microseconds: hub.clock.now()).text,
            ])
        guard let hello = Hello(answer), hello.serves.isSuperset(of: Self.needed) else {
            self.session = nil
            throw CentreFailure(
                .person, "the centre does not serve what this program needs: the desk runs hub-central-admin migrate")
        }
        let wrong = hello.settings.compactMap { UntrueReceipts.reason($0, hostCount: session.hostCount) }
        guard wrong.isEmpty else {
            self.session = nil
            throw CentreFailure(
                .person, "\(session.connection.host): nothing is delivered: \(wrong.joined(separator: "; "))")
        }
        session.hello = hello
        self.session = session
        try await tellConsents(session)
        greeted(hello)
        return self.session ?? session
    }

    /// Withdrawals first: after a restore of the centre someone may be seen who has left.
    private func tellConsents(_ session: Session) async throws {
        var wants = session.hello.wants
        for consent in try await book.all() {
            let known = wants.filter { $0.study == consent.study && $0.person == consent.person }
            guard !consent.isActive, !consent.isTold || !known.isEmpty else { continue }
            let answer = try await askUnrefused(
                session, "withdraw", "SELECT central.withdraw_v1($1, $2, $3) AS answer",
                [consent.study, consent.person, consent.asksErasure ? "true" : "false"])
            let erasure = answer["erasure"]?.integer.map { Int64($0) }
            wants.removeAll { $0.study == consent.study && $0.person == consent.person }
            try await book.update(consent) { (told) in
                told.isTold = true
                told.erasure = erasure ?? told.erasure
            }
        }
        for consent in try await book.active() where consent.refusal == nil {
            guard !wants.contains(where: { consent.isSame(as: $0) }) else { continue }
            let answer = try await askUnrefused(
                session, "consent", "SELECT central.consent_v1($1, $2, $3::text[], $4, $5, $6::bytea) AS answer",
                [
                    consent.study, consent.person, ArrayText.of(consent.types),
                    consent.since, consent.until, "\\x\(consent.wordsDigest.hexadecimal)",
                ])
            let refusal = answer["refused"]?.text.map { CentreFailure(refused: $0, doing: "consent").description }
            try await book.update(consent) { ($0.isTold, $0.refusal) = (true, refusal) }
            if refusal == nil {
                wants.removeAll { $0.study == consent.study && $0.person == consent.person }
                wants.append(
                    .init(
                        study: consent.study, person: consent.person, types: consent.types, since: consent.since,
                        until: consent.until))
            }
        }
        if self.session?.connection === session.connection { self.session?.hello.wants = wants }
    }

    // MARK: - Transactions

    /// Asks, and throws what a refusal means.
    private func ask(
        _ session: Session, _ doing: String, _ statement: String, _ parameters: [String?]
    ) async throws -> JSONTree {
        let answer = try await askUnrefused(session, doing, statement, parameters)
        guard let word = answer["refused"]?.text else { return answer }
        // Its present state is asked for in the next hello.
        if ["login", "another hub", "epoch", "paused", "stopped", "erased", "settings"].contains(word) {
            self.session = nil
        }
        throw CentreFailure(refused: word, doing: doing)
    }

    private func askUnrefused(
        _ session: Session, _ doing: String, _ statement: String, _ parameters: [String?]
    ) async throws -> JSONTree {
        do {
            let (answer, replicas) = try await Self.transaction(
                session.connection, statement, parameters, doing, patience)
            guard session.hostCount == 1 || !replicas.isEmpty else {
                throw CentreFailure(
                    .moment,
                    "\(session.connection.host): \(UntrueReceipts.reason("single", hostCount: session.hostCount) ?? "")"
                )
            }
            return answer
        } catch {
            // What is in doubt is sent again, to whichever host leads then; this one is asked last.
            self.session = nil
            suspect = session.connection.host
            throw (error as? PostgreSQLError).map { CentreFailure($0) } ?? error
        }
    }

    /// One transaction: its answer counts when COMMIT has returned without a warning.
    private static func transaction(
        _ connection: Connection, _ statement: String, _ parameters: [String?], _ doing: String, _ patience: Duration
    ) async throws -> (answer: JSONTree, replicas: String) {
        try await connection.query("BEGIN", doing: doing, within: patience)
        let rows = try await connection.query(
            "SELECT q.answer, current_setting('synchronous_standby_names') AS replicas FROM (\(statement)) q",
            parameters,
            doing: doing, within: patience)
        switch try await connection.commit(within: patience) {
        case .done: break
        case .doubtful(let notices):
            let said = notices.map(\.description).joined(separator: "; ")
            throw CentreFailure(.moment, "\(connection.host): \(doing): COMMIT with a warning is no receipt: \(said)")
        case .rolledBack: throw CentreFailure(.moment, "\(connection.host): \(doing): it was rolled back")
        }
        guard let answer = rows["answer"].flatMap({ JSONTree(Array($0.utf8)) }) else {
            throw CentreFailure(.person, "\(connection.host): \(doing): the centre answers no JSON")
        }
        return (answer, rows["replicas"] ?? "")
    }
}
