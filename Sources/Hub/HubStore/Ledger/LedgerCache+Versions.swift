import GRDB

extension LedgerCache {
    /// Updates the ledger for a new version of a record.
    ///
    /// Call it after the old version is archived.
    ///
    /// An undelivered version becomes superseded. A version that only the cursor marks as delivered gets a row, because the cursor no longer covers
    /// it. If a record leaves a sink's filter, it is retracted at a target that has it or may have it. Only records that the filter wants while
    /// unretracted can leave it. A sink that wants only retractions is therefore not notified again if a record returns.
    mutating func supersede(
        _ number: Int64, _ old: VersionProperties, by new: VersionProperties, at recordedAt: Int64, in db: Database
    ) throws {
        for index in sinks.indices {
            let sink = sinks[index]
            let known = try DeliveryRow.find(sink.id, number, in: db)
            var row = known
            let (wasWanted, isWanted) = (sink.match.matches(old), sink.match.matches(new))
            var account = sink.account
            var marked = sink.marked
            // Its sequence number is no longer current, so the cursor will not cover it.
            if row?.state == .early { row?.state = .delivered }

            if row?.sequence == old.sequence, row?.isOpen == true {
                if row?.state == .pending {
                    account.pending -= 1
                    marked -= 1
                } else {
                    account.retrying -= 1
                }
                account.superseded += 1
                row?.state = .superseded
                row?.due = nil
                row?.wait = nil
                row?.at = recordedAt
            } else if row?.sequence != old.sequence {
                if old.sequence > sink.cursor {
                    if wasWanted {
                        if sink.isCounted(old.sequence) { account.pending -= 1 } else { account.wanted += 1 }
                        account.superseded += 1
                    }
                } else if row == nil, sink.hasPassed(old) {
                    row = .implied(sink: sink.id, number: number, old)
                }
            }

            if isWanted {
                account.wanted += 1
                account.pending += 1
                row?.departed = nil
            } else if let lost = row?.departed ?? (sink.match.matches(old.standing) ? old.sequence : nil) {
                let offered = marks.offered(sink.name)
                if try row?.holds == true || VersionLookup.mayHold(number, row, sink, offered: offered, in: db) {
                    var departure =
                        row ?? DeliveryRow(sink: sink.id, number: number, sequence: new.sequence, state: .pending)
                    departure.sequence = new.sequence
                    departure.state = .pending
                    (departure.due, departure.wait) = (DeliveryRow.atOnce, nil)
                    departure.attempts = 0
                    (departure.isOffered, departure.mayHold) = (false, !departure.holds)
                    departure.departed = lost
                    account.wanted += 1
                    account.pending += 1
                    marked += 1
                    row = departure
                } else {
                    row?.departed = nil
                }
            }
            if let row, row != known { try row.save(to: db) }
            if account != sink.account {
                change(index) { sink in (sink.account, sink.marked) = (account, marked) }
            }
        }
    }
}
