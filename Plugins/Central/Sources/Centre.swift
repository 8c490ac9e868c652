import JSON
import Platform
import PluginKit
import PostgreSQL

/// The connection to the centre: one transaction at a time, whose result counts only after COMMIT has returned without
/// a warning.
actor Centre {
    private let hub: PluginContext
    private let enrolment: Enrolment
    private let book: ConsentBook
    private let patience: Duration
    /// A hub runs one transaction at a time at the centre.
    private let turn = AsyncLock()

    private struct Session {
        var connection: Connection
        var hello: HelloAnswer
        var identity: HubIdentity
        var hostCount: Int
    }
    private var session: Session?
    /// A host that did not answer may still believe that it leads, so it is tried last.
    private var suspect: ConnectionOptions.Host?
    private var lastBatch = 0
    private var lastUse = ContinuousClock.now
    /// Called with each answer to hello, after the consents were sent.
    private let greeted: @Sendable (HelloAnswer) -> Void

    /// Maximum attempts of one call before it fails.
    private static let attempts = 4
    /// Functions of the centre that older versions did not have.
    private static let needed: Set = ["take_v2", "consent_v1", "withdraw_v1", "digest_v2", "erased_v1"]

    private static let taking = {
        let columns = WireRecord.Column.allCases.enumerated().map { ", \($1) => $\($0 + 4)" }.joined()
        return "SELECT central.take_v2($1, $2, $3\(columns)) AS answer"
    }()

    init(
        _ hub: PluginContext, _ enrolment: Enrolment, _ book: ConsentBook, patience: Duration,
        greeted: @escaping @Sendable (HelloAnswer) -> Void
    ) {
        (self.hub, self.enrolment, self.book, self.patience) = (hub, enrolment, book, patience)
        self.greeted = greeted
    }

    // MARK: - Calls

    /// Says hello, even in an open session, and sends the consents that the centre lacks.
    @discardableResult
    func greet() async throws -> HelloAnswer {
        try await inTurn {
            if self.session != nil { try await self.hello() }
            return try await self.open().hello
        }
    }

    /// Calls a function; `statement` must select its answer as `answer`.
    func call(_ name: String, _ statement: String, _ parameters: [String?]) async throws -> JSONTree {
        try await inTurn { try await self.ask(try await self.open(), name, statement, parameters) }
    }

    /// The final result for one record.
    enum Outcome: Sendable {
        case answered(BatchReceipt.ReceiptCode, receipt: String)
        /// PostgreSQL cannot represent the record.
        case impossible(CentreError)
    }

    /// Sends records at the centre's pace, and returns the result for each.
    ///
    /// If the centre cannot take a record, the batch is halved until that record is alone.
    /// - Parameters:
    ///   - epoch: the epoch of the records.
    ///   - backlog: about how many records wait behind them.
    ///   - isWanted: called when it is the batch's turn.
    func give(
        _ records: [WireRecord], epoch: String, backlog: Int64?, isWanted: @escaping @Sendable () async throws -> Bool
    ) async throws -> [Outcome] {
        do {
            let taken = try await take(records, epoch: epoch, backlog: backlog, isWanted: isWanted)
            // The records are stored, so a call that is cancelled during the pause still returns its receipt.
            if taken.pause > 0 { try? await Task.sleep(for: .milliseconds(min(taken.pause, 60_000))) }
            return taken.letters.map { .answered($0, receipt: taken.receipt) }
        } catch let failure as CentreError where failure.kind == .data {
            guard records.count > 1 else { return [.impossible(failure)] }
            let middle = records.count / 2
            let first = try await give(Array(records[..<middle]), epoch: epoch, backlog: backlog, isWanted: isWanted)
            return first
                + (try await give(Array(records[middle...]), epoch: epoch, backlog: backlog, isWanted: isWanted))
        }
    }

    private func take(
        _ records: [WireRecord], epoch: String, backlog: Int64?, isWanted: @escaping @Sendable () async throws -> Bool
    ) async throws -> BatchReceipt {
        let columns = WireRecord.Column.allCases.map { column in ArrayText.of(records.map { $0[column] }) }
        var number: Int?
        return try await inTurn {
            guard try await isWanted() else { throw CentreError(.later, "the consent was withdrawn meanwhile") }
            let session = try await self.open()
            guard session.identity.epoch == epoch else {
                throw CentreError(.later, "the hub's store was restored meanwhile: the record is delivered again")
            }
            // A batch keeps its number, even on another host.
            let batch = number ?? max(self.lastBatch, session.hello.batch) + 1
            (number, self.lastBatch) = (batch, batch)
            let answer = try await self.ask(
                session, "take", Self.taking,
                [epoch, "\(batch)", backlog.map { "\($0)" }] + columns)
            guard let taken = BatchReceipt(answer), taken.letters.count == records.count else {
                throw CentreError(.person, "the centre answers take_v2 in a way that this program does not know")
            }
            return taken
        }
    }

    /// Sends consents and withdrawals that the centre lacks.
    func tell() async throws { try await inTurn { try await self.reportConsents(try await self.open()) } }

    /// Closes a connection without calls for this long, because the centre has a connection per active hub.
    func rest(after time: Duration) async {
        await turn.withLock { if lastUse.duration(to: .now) >= time { session = nil } }
    }

    /// Makes one call on a separate connection, for a hub without a log-in.
    static func once(
        _ options: ConnectionOptions, _ statement: String, _ parameters: [String?], _ doing: String,
        _ patience: Duration
    ) async throws -> JSONTree {
        do {
            let connection = try await Connection.open(options)
            let answer = try await transaction(connection, statement, parameters, doing, patience).answer
            if let word = answer["refused"]?.text { throw CentreError(refused: word, doing: doing) }
            return answer
        } catch let error as PostgreSQLError {
            throw CentreError(error)
        }
    }

    // MARK: - Turns and retries

    /// Runs `body` when it is its turn; repeats it on the leading host while that may help.
    private func inTurn<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        try await turn.withLock {
            for attempt in 1... {
                lastUse = .now
                do { return try await body() } catch let failure as CentreError {
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
        guard let identity = hub.identity else { throw CentreError(.later, "the hub is away") }
        if let session, session.identity.epoch == identity.epoch { return session }
        session = nil
        var options = try await enrolment.options()
        options.hosts.sort { $1 == suspect && $0 != suspect }
        do {
            let connection = try await Connection.open(options)
            session = Session(
                connection: connection, hello: HelloAnswer(), identity: identity, hostCount: options.hosts.count)
        } catch let error as PostgreSQLError {
            let failure = CentreError(error)
            guard error.kind == .identity, let advice = await enrolment.advice else { throw failure }
            throw CentreError(failure.kind, "\(failure.description); \(advice)")
        }
        return try await hello()
    }

    /// Says hello in the open session; consents are sent before anything else.
    @discardableResult
    private func hello() async throws -> Session {
        guard var session else { throw CentreError(.moment, "the connection was lost") }
        let identity = session.identity
        let answer = try await ask(
            session, "hello", "SELECT central.hello_v1($1, $2, $3, $4) AS answer",
            [
                identity.id, identity.epoch, "hub-central \(Central.manifest.version)",
                Timestamp(microseconds: hub.clock.now()).text,
            ])
        guard let hello = HelloAnswer(answer), hello.serves.isSuperset(of: Self.needed) else {
            self.session = nil
            throw CentreError(
                .person, "the centre does not serve what this program needs: the desk runs hub-central-admin migrate")
        }
        let wrong = hello.settings.compactMap { UnsafeServerSettings.reason($0, hostCount: session.hostCount) }
        guard wrong.isEmpty else {
            self.session = nil
            throw CentreError(
                .person, "\(session.connection.host): nothing is delivered: \(wrong.joined(separator: "; "))")
        }
        session.hello = hello
        self.session = session
        try await reportConsents(session)
        greeted(hello)
        return self.session ?? session
    }

    /// Withdrawals are sent first, because after a restore of the centre a study may see a withdrawn person.
    private func reportConsents(_ session: Session) async throws {
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
            let refusal = answer["refused"]?.text.map { CentreError(refused: $0, doing: "consent").description }
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

    /// Calls a function; throws a failure if the answer is a refusal.
    private func ask(
        _ session: Session, _ doing: String, _ statement: String, _ parameters: [String?]
    ) async throws -> JSONTree {
        let answer = try await askUnrefused(session, doing, statement, parameters)
        guard let word = answer["refused"]?.text else { return answer }
        // The next hello returns the present state.
        if ["login", "another hub", "epoch", "paused", "stopped", "erased", "settings"].contains(word) {
            self.session = nil
        }
        throw CentreError(refused: word, doing: doing)
    }

    private func askUnrefused(
        _ session: Session, _ doing: String, _ statement: String, _ parameters: [String?]
    ) async throws -> JSONTree {
        do {
            let (answer, replicas) = try await Self.transaction(
                session.connection, statement, parameters, doing, patience)
            guard session.hostCount == 1 || !replicas.isEmpty else {
                throw CentreError(
                    .moment,
                    "\(session.connection.host): \(UnsafeServerSettings.reason("single", hostCount: session.hostCount) ?? "")"
                )
            }
            return answer
        } catch {
            // A call in doubt is repeated on the leading host; this host is tried last.
            self.session = nil
            suspect = session.connection.host
            throw (error as? PostgreSQLError).map { CentreError($0) } ?? error
        }
    }

    /// Runs one transaction; its answer counts when COMMIT has returned without a warning.
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
            throw CentreError(.moment, "\(connection.host): \(doing): COMMIT with a warning is no receipt: \(said)")
        case .rolledBack: throw CentreError(.moment, "\(connection.host): \(doing): it was rolled back")
        }
        guard let answer = rows["answer"].flatMap({ JSONTree(Array($0.utf8)) }) else {
            throw CentreError(.person, "\(connection.host): \(doing): the centre answers no JSON")
        }
        return (answer, rows["replicas"] ?? "")
    }
}
