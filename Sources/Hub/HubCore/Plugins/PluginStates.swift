import HubWire
import Samples

/// The hub's knowledge of the instances in `hub.conf` while it runs: their sessions and records, devices and processes.
struct PluginStates {
    var counters = InstanceCounters(instances: [])
    var devices: DeviceTable {
        didSet {
            if devices != oldValue { deviceMemory.note(devices, mayWait: devices.isEquivalent(as: oldValue)) }
        }
    }
    private let deviceMemory: DeviceMemory
    /// The supervisor's reports on the instances that it runs.
    var lives: [String: LifecycleReport] = [:]
    /// Why instances run with their former settings.
    var fallbacks: [String: String] = [:]
    /// Receives changes of the instances' sessions.
    private let sessionChanges: SessionChanges
    private let lifePolicy: LifecyclePolicy

    init(
        _ instances: [String], devices: DeviceMemory, _ sessionChanges: SessionChanges, lifePolicy: LifecyclePolicy
    ) {
        (deviceMemory, self.sessionChanges, self.lifePolicy) = (devices, sessionChanges, lifePolicy)
        var remembered = DeviceTable(remembered: devices.read())
        remembered.adopt(instances: instances)
        self.devices = remembered
        counters.adopt(instances: instances)
    }

    /// Keeps the data of these instances, and forgets the others.
    mutating func adopt(instances: [String], restarting: Set<String>) {
        counters.adopt(instances: instances)
        devices.adopt(instances: instances, restarting: restarting)
    }

    mutating func sessionBegan(_ hello: Hello, at endpoint: Endpoint) {
        counters.sessionBegan(hello)
        if endpoint != .owner, hello.mode == .run { sessionChanges.sessionBegan(hello.instance) }
    }

    /// Notes that records were stored that these instances may read.
    func stored(for instances: [String]) { sessionChanges.stored(for: instances) }

    /// - Parameter wasLast: whether the instance runs in no other session now.
    mutating func sessionEnded(_ hello: Hello, wasLast: Bool) {
        counters.sessionEnded(hello)
        guard hello.mode == .run, wasLast else { return }
        sessionChanges.sessionEnded(hello.instance)
        devices.lost(hello.instance)
    }

    /// - Parameter device: the device of the last of the records.
    mutating func stored(_ count: Int, of instance: String, by device: @autoclosure () -> String?, at time: Int64) {
        counters.stored(count, of: instance, at: time)
        if devices.knows(instance), let device = device() { devices.heard(device, of: instance, at: time) }
    }

    /// - Parameter isEnabled: whether `hub.conf` enables the instance; no device is kept for others, because any program may invent names.
    mutating func note(_ event: DeviceEvent, of instance: String, isEnabled: Bool, at time: Int64) {
        if event.isResolved {
            counters.recovered(instance)
        } else if event.isError {
            counters.failed(
                instance, event.text ?? event.event, isSevere: event.severity == .error,
                isEnding: event.event == "failed")
        }
        if isEnabled { devices.note(event, of: instance, at: time) }
    }

    // MARK: - For `hub status`

    /// The status of an instance: its observed state, added to its configuration.
    func status(
        of plugin: PluginStatus, sinks: [SinkStatus], tokens: [TokenStatus]?, lacksKey: Bool, time: Int64, now: Int64
    ) -> PluginStatus {
        var plugin = plugin
        plugin.tokens = tokens
        let seen = counters[plugin.name]
        plugin.sessions = seen.sessions
        plugin.alive = seen.sessions > 0
        plugin.records = seen.records
        plugin.lastRecord = seen.lastRecord.map { Timestamp(microseconds: $0).text }
        plugin.fresh = seen.lastRecord.map { time - $0 < 86_400_000_000 }
        let own = sinks.filter { $0.instance == plugin.name }
        plugin.delivering = own.isEmpty ? nil : own.allSatisfy(\.isWell)
        plugin.lastError = seen.logInFault ?? seen.lastError ?? plugin.lastError
        if seen.lastError != nil, seen.isSevere, !seen.isOfEndedProcess { plugin.hasError = true }
        if plugin.remote == true, plugin.enabled {
            plugin.state = plugin.alive ? .running : .away
            if lacksKey {
                plugin.advice = "has no key: hub keys new \(plugin.name)"
            } else if !plugin.alive {
                plugin.advice = "has no session: start it on its machine, with its key file; its log is there too"
            }
        }
        if let life = lives[plugin.name] {
            (plugin.state, plugin.pid, plugin.restarts) = (life.word, life.pid, life.restarts)
            plugin.lastRun = life.lastRun.map { Timestamp(microseconds: $0).text }
            plugin.nextRun = life.nextRun.map { Timestamp(microseconds: $0).text }
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
}

/// The hub's observations of the instances in `hub.conf` since it started: for `hub status`.
///
/// Nothing is kept for other names, because any program may invent names.
struct InstanceCounters {
    struct Entry {
        var sessions = 0
        var records: Int64 = 0
        /// By the hub's clock, microseconds since 1970.
        var lastRecord: Int64?
        var lastError: String?
        /// Why its last log-in was refused, until it has a session.
        var logInFault: String?
        /// Whether the fault is an error, not a warning.
        var isSevere = false
        /// Whether the process that reported it has ended; the next process reports again if it persists.
        var isOfEndedProcess = false
    }
    private var entries: [String: Entry]

    init(instances: some Sequence<String>) {
        entries = Dictionary(instances.map { ($0, Entry()) }, uniquingKeysWith: { first, _ in first })
    }

    /// Keeps the entries of these instances, and forgets the others.
    mutating func adopt(instances: some Sequence<String>) {
        entries = Dictionary(instances.map { ($0, self[$0]) }, uniquingKeysWith: { first, _ in first })
    }

    subscript(instance: String) -> Entry { entries[instance] ?? Entry() }

    mutating func sessionBegan(_ hello: Hello) {
        entries[hello.instance]?.sessions += 1
        entries[hello.instance]?.logInFault = nil
        if self[hello.instance].isOfEndedProcess { recovered(hello.instance) }
    }

    mutating func sessionEnded(_ hello: Hello) {
        entries[hello.instance]?.sessions -= 1
    }

    mutating func stored(_ count: Int, of instance: String, at time: Int64) {
        guard count > 0 else { return }
        entries[instance]?.records += Int64(count)
        entries[instance]?.lastRecord = time
    }

    /// - Parameters:
    ///   - isSevere: whether it is an error, not a warning.
    ///   - isEnding: whether the plugin is about to end because of it.
    mutating func failed(_ instance: String, _ reason: String, isSevere: Bool, isEnding: Bool = false) {
        entries[instance]?.lastError = reason
        entries[instance]?.isSevere = isSevere
        entries[instance]?.isOfEndedProcess = isEnding
    }

    mutating func logInRefused(_ instance: String, _ reason: String) {
        entries[instance]?.logInFault = reason
    }
    mutating func processEnded(_ instance: String) { entries[instance]?.isOfEndedProcess = true }

    mutating func recovered(_ instance: String) {
        entries[instance]?.lastError = nil
        entries[instance]?.isSevere = false
        entries[instance]?.isOfEndedProcess = false
    }
}
