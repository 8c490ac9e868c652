import HubWire

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
    ///   - isGrave: whether it is an error, not a warning.
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
