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
    /// The `hub.conf` that the set-up will write, which the hub waits for; absent if there is one.
    public var setup: String?

    package init(
        hub: String, version: String, epoch: String, head: Int64, records: Int64?, inbox: Int64?, implausible: Int64?,
        time: String, clock: String, uptime: Double, endpoints: Endpoints, store: StoreState, backup: Backup?,
        erasure: Erasure?, retention: [RetentionReport]?, retentionHeld: String?, plugins: [PluginStatus],
        sessions: [SessionStatus], accounts: [AccountStatus], sinks: [SinkStatus], persons: [PersonStatus],
        devices: [DeviceStatus], residentBytes: Int64, memory: Memory?, dropped: Int64,
        setup: String?
    ) {
        (self.hub, self.version, self.epoch, self.head) = (hub, version, epoch, head)
        (self.records, self.inbox, self.implausible) = (records, inbox, implausible)
        (self.time, self.clock, self.uptime) = (time, clock, uptime)
        (self.endpoints, self.store, self.backup, self.erasure) = (endpoints, store, backup, erasure)
        (self.retention, self.retentionHeld) = (retention, retentionHeld)
        (self.plugins, self.sessions, self.accounts, self.sinks) = (plugins, sessions, accounts, sinks)
        (self.persons, self.devices) = (persons, devices)
        (self.residentBytes, self.memory, self.dropped, self.setup) = (residentBytes, memory, dropped, setup)
    }

    public struct Endpoints: Codable, Hashable, Sendable {
        public var door, feed: String
        /// The endpoint for plugins on other machines; absent if there are none.
        public var tcp: String?
        /// Why no client can connect to `tcp`.
        public var tcpFault: String?

        package init(door: String, feed: String, tcp: String? = nil, tcpFault: String? = nil) {
            (self.door, self.feed, self.tcp, self.tcpFault) = (door, feed, tcp, tcpFault)
        }
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

        package init(
            limit: Int64?, atDoor: Int64, mostOf: String?, recordsForStore: Int64, onFeeds: Int64, credit: Int64
        ) {
            (self.limit, self.atDoor, self.mostOf) = (limit, atDoor, mostOf)
            (self.recordsForStore, self.onFeeds, self.credit) = (recordsForStore, onFeeds, credit)
        }
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

        public var isWell: Bool { state == "ok" }

        package init(path: String, state: String, free: Int64?, size: Int64?, log: Int64?, warning: String?) {
            (self.path, self.state, self.warning) = (path, state, warning)
            (self.free, self.size, self.log) = (free, size, log)
        }
    }

    public struct Backup: Codable, Hashable, Sendable {
        /// The path that it was written to; its medium may be absent now.
        public var path: String
        /// When it was begun, RFC 3339; absent if its name does not contain the time.
        public var time: String?
        /// How many newer sequences the store has; absent after a restore of another backup.
        public var behind: Int64?

        package init(path: String, time: String?, behind: Int64?) {
            (self.path, self.time, self.behind) = (path, time, behind)
        }
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

        package init(
            records: Int64?, left: Int64?, named: Int64, waitingFor: [String], failed: Int64?, faults: [ErasureFailure]?
        ) {
            (self.records, self.left, self.named, self.waitingFor) = (records, left, named, waitingFor)
            (self.failed, self.faults) = (failed, faults)
        }
    }

    public struct Check: Codable, Hashable, Sendable {
        /// Pages of 4 KiB.
        public var read, pages: Int64
        /// RFC 3339; absent until it has been done once.
        public var whole: String?

        package init(read: Int64, pages: Int64, whole: String?) {
            (self.read, self.pages, self.whole) = (read, pages, whole)
        }
    }

    /// The records that an instance or script gave, by result: received = stored + versions + retractions + duplicates + rejected.
    public struct AccountStatus: Codable, Hashable, Sendable {
        public var instance: String
        public var received, stored, versions, retractions, duplicates, rejected: Int64

        package init(
            instance: String, received: Int64, stored: Int64, versions: Int64, retractions: Int64, duplicates: Int64,
            rejected: Int64
        ) {
            (self.instance, self.received, self.stored, self.versions) = (instance, received, stored, versions)
            (self.retractions, self.duplicates, self.rejected) = (retractions, duplicates, rejected)
        }
    }

    public struct SessionStatus: Codable, Hashable, Sendable {
        public var instance, plugin, version, mode: String
        /// `owner`, `plugin` or `remote`.
        public var endpoint: String

        package init(instance: String, plugin: String, version: String, mode: String, endpoint: String) {
            (self.instance, self.plugin, self.version) = (instance, plugin, version)
            (self.mode, self.endpoint) = (mode, endpoint)
        }
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
        public struct Origin: RawRepresentable, Codable, Hashable, Sendable {
            public let rawValue: String
            public init(rawValue: String) { self.rawValue = rawValue }

            public static let configuration = Origin(rawValue: "hub.conf")
            public static let record = Origin(rawValue: "record")
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
