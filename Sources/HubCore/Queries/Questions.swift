import HubSessions
import HubStore
import HubWire
import Samples

/// Questions and their answers.
extension Door {
    func answer(_ query: QueryRequest, for client: Client) {
        questions.append(Question(query: query, client: client))
        beginQuestions()
    }

    /// Begins what waits, in the order it came.
    func beginQuestions() {
        while let question = questions.next(where: { clients[$0.peer]?.reference == $0 }) { begin(question) }
    }

    private func begin(_ question: Question) {
        let (query, client) = (question.query, question.client)
        let (session, names) = (client.reference, FilterNames("QUERY", client, facts))
        let task = Task {
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
        clients[session.peer]?.questions[query.id] = task
    }

    private func finish(_ question: Question, _ message: HubMessage) {
        let (id, session) = (question.query.id, question.client.reference)
        questions.ended(question)
        if clients[session.peer]?.reference == session { clients[session.peer]?.questions[id] = nil }
        perform(sessions.answer(message, to: .query(id), in: session))
        beginQuestions()
    }

    private func content(of query: QueryRequest, _ names: FilterNames) async throws(WireError) -> QueryResult.Content {
        do {
            switch query.want {
            case .records: return try await records(query, names)
            case .status: return .answer(.status, RawJSON(encoding: await status()))
            case .plugins: return .answer(.plugins, facts.catalogue)
            case .persons: return .answer(.persons, RawJSON(encoding: try await persons()))
            case .accounts: return .answer(.accounts, RawJSON(encoding: try await accounts()))
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
        return TraceReport.json(of: trace, facts.waits)
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
