import HubSessions
import HubStore
import HubWire
import Samples
import ZeroMQ

/// Questions of sessions and their answers (Protocol §8.1).
///
/// A part of the poll loop, as ``Deliveries`` is.
actor Questions {
    private let loop: PollLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let store: Store
    private let storeHealth: StoreHealth
    private let outlet: Outlet
    private var queue = QuestionQueue()
    /// Those that are being answered, by their session's numbers.
    private var tasks: [SessionReference: [Int64: Task<Void, Never>]] = [:]

    init(of store: Store, _ storeHealth: StoreHealth, on loop: PollLoop, outlet: Outlet) {
        (self.store, self.storeHealth, self.loop, self.outlet) = (store, storeHealth, loop, outlet)
    }

    func answer(_ query: QueryRequest, for session: ClientSession) {
        queue.append(Question(query: query, session: session))
        beginQuestions()
    }

    /// A session is over: its answers have no reader.
    func end(of session: SessionReference) {
        for task in (tasks.removeValue(forKey: session) ?? [:]).values { task.cancel() }
        queue.drop(session)
    }

    func cancelAll() {
        for session in tasks.keys { end(of: session) }
    }

    /// Begins what waits, in the order it came.
    private func beginQuestions() {
        while let question = queue.next(where: outlet.isOpen) { begin(question) }
    }

    private func begin(_ question: Question) {
        let (query, session) = (question.query, question.session.reference)
        let names = FilterNames("QUERY", question.session, outlet.facts)
        tasks[session, default: [:]][query.id] = Task {
            let message: HubMessage
            do throws(WireError) {
                message = .result(QueryResult(id: query.id, content: try await content(of: query, names)))
            } catch {
                var error = error
                error.ref = query.id
                if error.code == .epoch { error.epoch = store.epoch }
                message = .error(error)
            }
            finish(question, message)
        }
    }

    private func finish(_ question: Question, _ message: HubMessage) {
        let (id, session) = (question.query.id, question.session.reference)
        queue.ended(question)
        tasks[session]?[id] = nil
        if tasks[session]?.isEmpty == true { tasks[session] = nil }
        outlet.answer(message, to: .query(id), in: session)
        beginQuestions()
    }

    private func content(of query: QueryRequest, _ names: FilterNames) async throws(WireError) -> QueryResult.Content {
        do {
            switch query.want {
            case .records: return try await records(query, names)
            case .status: return .answer(.status, RawJSON(encoding: await status()))
            case .plugins: return .answer(.plugins, outlet.facts.catalogue)
            case .persons:
                return .answer(.persons, RawJSON(encoding: outlet.facts.statuses(of: try await store.persons())))
            case .accounts:
                return .answer(
                    .accounts, RawJSON(encoding: try await store.accounts().map(HubStatus.AccountStatus.init)))
            case .trace: return .answer(.trace, try await trace(query.number ?? 0))
            }
        } catch let error as WireError {
            throw error
        } catch let error as StoreError {
            throw WireError(error)
        } catch {
            throw WireError(.internal, "\(error)")
        }
    }

    private func status() async -> HubStatus {
        let (reading, state) = await storeHealth.read()
        return outlet.status(reading, state)
    }

    private func records(_ request: QueryRequest, _ names: FilterNames) async throws -> QueryResult.Content {
        var question = try PageQuestion(request, names)
        var page = try await question.page(of: store)
        // A narrow filter may find nothing in a stretch of the sequence; an empty page would only cost the asker a round trip.
        while page.records.isEmpty, let next = page.next {
            try Task.checkCancellation()
            question.query.next = next
            page = try await question.page(of: store)
        }
        let answer = question.answer(page)
        var records = RawRecords()
        for record in answer.records { records.append { RecordEncoder.append(record, to: &$0) } }
        return .records(records, next: answer.next, cursor: answer.cursor)
    }

    private func trace(_ number: Int64) async throws -> RawJSON {
        guard let trace = try await store.trace(number) else {
            throw WireError(.query, "QUERY.number: the hub has no record \(number)")
        }
        return TraceReport.json(of: trace, outlet.facts.waits)
    }
}

extension WireError {
    /// A failure of the store as an answer to a question.
    init(_ error: StoreError) {
        let code: Code =
            switch error.code {
            case .epoch: .epoch
            case .cursor, .token: .cursor
            case .query: .query
            case .full, .readOnly, .busy, .input, .locked: .store
            default: .internal
            }
        self.init(code, error.message)
    }
}
