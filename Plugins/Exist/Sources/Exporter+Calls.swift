import CloudClient
import Foundation
import PluginKit

// Makes calls one at a time, within the limits.
extension Exporter {
    /// Makes a call and decodes its answer.
    func read<Value: Decodable & Sendable>(_ request: CloudRequest) async throws -> Value {
        let answer = try await call(request)
        do {
            return try answer.successful().json(Value.self)
        } catch {
            throw try await setback(error.message, hadNoEffect: true)
        }
    }

    /// Makes a call; repeats it with a new token if Exist refuses the first one.
    ///
    /// - Parameter months: months of changed days, saved in the commit that counts the call.
    /// - Returns: the answer if it is a success or 400, which concerns the request itself.
    /// - Throws: ``ExistError``; `CancellationError`.
    func call(_ request: CloudRequest, marking months: Set<String> = []) async throws -> CloudAnswer {
        let answer = try await withToken { token in
            try await reserve(months)
            do {
                let answer = try await service.client.send(request.authorized(token.accessToken))
                account.answered(at: now)
                return answer
            } catch let error as CloudError {
                // Exist may have counted the call as late as now.
                account.answered(at: now)
                throw try await setback(error.message, hadNoEffect: !error.mayHaveHadEffect)
            }
        }
        switch answer.status {
        case 200...299, 400:
            if account.setbacks > 0 {
                account.setbacks = 0
                try await save()
            }
            return answer
        case 401: throw ExistError.logIn("Exist refuses the token; run hub login \(hub.instance)")
        case 403:
            throw ExistError.logIn(
                "Exist does not permit this with the log-in there is; run hub login \(hub.instance) and agree to all it asks"
            )
        case 429: throw try await refusal(answer)
        case 300...499:
            account.rest(
                for: .seconds(3_600), at: now,
                "Exist answered \(answer.status) to \(request): is the setting base right?")
            try await save()
            throw ExistError.resting(hadNoEffect: true)
        default: throw try await setback("Exist answered \(answer.status)", hadNoEffect: false)
        }
    }

    /// Counts a call before it is made, because a call that a kill interrupts may have reached Exist.
    private func reserve(_ months: Set<String>) async throws {
        if account.remainingPause(at: now) != nil { throw ExistError.resting(hadNoEffect: true) }
        if let wait = account.wait(for: settings.callsPerHour, at: now) {
            account.rest(
                for: .microseconds(wait), at: now, "the \(settings.callsPerHour) calls of an hour are used up")
            try await save()
            throw ExistError.resting(hadNoEffect: true)
        }
        account.calls.append(now)
        try await save(months)
    }

    /// Asks to whom a new token belongs, even during a rest.
    ///
    /// The call counts towards the limit like every other, and a 429 to it starts a rest.
    func profile(of token: OAuthToken) async throws -> ExistService.Profile {
        try await alone { exporter in
            exporter.account.calls.append(exporter.now)
            try await exporter.save()
            defer { exporter.account.answered(at: exporter.now) }
            let answer = try await exporter.service.profileAnswer(token)
            if answer.status == 429 { _ = try await exporter.refusal(answer) }
            return try ExistService.profile(in: answer)
        }
    }

    /// Starts a rest after a temporary failure; each failure in a row makes it longer.
    func setback(_ reason: String, hadNoEffect: Bool) async throws -> ExistError {
        account.setbacks += 1
        account.rest(for: AccountState.backOff.wait(after: account.setbacks), at: now, reason)
        try await save()
        return .resting(hadNoEffect: hadNoEffect)
    }

    /// Starts a rest after the status 429.
    private func refusal(_ answer: CloudAnswer) async throws -> ExistError {
        account.setbacks += 1
        account.rest(
            for: answer.retryAfter(at: now) ?? AccountState.refusalBackOff.wait(after: account.setbacks), at: now,
            "Exist wants no more calls for now (429)")
        try await save()
        return .resting(hadNoEffect: true)
    }

    // MARK: - Values

