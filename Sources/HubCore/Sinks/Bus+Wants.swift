import HubSessions
import HubStore
import HubWire
import Logging
import Samples

/// Opening subscriptions and ending their turns (Protocol §10.1).
extension Bus {
    /// A WANT that its session has admitted.
    func open(_ request: WantRequest, for guest: Guest) {
        let id = SinkID(instance: guest.hello.instance, want: request.want)
        let terms: SinkTerms
        do throws(WireError) {
            terms = try SinkTerms(
                request, FilterNames("WANT", guest, facts), plugin: guest.hello.plugin,
                zone: facts.persons.first?.zone ?? "UTC")
        } catch {
            return refuse(request.want, error, guest)
        }
        let older = sinks.pumps[id]?.session
        if let older, older != guest.reference { tellReplaced(id, older) }
        sinks.end(id)
        if let older { pumpAll(of: older) }
        // Its own session asks once more: something has changed there, and what it wanted to be tried later may be taken now (R10.16).
        let isAgain = older == guest.reference
        let turn = sinks.nextTurn()
        sinks.opening[id] = turn
        let task = Task {
            do {
                // What was answered before must be counted first: else it would be delivered again.
                await settled(id)
                // Counted in later, they would count under the new terms, and move the cursor over what the old ones left out.
                if let fault = sinks.settlingFault, !sinks.isSettled(id) {
                    throw WireError(
                        .store, "WANT: the last answers about \(id.want) are not in the store yet: \(fault.message)",
                        after: Self.sinkRetry)
                }
                let isNew = try await !store.sinkNames().contains(id)
                if isNew { try await checkRoom(for: id) }
                let now = facts.clock.now()
                let state = try await store.openSink(id, terms, from: SinkStart(request.start), recordedAt: now)
                if isAgain { try await store.retryNow(id, recordedAt: now, waitTime: facts.waits.now()) }
                opened(state, isNew: isNew, request, turn, guest)
            } catch let error as StoreError {
                failed(id, error, turn, guest)
            } catch {
                failed(id, error as? WireError ?? WireError(.internal, "\(error)"), turn, guest)
            }
        }
        sinks.openTasks[turn] = task
    }

    private func checkRoom(for id: SinkID) async throws {
        let most = facts.policy.limits.wants
        guard try await store.sinkNames().count(where: { $0.instance == id.instance }) >= most else { return }
        throw WireError(
            .limit,
            "WANT: \(most) subscriptions of \(id.instance) are kept; hub status lists them, hub forget-sink drops one",
            closed: false)
    }

    private func opened(
        _ state: SinkState, isNew: Bool, _ request: WantRequest, _ turn: UInt64, _ guest: Guest
    ) {
        sinks.openTasks[turn] = nil
        guard sinks.opening[state.id] == turn else { return }
        sinks.opening[state.id] = nil
        guard guests[guest.reference.peer]?.reference == guest.reference else { return }
        let limits = facts.policy.limits
        var pump = SinkPump(
            request, id: state.id, session: guest.reference, turn: turn, position: state.cursor.sequence,
            batchLimit: limits.batchRecords, tellsWhenCaughtUp: guest.hello.mode == .once)
        pump.isUnauthorized = state.paused != nil
        sinks.pumps[state.id] = pump
        sinks.faults[state.id] = nil
        logOfSessions(
            .info, "subscription open",
            [
                "sink": "\(state.id)", "new": "\(isNew)", "pending": "\(state.account.pending)",
                "retrying": "\(state.account.retrying)",
            ])
        send(
            .want(
                WantAnswer(
                    want: state.id.want, isNew: isNew, cursor: state.cursor,
                    pending: state.account.pending + state.account.retrying, isCaughtUp: false)),
            to: guest.reference.peer)
        wake(state.id)
    }

    private func failed(_ id: SinkID, _ error: StoreError, _ turn: UInt64, _ guest: Guest) {
        var answer = WireError(error)
        // All that it judges by itself is how many there are.
        if error.code == .query { answer = WireError(.limit, error.message, closed: false) }
        if answer.code == .epoch { answer.epoch = store.epoch }
        if answer.code == .store { answer.after = Self.sinkRetry }
        failed(id, answer, turn, guest)
    }

    private func failed(_ id: SinkID, _ error: WireError, _ turn: UInt64, _ guest: Guest) {
        sinks.openTasks[turn] = nil
        guard sinks.opening[id] == turn else { return }
        sinks.opening[id] = nil
        refuse(id.want, error, guest)
    }

    /// How long a sink waits before it asks again when the store does not work, in milliseconds.
    static let sinkRetry: Int64 = 2_000

    private func refuse(_ want: String, _ error: WireError, _ guest: Guest) {
        var error = error
        (error.want, error.closed) = (want, false)
        let id = SinkID(instance: guest.hello.instance, want: want)
        if sinks.pumps[id] == nil, sinks.faults.count < SinkBoard.faultBound { sinks.faults[id] = error.reason }
        logOfSessions(.warning, "subscription refused", ["sink": "\(id)", "reason": "\(error)"])
        guard guests[guest.reference.peer]?.reference == guest.reference else { return }
        send(.error(error), to: guest.reference.peer)
    }

    private func tellReplaced(_ id: SinkID, _ session: SessionReference) {
        guard guests[session.peer]?.reference == session else { return }
        send(
            .error(
                WireError(
                    .replaced, "another session of \(id.instance) has asked for it", closed: false, want: id.want)),
            to: session.peer)
    }

    /// A session is over: what it has not answered goes to the next (R10.3).
    func endSinks(of session: SessionReference) {
        for (id, pump) in sinks.pumps where pump.session == session { sinks.end(id) }
        settleSinks()
    }
}

extension SinkStart {
    fileprivate init(_ start: WantRequest.Start) {
        self =
            switch start {
            case .now: .now
            case .beginning: .beginning
            case .after(let cursor): .after(cursor)
            }
    }
}
