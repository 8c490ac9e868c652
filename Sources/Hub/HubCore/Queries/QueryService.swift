import HubStore
import HubWire
import Samples

/// Answers the questions of sessions (Protocol §8.1).
///
/// A part of the door.
@DoorActor
final class QueryService {
    private let store: Store
    private let door: Door
    private var queue = QueryQueue()
    /// The tasks of questions that are being answered, by their sessions and numbers.
    private var tasks: [SessionReference: [Int64: Task<Void, Never>]] = [:]

    init(of door: Door) { (self.door, store) = (door, door.store) }

    func answer(_ query: QueryRequest, for session: ClientSession) {
        queue.append(PendingQuery(query: query, session: session))
        beginQuestions()
    }

    /// Cancels the questions of a session that is over.
    func end(of session: SessionReference) {
        for task in (tasks.removeValue(forKey: session) ?? [:]).values { task.cancel() }
        queue.drop(session)
    }

    func cancelAll() {
        for session in tasks.keys { end(of: session) }
    }

    /// Gives turns to waiting questions.
    private func beginQuestions() {
        while let question = queue.next(where: door.isOpen) { begin(question) }
    }

    /// The result of a turn.
    private enum Step: Sendable {
        case answer(QueryResult.Content)
        /// There is nothing to answer with yet, or not everything.
        case more(PendingQuery.Progress)
    }

    private func begin(_ question: PendingQuery) {
        let (query, session) = (question.query, question.session.reference)
        tasks[session, default: [:]][query.id] = Task {
            let began = ContinuousClock.now
            let step: Result<Step, WireError>
            do throws(WireError) { step = .success(try await self.step(question)) } catch { step = .failure(error) }
            ended(question, step, after: began.duration(to: .now))
        }
    }

    private func ended(_ question: PendingQuery, _ step: Result<Step, WireError>, after duration: Duration) {
        let (query, session) = (question.query, question.session.reference)
        defer { beginQuestions() }
        queue.ended(question, after: duration)
        // The session that asked is over, so the result is dropped.
        guard tasks[session]?.removeValue(forKey: query.id) != nil else { return }
        if tasks[session]?.isEmpty == true { tasks[session] = nil }
        switch step {
        case .success(.more(let progress)):
            var question = question
            question.progress = progress
            question.used += duration
            queue.append(question)
        case .success(.answer(let content)):
            door.answer(.result(QueryResult(id: query.id, content: content)), to: .query(query.id), in: session)
        case .failure(var error):
            error.ref = query.id
            if error.code == .epoch { error.epoch = store.epoch }
            door.answer(.error(error), to: .query(query.id), in: session)
        }
    }

    private func step(_ question: PendingQuery) async throws(WireError) -> Step {
        let query = question.query
        do {
            switch query.want {
            case .records: return try await records(question)
            case .sources: return try await sources(question)
            case .statistics: return try await statistics(question)
            case .status:
                let (reading, state) = await door.storeHealth.read()
                let status = HubStatus(of: door, reading, state).narrowed(to: question.session.narrowing)
                return .answer(.answer(.status, RawJSON(encoding: status)))
            case .plugins: return .answer(.answer(.plugins, door.facts.catalogue))
            case .persons:
                let persons = try await persons(question.session.narrowing)
                return .answer(.answer(.persons, RawJSON(encoding: persons)))
            case .accounts:
                let accounts = try await store.accounts().map(HubStatus.AccountStatus.init)
                return .answer(.answer(.accounts, RawJSON(encoding: accounts)))
            case .trace: return try await trace(question)
            case .logs: return .answer(.answer(.logs, RawJSON(encoding: try await log(question.query))))
            }
        } catch let error as WireError {
            throw error
        } catch let error as StoreError {
            throw WireError(error)
        } catch {
            throw WireError(.internal, "\(error)")
        }
    }

    /// All persons of the store, with their characteristics.
    ///
    /// - Parameter narrowing: the asker's reading rights; `nil` for all.
    private func persons(_ narrowing: ReadGrant?) async throws -> [HubStatus.PersonStatus] {
        let (all, facts) = (try await store.persons(), door.facts)
        let known = all.filter { narrowing?.persons?.contains($0.name) ?? true }
        var statuses = facts.statuses(of: known)
        for (place, person) in known.enumerated() {
            let said = facts.persons.first { $0.name == person.name }?.characteristics ?? [:]
            statuses[place].characteristics = try await Characteristics.of(person, said: said, in: store) { record in
                narrowing?.allows(record, by: facts.clock) ?? true
            } ofType: {
                narrowing?.types.contains($0) ?? true
            }
        }
        return statuses
    }

    /// The last lines of an instance's log, even if hub.conf no longer has the instance.
    private func log(_ query: QueryRequest) async throws -> LogPage {
        let (name, facts) = (query.instance ?? "", door.facts)
        let tail = LogTail(
            files: facts.logs, instance: name, limit: Int(query.limit ?? Int64(LogPage.usualLines)),
            start: query.filter.from.map { LogLine.time($0.microseconds) })
        if let page = try await tail.page() { return page }
        let names = facts.plugins.map(\.name)
        guard !names.contains(name) else { return LogPage(instance: name, lines: [], more: false) }
        let hint = nearestName(to: name, among: names).map { "; did you mean \($0)?" } ?? ""
        throw WireError(.field, "QUERY.instance: no [plugin.\(name)], and no log of that name\(hint)", closed: false)
    }

