import HubWire

/// What the hub has seen of each instance since it started: for `hub status`.
struct InstanceLedger {
    struct Entry {
        var sessions = 0
        var records: Int64 = 0
        /// By the hub's clock, microseconds since 1970.
        var lastRecord: Int64?
        var lastError: String?
    }
    private(set) var entries: [String: Entry] = [:]
    /// LIVE and EVENT messages beyond the allowance, of sessions that are over.
    private(set) var droppedBefore: Int64 = 0

    subscript(instance: String) -> Entry { entries[instance] ?? Entry() }

    mutating func sessionBegan(_ hello: Hello) {
        entries[hello.instance, default: Entry()].sessions += 1
    }

    mutating func sessionEnded(_ hello: Hello) {
        entries[hello.instance, default: Entry()].sessions -= 1
    }

    mutating func stored(_ count: Int, of instance: String, at time: Int64) {
        guard count > 0 else { return }
        entries[instance, default: Entry()].records += Int64(count)
        entries[instance, default: Entry()].lastRecord = time
    }

    mutating func failed(_ instance: String, _ reason: String) {
        entries[instance, default: Entry()].lastError = reason
    }

    mutating func recovered(_ instance: String) {
        entries[instance]?.lastError = nil
    }
}
