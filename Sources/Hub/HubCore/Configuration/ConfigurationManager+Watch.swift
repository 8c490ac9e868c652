import HubSettings
import HubWire
import Logging

/// Long-running tasks: to find out whether a file is good, and whether a missing program has come back.
extension ConfigurationManager {
    /// Runs these tasks until `leaving`.
    func run(until leaving: Latch) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await relapse in self.relapses { await self.judge(relapse.instance, relapse.fault) } }
            await watchStart()
            let interval = max(20, min(15_000, policy.watchPeriod / 4, checkInterval / 2))
            while !leaving.isRaised {
                await leaving.wait(upTo: .milliseconds(interval))
                guard !leaving.isRaised else { break }
                await enter()
                await settle()
                await checkAgain()
                leave()
            }
            group.cancelAll()
        }
    }

    /// Watches the plugins as after `hub apply` if the hub was started with another file than the last good one.
    private func watchStart() async {
        guard let reload, let text = good.read(), text != checked.text else { return }
        await enter()
        defer { leave() }
        let before = await reload(text)
        for section in before.loaded.configuration?.plugins.filter(\.enabled) ?? [] {
            let name = section.name
            guard let current = self.section(name), current != section else { continue }
            let former = Predecessor(
                section: section, manifest: before.manifests[name], executable: before.executables[name])
            watches[name] = Watch(former: former, until: policy.watchPeriod)
        }
    }

    /// Saves the file as the last good one, once all plugins have been well for the whole watch.
    private func settle() async {
        guard let due = settledAt, now >= due else { return }
        watches = watches.filter { $0.value.until > now }
        guard let text = checked.text, fallbacks.isEmpty, checked.loaded.refusedInstances.isEmpty,
            await supervisor.areAllHealthy
        else { return }
        settledAt = nil
        guard text != good.read() else { return }
        do throws(HubError) { try good.write(text) } catch {
            parts.logger.error("the last good hub.conf is not kept", metadata: ["reason": "\(error.message)"])
        }
    }

    /// Checks the current text again at growing intervals, because a program that was missing or did not answer may be there now.
    private func checkAgain() async {
        let isLacking = checked.faults.keys.contains { name in
            checked.loaded.refusedInstances.contains(name) || section(name) != nil
        }
        guard let reload, let text = checked.text, isLacking, now >= nextCheckAt else { return }
        let again = await reload(text)
        checkInterval = min(policy.longestPause, checkInterval * 2)
        nextCheckAt = now + checkInterval
        var (wanted, next) = (checked, configuration)
        var found: [String] = []
        for name in checked.faults.keys.sorted() where again.faults[name] == nil {
            guard let section = again.loaded.configuration?.plugins.first(where: { $0.name == name }) else { continue }
            found.append(name)
            next.plugins.removeAll { $0.name == name }
            next.plugins.append(section)
            (wanted.manifests[name], wanted.executables[name]) = (again.manifests[name], again.executables[name])
            wanted.faults[name] = nil
            wanted.loaded.refusedInstances.removeAll { $0 == name }
        }
        guard !found.isEmpty else { return }
        do throws(HubError) {
            try await adopt(wanted, next, restarting: [])
            parts.logger.notice("programs were found", metadata: ["plugins": "\(found.joined(separator: ", "))"])
        } catch { parts.logger.error("plugins cannot be started", metadata: ["reason": "\(error.message)"]) }
    }
}