    /// Sends at most 35 values; saves Exist's result for each before the hub receives an answer.
    func send(_ items: [SyncPlan.Item], isSecond: Bool = false) async throws {
        let items = items.filter { account.ownership[$0.key.attribute]?.name != nil }
        guard !items.isEmpty else { return }
        let before = Dictionary(uniqueKeysWithValues: items.map { ($0.key, held[$0.key]) })
        let months = Set(items.map(\.key.month))
        for item in items where !held[item.key].has(item.value) {
            held[item.key].possible = Array(Set((held[item.key].possible ?? []) + [item.value.digits])).sorted()
        }
        let objects = items.map { item in
            WriteAnswer.Object(
                name: account.ownership[item.key.attribute]?.name ?? item.key.attribute, date: item.key.date.text)
        }
        let texts = zip(items, objects).map { JSONDigits.update($1.name, $0.key.date, $0.value) }
        let answer: CloudAnswer
        do {
            answer = try await call(ExistService.write(.update, texts), marking: months)
        } catch let trouble as ExistError where trouble.hadNoEffect {
            for (key, day) in before { held[key] = day }
            try await save(months)
            throw trouble
        }
        if answer.status == 400 {
            for item in items {
                held[item.key] = before[item.key] ?? HeldDay()
                held[item.key].refused = .init(digits: item.value.digits, reason: "Exist refuses the whole call (400)")
            }
            return try await save(months)
        }
        guard let read = try? answer.json(WriteAnswer.self) else {
            throw try await setback("Exist's answer to an update cannot be read", hadNoEffect: false)
        }
        try await settle(items, read.results(of: objects), before, months, isSecond: isSecond)
    }

    private func settle(
        _ items: [SyncPlan.Item], _ results: [WriteAnswer.Result], _ before: [DayKey: HeldDay], _ months: Set<String>,
        isSecond: Bool
    ) async throws {
        var foreign: [SyncPlan.Item] = []
        var hasUnknown = false
        for (item, result) in zip(items, results) {
            switch result {
            case .done: held[item.key] = HeldDay(confirmed: item.value.digits)
            case .unknown: hasUnknown = true
            case .failed(let code, let text):
                held[item.key] = before[item.key] ?? HeldDay()
                if code == "unauthorised" || code == "not_found" {
                    foreign.append(item)
                } else if code == "validation", item.key.date == today, before[item.key]?.confirmed == nil {
                    // Exist's clock may be behind ours, so the day may not have begun there: retry until today is over here.
                    continue
                } else {
                    held[item.key].refused = .init(
                        digits: item.value.digits, reason: "Exist refuses it: \(code)" + Self.harmless(text))
                }
            }
        }
        try await save(months)
        if !foreign.isEmpty { try await lose(foreign, isSecond: isSecond) }
        if hasUnknown { throw try await setback("Exist's answer did not name every value", hadNoEffect: false) }
    }

    /// The service's text, unless it could contain a value.
    private static func harmless(_ text: String) -> String {
        text.isEmpty || text.contains(where: \.isNumber) ? "" : " (\(text.prefix(200)))"
    }

    /// Handles attributes that another service took over.
    ///
    /// Each is taken back at most once a day and its values are sent again; otherwise the plugin gives it up.
    private func lose(_ items: [SyncPlan.Item], isSecond: Bool) async throws {
        var names: [String] = []
        for item in items where !names.contains(item.key.attribute) { names.append(item.key.attribute) }
        for name in names {
            let last = account.ownership[name]?.reacquired
            let isTooSoon = last.map { now - $0 < 86_400_000_000 } ?? false
            if isSecond || !settings.reacquires || isTooSoon {
                try await giveUp(name, "another service has it at Exist")
            } else {
                account.ownership[name] = .init(reacquired: now)
            }
        }
        let back = names.filter { account.ownership[$0]?.lost == nil }
        guard !back.isEmpty else { return }
        try await save()
        try await acquire(settings.attributes.filter { back.contains($0.name) })
        try await send(items.filter { back.contains($0.key.attribute) }, isSecond: true)
    }
}
