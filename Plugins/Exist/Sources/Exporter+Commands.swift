import CloudClient
import PluginKit

// The commands that a person runs.
extension Exporter {
    /// Reports which values would be sent now; asks Exist only for the profile, and sends nothing.
    /// - Parameter acquiring: plan as if attributes that belong to another service had been taken over first.
    func report(acquiring: Bool = false) async throws -> PlanReport {
        try await alone { try await $0.makeReport(acquiring) }
    }

    /// Refuses a command if `dry_run = true`, which promises that nothing is sent.
    private func refuseIfDry() throws {
        guard settings.isDryRun else { return }
        throw CommandFailure(
            "dry-run",
            "dry_run = true is set in [plugin.\(hub.instance)]: nothing is sent; hub do \(hub.instance) plan shows what would be"
        )
    }

    private func makeReport(_ acquiring: Bool) async throws -> PlanReport {
        var note: String?
        do {
            try await lookUp()
        } catch let trouble as ExistError {
            note = text(of: trouble)
        }
        try await refreshShelf()
        guard let plan = plan(acquiring: acquiring) else {
            throw CommandFailure("log-in", note ?? "Exist has not told the user's time zone yet; log in first")
        }
        let acquires = settings.attributes.map(\.name).filter {
            acquiring || account.ownership[$0]?.name == nil && account.ownership[$0]?.lost == nil
        }
        let calls = plan.isNeeded ? plan.chunks.count : 0
        let hours = (calls + acquires.count.signum() + 1 + account.calls.count) / settings.callsPerHour
        let begins = max(
            now, (account.updated ?? 0) + Int64(settings.interval / .microseconds(1)),
            now + (account.remainingPause(at: now)?.microseconds ?? 0))
        return PlanReport(
            account: account.username, zone: account.zone, today: today?.text,
            values: plan.isNeeded
                ? plan.items.map {
                    .init(
                        attribute: $0.key.attribute, date: $0.key.date.text, value: $0.value.digits,
                        changed: $0.isChanged)
                } : [],
            calls: calls, unchanged: plan.unchanged,
            orphaned: plan.orphaned.map { "\($0.attribute) \($0.date.text)" }, leftOut: plan.leftOut,
            begins: calls > 0 ? Timestamp(microseconds: begins).text : nil,
            ends: calls > 0 ? Timestamp(microseconds: begins + Int64(hours) * 3_600_000_000).text : nil,
            acquires: acquires, note: note)
    }

    /// Runs now without waiting for the interval; limits and rests still apply.
    func synchronizeNow() async throws -> SyncReport {
        let report: SyncReport
        do {
            report = try await makeRun()
        } catch {
            await deliverAgain()
            throw error
        }
        await deliverAgain()
        return report
    }

    /// Asks the hub to redeliver the days that it was to retry later; days that Exist has confirmed by now are answered from the state.
    private func deliverAgain() async { await hub.wantAgain(Exist.want) }

    private func makeRun() async throws -> SyncReport {
        try refuseIfDry()
        return try await alone { exporter in
            let before = exporter.account.calls.count
            var items: [SyncPlan.Item] = []
            do {
                try await exporter.lookUp()
                try await exporter.own()
                try await exporter.refreshShelf()
                items = exporter.plan().map { $0.isNeeded ? $0.items : [] } ?? []
                try await exporter.synchronize(isLookedUp: true)
            } catch let trouble as ExistError {
                throw CommandFailure("service", exporter.text(of: trouble))
            }
            return SyncReport(
                sent: items.count, confirmed: items.count { exporter.held[$0.key].has($0.value) },
                calls: max(0, exporter.account.calls.count - before),
                orphaned: exporter.plan()?.orphaned.count ?? 0,
                lost: exporter.account.ownership.compactMapValues(\.lost))
        }
    }

    /// Takes attributes over, including lost ones, and sends the values that have piled up.
    func acquireAgain() async throws -> SyncReport {
        try refuseIfDry()
        try await alone { exporter in
            for name in exporter.account.ownership.keys { exporter.account.ownership[name] = nil }
            try await exporter.save()
        }
        return try await synchronizeNow()
    }

