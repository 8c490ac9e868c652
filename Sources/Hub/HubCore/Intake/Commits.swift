import HubStore
import HubWire
import Logging
import Samples

/// The results of batches.
extension Door {
    /// Answers the batches of a transaction that has ended, and publishes the stored records.
    ///
    /// STORED and publishing follow the commit (R5.1, R7.1): STORED in the order of a session's batches (R5.6), publishing in the order of the
    /// sequence.
    func report(_ outcome: Committer.Outcome) {
        defer { scheduleBacklog() }
        switch outcome {
        case .answers(let batches):
            storeHealth.recovered()
            for batch in batches { answer(batch) }
        case .committed(let batches, let answered):
            storeHealth.recovered()
            for batch in batches {
                if !answered.contains(batch.work.session) { answer(batch) }
                publish(batch)
            }
        case .hand(let results):
            storeHealth.recovered()
            let placements = results.compactMap {
                if case .stored(let placement) = $0.result { placement } else { nil }
            }
            guard !placements.isEmpty else { return }
            let told = placements.lazy.flatMap { Publication.RecordPublications($0, nil) }
            publish(told)
        case .failed(let works, let error):
            storeHealth.failed(error)
            for work in works {
                answer(work, .error(WireError(.store, "\(error)", after: StoreHealth.retryAfter)))
            }
            // The session of a failed batch has given up all later batches too, and its source sends them all again in order. Storing a later batch
            // now would put an older version last (R5.6).
            let failed = Set(works.map(\.session))
            committer.drop { failed.contains($0) }
        }
    }

    private func answer(_ batch: Committer.Settled) {
        let answers = batch.results.map { result -> RecordResult in
            switch result {
            case .stored(let placement): .stored(number: placement.number, sequence: placement.sequence)
            case .duplicate(let number, let sequence): .duplicate(number: number, sequence: sequence)
            case .rejected(let rejection): .rejected(rejection.code, reason: rejection.reason)
            }
        }
        answer(batch.work, .stored(Stored(batch: batch.work.batch, results: answers, credit: .zero)))
        reportRejection(batch.results, of: batch.work.intake.instance)
    }

    private func publish(_ batch: Committer.Settled) {
        let (work, results) = (batch.work, batch.results)
        let stored = results.count { if case .stored = $0 { true } else { false } }
        guard stored > 0 else { return }
        let (instance, now) = (work.intake.instance, facts.clock.now())
        plugins.stored(stored, of: instance, by: work.intake.lastDevice, at: now)
        let told = zip(work.intake.items, results).lazy.flatMap { item, result in
            guard case .stored(let placement) = result, case .success(let intake) = item else {
                return Publication.RecordPublications()
            }
            return Publication.RecordPublications(placement, intake)
        }
        publish(told, isBackfill: work.isBackfill)
    }

    /// Publishes stored records, and lets schedules and sinks know of them.
    private func publish(_ told: some Sequence<Publication>, isBackfill: Bool = false) {
        feeds.publish(told, isBackfill: isBackfill)
        notifyWatchers(told)
        deliveries.wakeAll()
        feeds.headDidChange()
    }

    /// Starts instances that run on a schedule if there are new records for them, including backfill.
    private func notifyWatchers(_ told: some Sequence<Publication>) {
        guard !watchers.isEmpty else { return }
        var waiting = watchers
        var reached: [String] = []
        for publication in told {
            waiting.removeAll { watcher in
                guard watcher.allows(publication.readership, by: facts.clock) else { return false }
                reached.append(watcher.instance)
                return true
            }
            if waiting.isEmpty { break }
        }
        if !reached.isEmpty { plugins.stored(for: reached) }
    }

    private func answer(_ work: Committer.Work, _ message: HubMessage) {
        answer(message, to: .batch(work.batch), in: work.session)
    }
}

extension IntakeBatch {
    /// The device of its last record.
    fileprivate var lastDevice: String? {
        guard case .success(let intake)? = items.last, case .sample(let sample) = intake.record else { return nil }
        return sample.source.device
    }
}
