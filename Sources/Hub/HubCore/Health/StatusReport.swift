import CLinux
import Glibc
import HubSettings
import HubStore
import HubWire
import Samples

/// The status of the hub.
extension Door {
    /// - Parameters:
    ///   - reading: the data from the store; `nil` if it does not answer.
    ///   - state: the state of the store.
    func status(_ reading: StoreStatus?, _ state: HubStatus.StoreState) -> HubStatus {
        let sinks = reading.map { deliveries.statuses($0) } ?? []
        let cursor = store.cursor
        let tokens = Dictionary(grouping: reading?.tokens ?? [], by: \.account.instance)
        return HubStatus(
            hub: store.hubID, version: facts.version, epoch: cursor.epoch, head: cursor.sequence,
            records: reading?.records, inbox: reading?.inbox, implausible: reading?.implausible,
            time: facts.clock.time.text,
            clock: facts.clock.description, uptime: Double(now) / 1_000,
            endpoints: HubStatus.Endpoints(
                door: facts.endpoints.door, feed: facts.endpoints.feed, tcp: gate.network.setting?.endpoint.description,
                tcpFault: gate.network.fault),
            store: state, backup: storeHealth.backupStatus, erasure: reading?.erasure,
            retention: commands.retainer.reports(on: facts.retention),
            retentionHeld: commands.retainer.held,
            plugins: facts.plugins.map { status(of: $0, sinks, tokens[$0.name]) }, sessions: sessionList(),
            accounts: reading?.accounts.map(HubStatus.AccountStatus.init) ?? [], sinks: sinks,
            persons: facts.statuses(of: reading?.persons ?? []),
            devices: plugins.devices.all.map(HubStatus.DeviceStatus.init),
            residentBytes: ProcessMemory.residentBytes() ?? 0, memory: memoryStatus,
            dropped: sessions.dropped)
    }

    private var memoryStatus: HubStatus.Memory {
        HubStatus.Memory(
            limit: facts.memoryLimit.map(Int64.init), atDoor: Int64(backlog.bytes),
            mostOf: backlog.largest.flatMap { clients[$0]?.hello.instance },
            recordsForStore: Int64(committer.waitingRecords),
            onFeeds: feeds.all.reduce(0) { $0 + Int64($1.volume.bytes) }, credit: Int64(sessions.grantedCredit))
    }

    private func status(
        of plugin: PluginStatus, _ sinks: [SinkStatus], _ tokens: [TokenOverview]?
    ) -> PluginStatus {
        let time = facts.clock.now()
        return plugins.status(
            of: plugin, sinks: sinks, tokens: tokens?.map { TokenStatus($0, at: time) }, gate.network, time: time,
            now: now)
    }

    /// One line for the service manager, which also proves that the poll loop runs.
    func serviceStatus() -> String {
        if let complaint = storeHealth.complaint { return complaint }
        let enabled = facts.plugins.filter(\.enabled)
        let alive = enabled.count { plugins.counters[$0.name].sessions > 0 }
        return "newest sequence \(store.head); \(alive) of \(enabled.count) plugins alive"
    }

    private func sessionList() -> [HubStatus.SessionStatus] {
        sessions.all.values.sorted { $0.serial < $1.serial }.map { session in
            HubStatus.SessionStatus(
                instance: session.hello.instance, plugin: session.hello.plugin, version: session.hello.version,
                mode: session.hello.mode.rawValue, endpoint: session.endpoint.word)
        }
    }
}

extension HubContext {
    /// Persons of the store, with their descriptions in `hub.conf`.
    func statuses(of persons: [Person]) -> [HubStatus.PersonStatus] {
        let said = personsByName
        return persons.map { person in
            let entry = said[person.name]
            return HubStatus.PersonStatus(
                name: person.name, displayName: entry?.displayName, uid: person.uid, zone: entry?.zone,
                locale: entry?.locale, units: entry?.units)
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
            lastHeard: entry.heardAt.map { Timestamp(microseconds: $0).text })
    }
}

extension HubStatus.AccountStatus {
    init(_ account: IntakeCounts) {
        self.init(
            instance: account.instance, received: account.received, stored: account.stored, versions: account.versions,
            retractions: account.retractions, duplicates: account.duplicates, rejected: account.rejected)
    }
}

/// The memory of a process, as the system reports it.
enum ProcessMemory {
    /// Resident bytes of a process, or of this process if none is named; `nil` if the system does not report them.
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

    /// The bytes that this process has allocated from the C library and not freed yet.
    static func allocatedBytes() -> Int { Int(clamping: allocated_bytes()) }
}
