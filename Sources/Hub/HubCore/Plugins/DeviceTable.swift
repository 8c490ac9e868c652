import FoundationEssentials
import HubWire

/// The devices that the instances of `hub.conf` have reported, in this run of the hub or an earlier one: for `hub status`.
struct DeviceTable: Hashable, Sendable {
    struct Entry: Hashable, Sendable, Codable {
        /// `nil` while its plugin has no session, and before the plugin has reported it; not kept beyond the hub's run.
        var isConnected: Bool?
        /// Percent.
        var battery: Int?
        var isBatteryLow = false
        var lastError: Fault?
        /// By the hub's clock, microseconds since 1970; `nil` if it was never reached.
        var heardAt: Int64?

        private enum CodingKeys: String, CodingKey { case battery, isBatteryLow, lastError, heardAt }

        /// The time of the last sign of the device or of the last report about it.
        fileprivate var latest: Int64 { max(heardAt ?? .min, lastError?.at ?? .min) }
    }

    /// An error of a device, in words for people.
    struct Fault: Hashable, Sendable, Codable {
        var text: String
        /// The device's own number of the error.
        var code: Int64?
        /// Unknown for errors that an older hub stored.
        var severity: DeviceEvent.Severity?
        /// As ``Entry/heardAt``.
        var at: Int64
    }
    private var entries: [String: [String: Entry]] = [:]

    /// Maximum number of devices of an instance; above it, the device with the oldest report is forgotten.
    static let most = 16
    private static let longest = (device: 64, text: 300)
    /// Percent at which a battery counts as low, if the device does not report that itself.
    private static let low = 15

    /// The state of an earlier run of the hub.
    init(remembered: [String: [String: Entry]] = [:]) { entries = remembered }

    /// The state for the next run, by instance and device.
    var memory: [String: [String: Entry]] { entries }

    /// Sorted by instance and device.
    var all: [(instance: String, device: String, entry: Entry)] {
        entries.sorted { $0.key < $1.key }.flatMap { instance, devices in
            devices.sorted { $0.key < $1.key }.map { (instance, $0.key, $0.value) }
        }
    }

    mutating func note(_ event: DeviceEvent, of instance: String, at time: Int64) {
        guard let name = event.device.map({ String($0.prefix(Self.longest.device)) }) else {
            // An event that resolves an error without naming a device resolves it for all of them.
            if event.isResolved { change(instance) { $0.lastError = nil } }
            return
        }
        var entry = entries[instance]?[name] ?? Entry()
        let wasConnected = entry.isConnected == true
        switch event.event {
        case "connected": (entry.isConnected, entry.heardAt) = (true, time)
        case "disconnected": entry.isConnected = false
        case "battery":
            Self.note(battery: event, in: &entry)
            entry.heardAt = time
        default: break
        }
        if event.isResolved {
            entry.lastError = nil
        } else if event.isError {
            let text = String((event.text ?? event.event).prefix(Self.longest.text))
            entry.lastError = Fault(text: text, code: event.code, severity: event.severity, at: time)
        }
        // If the plugin does not reach the device, the event comes from the plugin alone: the device was not heard.
        if wasConnected { entry.heardAt = time }
        entries[instance, default: [:]][name] = entry
        if let devices = entries[instance], devices.count > Self.most,
            let oldest = devices.min(by: { $0.value.latest < $1.value.latest })
        {
            entries[instance]?[oldest.key] = nil
        }
    }

    /// Notes that a known device has given a record.
    mutating func heard(_ device: String, of instance: String, at time: Int64) {
        entries[instance]?[String(device.prefix(Self.longest.device))]?.heardAt = time
    }

    /// Whether any devices of an instance are known.
    func knows(_ instance: String) -> Bool { entries[instance] != nil }

    /// Whether the tables differ at most in the times when the devices were heard.
    func isEquivalent(as other: DeviceTable) -> Bool {
        func still(_ table: DeviceTable) -> [String: [String: Entry]] {
            table.entries.mapValues { devices in
                devices.mapValues { entry in
                    var entry = entry
                    entry.heardAt = nil
                    return entry
                }
            }
        }
        return still(self) == still(other)
    }

    /// Notes that an instance has no session now, so that it is unknown whether its devices are connected.
    mutating func lost(_ instance: String) { change(instance) { $0.isConnected = nil } }

    /// Keeps these instances, and forgets the others.
    ///
    /// An error without the device's own number concerns the connection to the device, which changed settings may have fixed. An instance
    /// that restarts reports it again if it persists.
    /// - Parameter restarting: instances that restart with other settings or another program.
    mutating func adopt(instances: some Sequence<String>, restarting: Set<String> = []) {
        let kept = Set(instances)
        entries = entries.filter { kept.contains($0.key) }
        for instance in restarting {
            change(instance) { if $0.lastError?.code == nil { $0.lastError = nil } }
        }
    }

    private mutating func change(_ instance: String, _ body: (inout Entry) -> Void) {
        for name in (entries[instance] ?? [:]).keys {
            if var entry = entries[instance]?[name] {
                body(&entry)
                entries[instance]?[name] = entry
            }
        }
    }

    private static func note(battery event: DeviceEvent, in entry: inout Entry) {
        struct Battery: Decodable {
            var percent: Double?
            var low: Bool?
        }
        let told = event.data.flatMap { try? JSONDecoder().decode(Battery.self, from: Data($0.bytes)) }
        if let percent = told?.percent, (0...100).contains(percent) { entry.battery = Int(percent.rounded()) }
        entry.isBatteryLow = told?.low ?? (told?.percent.map { $0 <= Double(low) } ?? (event.severity != .info))
    }
}

extension DeviceEvent {
    /// Whether `hub status` keeps the event until it is resolved: an error, or a warning with the name `error`.
    var isError: Bool { severity == .error || event == "error" && severity == .warning }
}
