import Glibc
import HubSessions
import HubSettings
import HubStore
import HubWire
import Samples

/// What the hub says of itself.
extension Door {
    func status() async -> HubStatus {
        let (reading, state) = await lookAtStore()
        let sinks = reading.map { reading in onDeliveries { part in reading.sinks.map { part.status($0) } } } ?? []
        let cursor = store.cursor
        let tokens = Dictionary(grouping: reading?.tokens ?? [], by: \.account.instance)
        return HubStatus(
            hub: store.hubID, version: facts.version, epoch: cursor.epoch, head: cursor.sequence,
            records: reading?.records, inbox: reading?.inbox, implausible: reading?.implausible,
            time: facts.clock.time.text,
            clock: facts.clock.description, uptime: Double(now) / 1_000,
            endpoints: HubStatus.Endpoints(
                door: facts.endpoints.door, feed: facts.endpoints.feed, tcp: network.setting?.endpoint.description,
                tcpFault: network.fault),
            store: state,
            plugins: facts.plugins.map { lamps($0, sinks, tokens[$0.name]) }, sessions: sessionList(),
            accounts: reading?.accounts.map(HubStatus.AccountStatus.init) ?? [], sinks: sinks,
            persons: reading.map { statuses(of: $0.persons) } ?? [],
            devices: devices.all.map(HubStatus.DeviceStatus.init),
            residentBytes: ProcessMemory.residentBytes() ?? 0,
            dropped: sessions.dropped)
    }

    func accounts() async throws -> [HubStatus.AccountStatus] {
        try await store.accounts().map(HubStatus.AccountStatus.init)
    }

    func persons() async throws -> [HubStatus.PersonStatus] {
        statuses(of: try await store.persons())
    }

    private func statuses(of persons: [Person]) -> [HubStatus.PersonStatus] {
        let zones = Dictionary(facts.persons.map { ($0.name, $0.zone) }, uniquingKeysWith: { first, _ in first })
        return persons.map { person in
            HubStatus.PersonStatus(name: person.name, uid: person.uid, zone: zones[person.name] ?? nil)
        }
    }

    private func lamps(_ plugin: PluginStatus, _ sinks: [SinkStatus], _ tokens: [TokenOverview]?) -> PluginStatus {
        var plugin = plugin
        plugin.tokens = tokens?.map { TokenStatus($0, at: facts.clock.now()) }
        let seen = ledger[plugin.name]
        plugin.sessions = seen.sessions
        plugin.alive = seen.sessions > 0
        plugin.records = seen.records
        plugin.lastRecord = seen.lastRecord.map { Timestamp(microseconds: $0).text }
        plugin.fresh = seen.lastRecord.map { facts.clock.now() - $0 < 86_400_000_000 }
        let own = sinks.filter { $0.instance == plugin.name }
        plugin.delivering = own.isEmpty ? nil : own.allSatisfy(\.isWell)
        plugin.lastError = seen.logInFault ?? seen.lastError ?? plugin.lastError
        if seen.lastError != nil, seen.isGrave, !seen.isOfThePast { plugin.hasError = true }
        if plugin.remote == true, plugin.enabled {
            plugin.state = plugin.alive ? .running : .away
            if network.setting?.isInsecure == false, network.key(of: plugin.name) == nil {
                plugin.advice = "has no key: hub keys new \(plugin.name)"
            } else if !plugin.alive {
                plugin.advice = "has no session: start it on its machine, with its key file; its log is there too"
            }
        }
        if let life = lives[plugin.name] {
            (plugin.state, plugin.pid, plugin.restarts) = (life.word, life.pid, life.restarts)
            plugin.restartIn = life.pause(at: now).map { Double($0) / 1_000 }
            plugin.advice = life.advice(for: plugin.name, lifePolicy, at: now) ?? plugin.advice
            plugin.lastError = seen.lastError ?? life.fault?.text ?? plugin.lastError
        }
        if let text = fallbacks[plugin.name] {
            plugin.isFallback = true
            plugin.advice = plugin.advice.map { "\($0); \(text)" } ?? text
        }
        return plugin
    }

    private func sessionList() -> [HubStatus.SessionStatus] {
        sessions.all.values.sorted { $0.serial < $1.serial }.map { session in
            HubStatus.SessionStatus(
                instance: session.hello.instance, plugin: session.hello.plugin, version: session.hello.version,
                mode: session.hello.mode.rawValue, endpoint: session.endpoint.word)
        }
    }
}

extension Endpoint {
    fileprivate var word: String {
        switch self {
        case .owner: "owner"
        case .plugin: "plugin"
        case .remote: "remote"
        }
    }
}

extension HubStatus.DeviceStatus {
    init(instance: String, device: String, entry: DeviceTable.Entry) {
        self.init(
            instance: instance, device: device, connected: entry.isConnected, battery: entry.battery,
            batteryLow: entry.isBatteryLow, lastError: entry.lastError?.text, lastErrorCode: entry.lastError?.code,
            lastErrorSeverity: entry.lastError?.severity?.rawValue,
            lastErrorAt: entry.lastError.map { Timestamp(microseconds: $0.at).text },
            lastHeard: Timestamp(microseconds: entry.heardAt).text)
    }
}

extension HubStatus.AccountStatus {
    init(_ account: Account) {
        self.init(
            instance: account.instance, received: account.received, stored: account.stored, versions: account.versions,
            retractions: account.retractions, duplicates: account.duplicates, rejected: account.rejected)
    }
}

/// What the system says a process holds.
enum ProcessMemory {
    /// Resident bytes of a process, this one's if none is named; `nil` where the system does not say.
    static func residentBytes(of pid: Int? = nil) -> Int64? {
        guard let file = fopen("/proc/\(pid.map(String.init) ?? "self")/statm", "re") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, CInt(line.count), file) != nil else { return nil }
        let fields = line.prefix { $0 != 0 }.split(separator: CChar(UInt8(ascii: " ")))
        guard fields.count > 1,
            let pages = Int64(String(decoding: fields[1].map(UInt8.init(bitPattern:)), as: UTF8.self))
        else {
            return nil
        }
        return pages * Int64(sysconf(CInt(_SC_PAGESIZE)))
    }
}
