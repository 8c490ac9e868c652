import CLinux
import Glibc
import HubSettings
import HubStore
public import HubWire
import Samples

extension HubStatus {
    /// The status of the hub.
    ///
    /// - Parameters:
    ///   - reading: the data from the store; `nil` if it does not answer.
    ///   - state: the state of the store.
    @DoorActor
    init(of door: Door, _ reading: StoreStatus?, _ state: StoreState) {
        let (facts, network, retainer) = (door.facts, door.network, door.commands.retainer)
        let (cursor, time) = (door.store.cursor, facts.clock.now())
        let sinks = reading.map { door.deliveries.statuses($0) } ?? []
        let tokens = Dictionary(grouping: reading?.tokens ?? [], by: \.account.instance)
        self.init(
            hub: door.store.hubID, version: facts.version, epoch: cursor.epoch, head: cursor.sequence,
            records: reading?.records, inbox: reading?.inbox, implausible: reading?.implausible,
            time: facts.clock.time.text,
            clock: facts.clock.description, uptime: Double(door.now) / 1_000,
            endpoints: Endpoints(
                door: facts.endpoints.door, feed: facts.endpoints.feed, tcp: network.setting?.endpoint.description,
                tcpFault: network.fault),
            store: state, backup: door.storeHealth.backupStatus, erasure: reading?.erasure,
            retention: retainer.reports(on: facts.retention), retentionHeld: retainer.held,
            plugins: facts.plugins.map { plugin in
                door.plugins.status(
                    of: plugin, sinks: sinks, tokens: tokens[plugin.name]?.map { TokenStatus($0, at: time) },
                    lacksKey: network.lacksKey(plugin.name), time: time, now: door.now)
            },
            sessions: door.sessions.all.values.sorted { $0.serial < $1.serial }.map(SessionStatus.init),
            accounts: reading?.accounts.map(AccountStatus.init) ?? [], sinks: sinks,
            persons: facts.statuses(of: reading?.persons ?? []),
            devices: door.plugins.devices.all.map(DeviceStatus.init),
            residentBytes: ProcessMemory.residentBytes() ?? 0, memory: Memory(of: door),
            dropped: door.sessions.dropped, setup: facts.setup?.file)
    }

    /// The status for a plugin that may ask for it: only the persons that it may read (R12.13).
    func narrowed(to reading: ReadGrant?) -> HubStatus {
        guard let names = reading?.persons else { return self }
        var status = self
        status.persons = persons.filter { names.contains($0.name) }
        return status
    }
}

extension HubStatus.Memory {
    @DoorActor
    fileprivate init(of door: Door) {
        self.init(
            limit: door.facts.memoryLimit.map(Int64.init), atDoor: Int64(door.backlog.bytes),
            mostOf: door.backlog.largest.flatMap { door.clients[$0]?.hello.instance },
            recordsForStore: Int64(door.committer.waitingRecords),
            onFeeds: door.feeds.all.reduce(0) { $0 + Int64($1.volume.bytes) },
            credit: Int64(door.sessions.grantedCredit))
    }
}

extension HubStatus.SessionStatus {
    fileprivate init(_ session: SessionMachine) {
        self.init(
            instance: session.hello.instance, plugin: session.hello.plugin, version: session.hello.version,
            mode: session.hello.mode.rawValue, endpoint: session.endpoint.word)
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

    /// Whether it counts manual changes, and the notices that a record has left a person.
    public var isByHand: Bool { instance == IntakeCounts.hand }
}

extension ErasureFailure {
    init(_ fault: ErasureFault) { self.init(number: fault.number, reason: fault.reason) }
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
