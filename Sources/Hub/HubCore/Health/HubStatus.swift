import HubStore
public import HubWire

/// The state of the hub and its plugins, as `hub status --json` prints it and the door returns it to the owner.
public struct HubStatus: Codable, Hashable, Sendable {
    /// The store's permanent random name.
    public var hub: String
    /// The program's version.
    public var version: String
    public var epoch: String
    /// The newest sequence.
    public var head: Int64
    /// Stored identities, including retracted ones; absent while the store cannot be read.
    public var records: Int64?
    /// Records that wait for a person to assign them.
    ///
    /// Absent while the store cannot be read.
    public var inbox: Int64?
    /// Implausible samples that no person has confirmed; absent while the store cannot be read.
    public var implausible: Int64?
    /// By the hub's clock, RFC 3339.
    public var time: String
    public var clock: String
    /// Seconds since the start.
    public var uptime: Double
    public var endpoints: Endpoints
    public var store: StoreState
    /// The newest backup that `hub backup` has made; absent if there is none.
    public var backup: Backup?
    /// The erasure in progress, and erased records that sinks must be notified of; absent if there are none.
    public var erasure: Erasure?
    /// The last effect of the retention rules of `hub.conf`; absent before the first time.
    public var retention: [RetentionReport]?
    /// Why the rules are suspended, because the clock is too far ahead; absent if they are not.
    public var retentionHeld: String?
    public var plugins: [PluginStatus]
    public var sessions: [SessionStatus]
    public var accounts: [AccountStatus]
    public var sinks: [SinkStatus]
    public var persons: [PersonStatus]
    /// The devices that plugins have reported, even before the last start of the hub.
    public var devices: [DeviceStatus]
    /// Resident memory of the hub, in bytes.
    public var residentBytes: Int64
    /// The part of it that programs cause; absent if the hub does not report it.
    public var memory: Memory?
    /// LIVE and EVENT messages beyond the allowance.
    public var dropped: Int64

    public struct Endpoints: Codable, Hashable, Sendable {
        public var door, feed: String
        /// The endpoint for plugins on other machines; absent if there are none.
        public var tcp: String?
        /// Why no client can connect to `tcp`.
        public var tcpFault: String?
    }

    /// The memory that sessions and listeners make the hub hold, in bytes unless noted otherwise.
    public struct Memory: Codable, Hashable, Sendable {
        /// `memory_limit`; absent without one.
        public var limit: Int64?
        /// Messages that have come in and are not read yet.
        public var atDoor: Int64
        /// The instance that most of them are from.
        public var mostOf: String?
        /// Records that wait for their commit.
        public var recordsForStore: Int64
        /// The last messages of all feeds, which a listener that does not read may keep in memory.
        public var onFeeds: Int64
        /// The credit of all sessions together.
        public var credit: Int64
    }

    public struct StoreState: Codable, Hashable, Sendable {
        public var path: String
        /// `ok`, or the kind of failure: `full`, `readOnly`, …; `hanging` while its disk does not answer.
        public var state: String
        public var error: String?
        /// Bytes that can still be written to its disk; absent if the system does not report them.
        public var free: Int64?
        /// The size of its file; absent if the system does not report it.
        public var size: Int64?
        /// The size of its write-ahead log.
        public var log: Int64?
        /// The progress of reading the whole store again, and the time of the last complete read without damage.
        public var check: Check?
        /// A condition that will become a failure unless a person acts, with the remedy: little space, a growing log.
        public var warning: String?
    }

    public struct Backup: Codable, Hashable, Sendable {
        /// The path that it was written to; its medium may be absent now.
        public var path: String
        /// When it was begun, RFC 3339; absent if its name does not contain the time.
        public var time: String?
        /// How many newer sequences the store has; absent after a restore of another backup.
        public var behind: Int64?
    }

    public struct Erasure: Codable, Hashable, Sendable {
        /// Records of the erasure in progress, and how many of them are still to be erased; absent if there is none.
        public var records, left: Int64?
        /// Erased records that keep their identity until the sinks in ``waitingFor`` have been notified.
        public var named: Int64
        public var waitingFor: [String]
        /// How many records could not be erased so far, with the first ones in ``faults``; absent if there are none.
        ///
        /// They are tried again every hour.
        public var failed: Int64?
        public var faults: [ErasureFailure]?
    }

    public struct Check: Codable, Hashable, Sendable {
        /// Pages of 4 KiB.
        public var read, pages: Int64
        /// RFC 3339; absent until it has been done once.
        public var whole: String?
    }

    /// The records that an instance or script gave, by result: received = stored + versions + retractions + duplicates + rejected.
    public struct AccountStatus: Codable, Hashable, Sendable {
        public var instance: String
        public var received, stored, versions, retractions, duplicates, rejected: Int64

        /// Whether it counts manual changes, and the notices that a record has left a person.
        public var isByHand: Bool { instance == IntakeCounts.hand }
    }

    public struct SessionStatus: Codable, Hashable, Sendable {
        public var instance, plugin, version, mode: String
        /// `owner`, `plugin` or `remote`.
        public var endpoint: String
    }

