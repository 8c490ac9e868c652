import HubStore
import HubWire
import Logging
import Samples

/// Opens subscriptions and ends their turns (Protocol §10.1).
extension Deliveries {
    /// Handles a WANT that its session has admitted.
    func open(_ request: WantRequest, _ names: FilterNames, for peer: ClientSession) {
        let id = SinkID(instance: peer.hello.instance, want: request.want)
        let terms: SinkTerms
        do throws(WireError) {
            terms = try SinkTerms(
                request, names, plugin: peer.hello.plugin, zone: door.facts.persons.first?.zone ?? "UTC")
        } catch {
            return refuse(request.want, error, peer)
        }
        let older = pumps[id]?.session
        if let older, older != peer.reference { reportReplacement(id, older) }
        end(id)
        if let older { pumpAll(of: older) }
        // The same session asks again: something has changed there, and the sink may take records now that it answered with `retry` (R10.16).
        let isAgain = older == peer.reference
        let turn = nextTurn()
        opening[id] = turn
        let task = Task {
            do {
                // Earlier answers must be in the store first; otherwise their records would be delivered again.
                await settled(id)
                // Stored later, they would count under the new terms, and move the cursor past records that the old terms left out.
                if let fault = settlingFault, !isSettled(id) {
                    throw WireError(
                        .store, "WANT: the last answers about \(id.want) are not in the store yet: \(fault.message)",
                        after: StoreHealth.retryAfter)
                }
                let isNew = try await !store.sinkNames().contains(id)
                if isNew { try await checkRoom(for: id) }
                let facts = door.facts
                let now = facts.clock.now()
                let state = try await store.openSink(id, terms, from: SinkStart(request.start), recordedAt: now)
                if isAgain { try await store.retryNow(id, recordedAt: now, waitTime: facts.waits.now()) }
                opened(state, isNew: isNew, request, turn, peer)
            } catch let error as StoreError {
                failed(id, error, turn, peer)
            } catch {
                failed(id, error as? WireError ?? WireError(.internal, "\(error)"), turn, peer)
            }
        }
        openTasks[turn] = task
    }

    private func checkRoom(for id: SinkID) async throws {
        let most = door.facts.policy.limits.wants
        guard try await store.sinkNames().count(where: { $0.instance == id.instance }) >= most else { return }
        throw WireError(
            .limit,
            "WANT: \(most) subscriptions of \(id.instance) are kept; hub status lists them, hub forget-sink drops one",
            closed: false)
    }

    private func opened(
        _ state: SinkState, isNew: Bool, _ request: WantRequest, _ turn: UInt64, _ peer: ClientSession
    ) {
        openTasks[turn] = nil
        guard opening[state.id] == turn else { return }
        opening[state.id] = nil
        guard door.isOpen(peer.reference) else { return }
        let limits = door.facts.policy.limits
        var pump = SinkPump(
            request, id: state.id, session: peer.reference, turn: turn, position: state.cursor.sequence,
            batchLimit: limits.batchRecords, reportsCaughtUp: peer.hello.mode == .once)
        pump.isUnauthorized = state.paused != nil
        pumps[state.id] = pump
        faults[state.id] = nil
        door.logOfSessions(
            .info, "subscription open",
            [
                "sink": "\(state.id)", "new": "\(isNew)", "pending": "\(state.account.pending)",
                "retrying": "\(state.account.retrying)",
            ])
        door.send(
            .want(
                WantAnswer(
                    want: state.id.want, isNew: isNew, cursor: state.cursor,
                    pending: state.account.pending + state.account.retrying, isCaughtUp: false)),
            to: peer.reference)
        wake(state.id)
    }

    private func failed(_ id: SinkID, _ error: StoreError, _ turn: UInt64, _ peer: ClientSession) {
        var answer = WireError(error)
        // In this call, `query` only means that there are too many subscriptions.
        if error.code == .query { answer = WireError(.limit, error.message, closed: false) }
        if answer.code == .epoch { answer.epoch = store.epoch }
        if answer.code == .store { answer.after = StoreHealth.retryAfter }
        failed(id, answer, turn, peer)
    }

    private func failed(_ id: SinkID, _ error: WireError, _ turn: UInt64, _ peer: ClientSession) {
        openTasks[turn] = nil
        guard opening[id] == turn else { return }
        opening[id] = nil
        refuse(id.want, error, peer)
    }

    private func refuse(_ want: String, _ error: WireError, _ peer: ClientSession) {
        var error = error
        (error.want, error.closed) = (want, false)
        let id = SinkID(instance: peer.hello.instance, want: want)
        if pumps[id] == nil, faults.count < Self.faultBound { faults[id] = error.reason }
        door.logOfSessions(.warning, "subscription refused", ["sink": "\(id)", "reason": "\(error)"])
        door.send(.error(error), to: peer.reference)
    }

    private func reportReplacement(_ id: SinkID, _ session: SessionReference) {
        door.send(
            .error(
                WireError(
                    .replaced, "another session of \(id.instance) has asked for it", closed: false, want: id.want)),
            to: session)
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

extension SinkTerms {
    /// The terms of a WANT, narrowed to the types and persons that its instance may read (R10.10).
    ///
    /// - Parameter zone: the zone for the day of a record that does not know its local time.
    /// - Throws: `field` for an unknown type or person, `forbidden` if none of the requested types may be read.
    init(_ request: WantRequest, _ names: FilterNames, plugin: String, zone: String) throws(WireError) {
        var filter = SinkFilter()
        let asked = try names.types(request.types)
        let fitting = names.reading.narrowed(types: asked)
        if asked != nil, fitting?.isEmpty == true {
            let allowed = (names.reading.asked ?? []).map(\.rawValue).sorted().joined(separator: ", ")
            throw WireError(
                .forbidden,
                "WANT.types: this instance asks to read none of them; its manifest asks for \(allowed)")
        }
        // Records that are not granted are left out silently (R8.120); a sink would not get its own records anyway (R10.5).
        let granted = names.reading.types.intersection(fitting)
        (filter.types, filter.exceptTypes) = (granted.only, granted.except)
        filter.persons = try names.persons(request.persons)
        filter.kinds = request.selection.kinds
        let takes = request.takes
        self.init(
            filter: filter,
            abilities: Abilities(
                takesPastDates: takes.pastDates, takesEdits: takes.edits, takesDeletions: takes.deletions,
                takesFilledValues: takes.filled),
            target: Target(plugin: plugin, accounts: request.account.map { [$0] } ?? []), zone: zone)
    }
}