    func giveBack() async throws -> [String] {
        try refuseIfDry()
        return try await alone { exporter in
            do {
                try await exporter.lookUp()
                return try await exporter.release()
            } catch let trouble as ExistError {
                throw CommandFailure("service", exporter.text(of: trouble))
            }
        }
    }

    /// Replaces a value that Exist keeps although the hub no longer has one.
    func overwrite(_ name: String, _ date: LocalDate, _ number: Double) async throws {
        try refuseIfDry()
        try await alone { exporter in
            guard let attribute = exporter.settings.attributes.first(where: { $0.name == name }) else {
                throw CommandFailure("command", "\(name) is not among the attributes that are sent")
            }
            let key = DayKey(attribute: name, date: date)
            guard exporter.held[key].isOrphaned == true else {
                throw CommandFailure(
                    "command", "the hub has a value of that day, or Exist has none: only an orphaned one is overwritten"
                )
            }
            let value: ExistValue
            do throws(ExistValue.ValueError) {
                value = try ExistValue(number, unit: "", as: attribute, in: nil)
            } catch { throw CommandFailure("command", "value: \(error.reason)") }
            do {
                try await exporter.lookUp()
                try await exporter.send([.init(key: key, value: value, isChanged: true)])
            } catch let trouble as ExistError {
                throw CommandFailure("service", exporter.text(of: trouble))
            }
            guard exporter.held[key].has(value) else { throw CommandFailure("service", "Exist did not take it") }
            exporter.held[key].isOrphaned = true
            try await exporter.save([key.month])
        }
    }

    private struct ValuesPage: Decodable, Sendable {
        struct Attribute: Decodable, Sendable {
            struct Value: Decodable, Sendable {
                var date: String
                var value: Double?
            }
            var name: String
            var values: [Value]
        }
        var next: String?
        var results: [Attribute]
    }

    /// Reads the last 31 days back; the next run sends each value that differs again.
    func verify() async throws -> VerifyReport {
        try await alone { exporter in
            do { return try await exporter.compare() } catch let trouble as ExistError {
                throw CommandFailure("service", exporter.text(of: trouble))
            }
        }
    }

    private func compare() async throws -> VerifyReport {
        try await lookUp()
        let names = Dictionary(
            account.ownership.compactMap { name, own in own.name.map { ($0, name) } }, uniquingKeysWith: { a, _ in a })
        var report = VerifyReport(compared: 0, differences: [])
        var months: Set<String> = []
        for number in 1...20 where !names.isEmpty {
            let page: ValuesPage = try await read(
                ExistService.values(of: names.keys.sorted(), days: 31, page: number))
            for attribute in page.results {
                guard let name = names[attribute.name] else { continue }
                for value in attribute.values {
                    guard let date = LocalDate(value.date) else { continue }
                    let key = DayKey(attribute: name, date: date)
                    guard let sent = held[key].confirmed else { continue }
                    report.compared += 1
                    guard value.value != Double(sent) else { continue }
                    report.differences.append(
                        .init(
                            attribute: name, date: value.date, exist: value.value.map { "\($0)" }, sent: sent))
                    held[key].confirmed = nil
                    held[key].possible = nil
                    months.insert(key.month)
                }
            }
            if page.next == nil { break }
        }
        try await save(months)
        return report
    }

    /// Forgets everything, for a different account, a different person, or an account that was emptied.
    func forgetAll() async throws { try await alone { try await $0.forget() } }

    /// Refuses a log-in to another account than before.
    func admit(_ username: String) async throws {
        try await alone { exporter in
            guard exporter.account.username == nil || exporter.account.username == username else {
                throw CommandFailure("account", exporter.otherAccount(username))
            }
        }
    }

    /// The text that a person sees.
    func text(of trouble: ExistError) -> String {
        switch trouble {
        case .logIn(let reason), .mixedUp(let reason): reason
        case .resting:
            account.remainingPause(at: now).map {
                "\($0.reason); tried again after \(Timestamp(microseconds: now + $0.microseconds).text)"
            } ?? "Exist did not answer as it should"
        }
    }
}