    public struct DeviceStatus: Codable, Hashable, Sendable {
        /// The plugin that reported the device.
        public var instance: String
        public var device: String
        /// Absent while it is not known.
        public var connected: Bool?
        /// Percent; absent if the device does not report it.
        public var battery: Int?
        public var batteryLow: Bool
        /// In words for people, until it is resolved.
        public var lastError: String?
        /// The device's own number of the error, if it has one.
        public var lastErrorCode: Int64?
        /// `warning` or `error`; absent if the hub no longer knows it.
        public var lastErrorSeverity: String?
        /// RFC 3339.
        public var lastErrorAt: String?
        /// When it was last connected or gave a record, RFC 3339; absent if it never was.
        public var lastHeard: String?

        public init(
            instance: String, device: String, connected: Bool? = nil, battery: Int? = nil, batteryLow: Bool = false,
            lastError: String? = nil, lastErrorCode: Int64? = nil, lastErrorSeverity: String? = nil,
            lastErrorAt: String? = nil, lastHeard: String? = nil
        ) {
            (self.instance, self.device, self.connected) = (instance, device, connected)
            (self.battery, self.batteryLow) = (battery, batteryLow)
            (self.lastError, self.lastErrorCode) = (lastError, lastErrorCode)
            self.lastErrorSeverity = lastErrorSeverity
            (self.lastErrorAt, self.lastHeard) = (lastErrorAt, lastHeard)
        }
    }

    public struct PersonStatus: NamedPerson, Codable, Hashable, Sendable {
        public var name: String
        public var displayName: String?
        public var uid: String
        public var zone: String?
        /// As in WELCOME.
        public var locale: String?
        public var units: [String: String]?
        /// By type; only in the answer to `persons`.
        public var characteristics: [String: Characteristic]?

        public init(
            name: String, displayName: String? = nil, uid: String, zone: String? = nil, locale: String? = nil,
            units: [String: String]? = nil
        ) {
            (self.name, self.displayName, self.uid) = (name, displayName, uid)
            (self.zone, self.locale, self.units) = (zone, locale, units)
        }
    }

    /// A characteristic of a person, such as the date of birth.
    public struct Characteristic: Codable, Hashable, Sendable {
        /// The source of a value.
        public enum Origin: String, Codable, Hashable, Sendable {
            case configuration = "hub.conf"
            case record
        }

        /// The value of a record that does not count.
        public struct Overruled: Codable, Hashable, Sendable {
            public var value: String?
            public var number: Int64?
            public var start: String?

            public init(value: String? = nil, number: Int64? = nil, start: String? = nil) {
                (self.value, self.number, self.start) = (value, number, start)
            }
        }

        /// `nil` if not set.
        public var value: String?
        /// `nil` if no source has ever given a value.
        public var from: Origin?
        /// The record with the value, and the start of its validity.
        public var number: Int64?
        public var start: String?
        public var overruled: Overruled?

        public init(
            value: String? = nil, from: Origin? = nil, number: Int64? = nil, start: String? = nil,
            overruled: Overruled? = nil
        ) {
            (self.value, self.from, self.number) = (value, from, number)
            (self.start, self.overruled) = (start, overruled)
        }
    }
}

/// One `[plugin.…]` of `hub.conf` and its three lamps.
public struct PluginStatus: Codable, Hashable, Sendable {
    public var name: String
    public var kind: String
    public var enabled: Bool
    public var executable: String?
    /// Whether it runs on another machine and comes with a key.
    public var remote: Bool?
    public var state: InstanceState
    /// Seconds until it is started again; absent if it will not be.
    public var restartIn: Double?
    /// When its program runs, if not always: `immediate`, `hourly`, `daily`, `weekly`.
    public var run: String?
    /// Of such a program: its last start, and the earliest time of its next start, RFC 3339.
    public var lastRun: String?
    public var nextRun: String?
    /// Process id while it runs.
    public var pid: Int?
    /// Whether it runs and has a session.
    public var alive: Bool
    /// Whether it gave a record within the last day by the hub's clock; absent until it gave one.
    public var fresh: Bool?
    /// Whether everything wanted was delivered; absent for a plugin without subscriptions.
    public var delivering: Bool?
    /// Processes started after the first.
    public var restarts: Int
    public var lastError: String?
    /// Whether it has reported an error, of itself or a device, that is not resolved; absent if it has not.
    public var hasError: Bool?
    /// One line if something is wrong: the problem and the remedy, with the command; follows the name.
    public var advice: String?
    /// Its log-ins; absent if it has none.
    public var tokens: [TokenStatus]?
    /// Whether it runs with its former settings because it failed with those of `hub.conf`.
    public var isFallback: Bool?
    /// When it last gave a record, RFC 3339.
    public var lastRecord: String?
    /// Records it gave since the hub started.
    public var records: Int64
    public var sessions: Int

    /// - Parameter fault: why it cannot be started at all.
    init(name: String, kind: String, enabled: Bool, executable: String?, fault: String? = nil) {
        (self.name, self.kind, self.enabled, self.executable) = (name, kind, enabled, executable)
        (lastError, alive, restarts, records, sessions) = (fault, false, 0, 0, 0)
        state = !enabled ? .disabled : fault == nil ? .stopped : .failed
        advice = fault.map { "\($0); then hub apply" }
    }
}

extension ErasureFailure {
    init(_ fault: ErasureFault) { self.init(number: fault.number, reason: fault.reason) }
}
