import FoundationEssentials
import PluginKit

/// The vendor's cloud, to the extent that a connector needs it.
public protocol ScaleCloud: Sendable {
    /// Checks whether the person's account is linked; it never throws, because a missing answer is also a result.
    func verify() async -> CloudVerdict
    /// Returns when an account is logged in, or when the state of the log-in cannot be determined.
    func untilLoggedIn() async
}

extension ScaleConnector {
    /// The permission to measure, and its duration.
    struct Permission {
        /// The end by the monotonic clock: the hub's clock may be set, which would extend or end a permission.
        ///
        /// `nil` for the whole run of the plugin.
        var end: ContinuousClock.Instant?
    }

    static let memoryKey = "verification"
    /// Set while the hub has been notified of error 111.
    private static let refusedKey = "refused"
    /// How often a refused person is verified again; after a relevant change it happens immediately.
    private static let retry = Duration.seconds(300)
    /// How long an answer of the cloud is valid.
    private static let belief = Duration.seconds(24 * 3600)

    /// Waits until the person may measure; `nil` if the plugin has to stop.
    mutating func verify(_ goal: Goal) async throws -> Permission? {
        var told: Verification.Verdict?
        while !hub.isStopping, !Task.isCancelled {
            guard setup.verification != .bridge else { return Permission() }
            let verdict = try await verdict()
            if verdict != told {
                if let result = verdict.result { await scale.reports.report(result, text: verdict.help) }
                try await tell(verdict)
                told = verdict
            }
            if verdict.mayMeasure {
                let left = verdict.until.map { Duration.microseconds($0 - hub.clock.now()) }
                let belief = setup.verification == .openapi ? Self.belief : nil
                let time = [left, belief].compactMap(\.self).min()
                return Permission(end: time.map { .now + hub.clock.realDuration(forVirtual: $0) })
            }
            if goal == .memoryTransferred {
                throw PluginFailure(.failed, "nothing is measured: " + help(verdict))
            }
            await sleep(verdict)
        }
        return nil
    }

    /// Waits until the verdict may have changed.
    private func sleep(_ verdict: Verification.Verdict) async {
        guard let cloud, verdict.isForLogIn else { return await queue.sleep(for: Self.retry) }
        await withTaskGroup { [queue] group in
            group.addTask {
                await cloud.untilLoggedIn()
                queue.ring()
            }
            await queue.sleep(for: Self.retry)
            group.cancelAll()
        }
    }

    private func help(_ verdict: Verification.Verdict) -> String {
        (verdict.help ?? "this person may not use the scale").replacing("INSTANCE", with: hub.instance)
    }

    /// Reports error 111, and resolves it when the person may measure again, even after a restart, because the hub shows it until then.
    private mutating func tell(_ verdict: Verification.Verdict) async throws {
        do {
            let wasRefused = try await hub.state.integer(Self.refusedKey) != nil
            if !verdict.mayMeasure {
                let error = ScaleError.notVerified(setup.model)
                await scale.reports.report(error, text: error.sentence + ": " + help(verdict))
                if !wasRefused { try await hub.state.set(Self.refusedKey, to: .integer(1)) }
            } else if wasRefused {
                await scale.reports.resolve()
                try await hub.state.set(Self.refusedKey, to: nil)
            }
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }

    private func verdict() async throws -> Verification.Verdict {
        var user = setup.user
        // Without any person the hub has not answered yet.
        if let person = setup.person, !hub.persons.isEmpty {
            user.isAllowed = hub.persons.contains { $0.name == person }
        }
        do {
            let memory = try await Verification.Memory.read(hub.state)
            var verification = Verification(setup.model, memory: memory)
            let verdict =
                switch setup.verification {
                case .local, .bridge: verification.local(user)
                case .openapi:
                    verification.online(user, await cloud?.verify() ?? .unreachable, at: hub.clock.now())
                }
            if verification.memory != memory { try await verification.memory.write(hub.state) }
            return verdict
        } catch {
            throw PluginFailure(.state, "\(error)")
        }
    }
}

extension Verification.Memory {
    static func read(_ state: PluginState) async throws -> Self {
        guard let text = try await state.text(ScaleConnector.memoryKey) else { return Self() }
        return try JSONDecoder().decode(Self.self, from: Data(text.utf8))
    }

    func write(_ state: PluginState) async throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(self), as: UTF8.self)
        try await state.set(ScaleConnector.memoryKey, to: .text(text))
    }
}