    /// One turn: a page, or a part of the search for its first record.
    private func records(_ question: PendingQuery) async throws -> Step {
        let began = ContinuousClock.now
        var asked: PagedQuery
        if case .records(let begun)? = question.progress {
            asked = begun
        } else {
            asked = try PagedQuery(question.query, FilterNames("QUERY", question.session, door.facts))
        }
        let page = try await asked.page(of: store)
        // A narrow filter may match nothing in many records; an empty page would only cost the asker a round trip.
        if page.records.isEmpty, let next = page.next,
            question.used + began.duration(to: .now) < PendingQuery.budget
        {
            asked.query.next = next
            return .more(.records(asked))
        }
        let answer = asked.answer(page)
        var records = RawRecords()
        for record in answer.records { records.append { RecordEncoder.append(record, to: &$0) } }
        return .answer(.records(records, next: answer.next, cursor: answer.cursor))
    }

    /// One turn: counts some of the records by their sources.
    private func sources(_ question: PendingQuery) async throws -> Step {
        let began = ContinuousClock.now
        var asked = try PagedQuery(question.query, FilterNames("QUERY", question.session, door.facts))
        var found = SourceCountPage(next: asked.query.next)
        if case .sources(let begun)? = question.progress { found = begun }
        asked.query.next = found.next
        found.add(try await store.sources(asked.query))
        if found.next != nil, question.used + began.duration(to: .now) < PendingQuery.budget {
            return .more(.sources(found))
        }
        return .answer(.answer(.sources, RawJSON(encoding: SourcesPage(found, asked.query.allowance, door.facts))))
    }

    /// One turn: computes a part of an interval, or of a page of intervals.
    private func statistics(_ question: PendingQuery) async throws -> Step {
        let began = ContinuousClock.now
        var asked: StatisticsQuestion
        if case .statistics(let begun)? = question.progress {
            asked = begun
        } else {
            asked = try StatisticsQuestion(question.query, question.session, door.facts)
        }
        asked.walk = try await store.advance(asked.walk)
        if question.used + began.duration(to: .now) >= PendingQuery.budget { asked.walk.conclude() }
        if !asked.walk.isOver { return .more(.statistics(asked)) }
        return .answer(.answer(.statistics, StatisticsReport.json(of: asked)))
    }

    /// One turn: a page of versions, and some of the days that are made of the record.
    private func trace(_ question: PendingQuery) async throws -> Step {
        let (began, query) = (ContinuousClock.now, question.query)
        let number = query.number ?? 0
        var story: RecordTrace
        if case .trace(let begun)? = question.progress {
            guard let more = try await store.trace(number, from: begun.next, versions: 0) else {
                throw WireError(.query, "QUERY.number: the hub has no record \(number)")
            }
            story = begun
            story.add(days: more)
        } else {
            let place = try query.next.map { mark throws(WireError) in
                guard let place = RecordTrace.Place(mark, of: number) else {
                    throw WireError(.cursor, "QUERY.next: not the mark of a page of this record's story")
                }
                return place
            }
            let limit = Int(min(query.limit ?? .max, Int64(RecordQuery.maximumPage)))
            guard let first = try await store.trace(number, from: place, versions: limit),
                question.session.narrowing?.allows(first.retracted ?? first.current, by: door.facts.clock) ?? true
            else {
                throw WireError(.query, "QUERY.number: the hub has no record \(number)")
            }
            story = first
        }
        // Days may be anywhere among all days; an answer goes out without all of them only if the search takes too long.
        if let next = story.next, next.hasDays, story.days.count < RecordQuery.maximumPage,
            question.used + began.duration(to: .now) < PendingQuery.budget
        {
            return .more(.trace(story))
        }
        let facts = door.facts
        if let narrowing = question.session.narrowing {
            story = story.narrowed { narrowing.allows($0, by: facts.clock) }
            // The odds name other persons, and the weight of the group.
            if !narrowing.isAll { story = story.withoutOdds }
        }
        return .answer(.answer(.trace, TraceReport.json(of: story, facts.waits)))
    }
}

extension SourcesPage {
    /// Sorted by type, person and source.
    fileprivate init(_ page: SourceCountPage, _ allowance: ReadAllowance?, _ facts: HubContext) {
        /// If only the plugin's own sources may be read, the order names no others either.
        func priority(_ count: SourceCount, _ person: Person) -> [String] {
            let order = facts.priority(of: count.type, person.name)
            guard let allowance, !allowance.types.contains(count.type) else { return order }
            return order.filter { $0.split(separator: "/").first.map(String.init) == allowance.own }
        }
        func key(_ count: SourceCount) -> [String] {
            [
                count.type.rawValue, count.person?.name ?? "", count.source.plugin, count.source.device ?? "",
                count.source.account ?? "",
            ]
        }
        let counts = page.counts.sorted { key($0).lexicographicallyPrecedes(key($1)) }
        self.init(
            sources: counts.map { count in
                SourceTally(
                    type: count.type.rawValue, person: count.person?.name, personId: count.person?.uid,
                    source: .init(
                        plugin: count.source.plugin, device: count.source.device, account: count.source.account),
                    count: count.count, first: Timestamp(microseconds: count.first).text,
                    last: Timestamp(microseconds: count.last).text,
                    rank: count.person.map { person in
                        SourceRank(priority(count, person)).rank(of: count.source, number: count.number)
                    })
            }, next: page.next)
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
            // A fault that a person has to correct is not the asker's; the asker may ask again afterwards.
            case .full, .readOnly, .busy, .input, .locked, .corrupt: .store
            default: .internal
            }
        self.init(code, error.message)
    }
}
