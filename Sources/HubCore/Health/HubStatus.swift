import HubSessions
public import HubSettings
import HubStore

/// How the hub and its plugins are: what `hub status --json` prints and the door answers to the owner.
public struct HubStatus: Codable, Hashable, Sendable {
    /// The store's permanent random name.
    public var hub: String
    /// The program's version.
    public var version: String
    public var epoch: String
    /// The newest sequence.
    public var head: Int64
    /// Identities that are stored, retracted ones included; absent while the store cannot be read.
    public var records: Int64?
    /// Records that wait for a person to say whose they are.
    ///
    /// Absent while the store cannot be read.
    public var inbox: Int64?
    /// Implausible samples that no person has confirmed; absent as well.
    public var implausible: Int64?
    /// By the hub's clock, RFC 3339.
    public var time: String
    public var clock: String
    /// Seconds since the start.
    public var uptime: Double
    public var endpoints: Endpoints
    public var store: StoreState
    /// The newest backup that `hub backup` has made; absent where it has made none.
    public var backup: Backup?
    /// What is being erased, and what is still to be told of erased records; absent where there is neither.
    public var erasure: Erasure?
    /// What the retention rules of `hub.conf` did when they were last followed; absent before that.
    public var retention: [RetentionReport]?
    /// Why they are not followed now: the clock is too far ahead; absent when they are.
    public var retentionHeld: String?
    public var plugins: [PluginStatus]
    public var sessions: [SessionStatus]
    public var accounts: [AccountStatus]
    public var sinks: [SinkStatus]
    public var persons: [PersonStatus]
    /// What plugins have told of their devices, also before the hub was started again.
    public var devices: [DeviceStatus]
    /// Memory the hub holds.
    public var residentBytes: Int64
    /// What of it programs cause; absent in a status of a hub that does not say.
    public var memory: Memory?
    /// LIVE and EVENT messages beyond the allowance.
    public var dropped: Int64

    public struct Endpoints: Codable, Hashable, Sendable {
        public var door, feed: String
        /// Where plugins on other machines come in; absent where none do.
        public var tcp: String?
        /// Why no client can come in there.
        public var tcpFault: String?
    }

    /// What sessions and listeners make the hub hold, in bytes unless said otherwise.
    public struct Memory: Codable, Hashable, Sendable {
        /// `memory_limit`; absent without one.
        public var limit: Int64?
        /// Messages that have come in and are not read yet.
        public var atDoor: Int64
        /// The instance of which most of them are.
        public var mostOf: String?
        /// Records that wait for their commit.
        public var recordsForStore: Int64
        /// The last messages of all feeds: what a listener that does not read may keep.
        public var onFeeds: Int64
        /// What all sessions together may send at a time.
        public var credit: Int64
    }

    public struct StoreState: Codable, Hashable, Sendable {
        public var path: String
        /// `ok`, or the kind of failure: `full`, `readOnly`, …; `hanging` while its disk does not answer.
        public var state: String
        public var error: String?
        /// Bytes that can still be written to its disk; absent where the system does not say.
        public var free: Int64?
        /// The size of its file; absent where the system does not say.
        public var size: Int64?
        /// The size of its write-ahead log.
        public var log: Int64?
        /// How far the hub has come with reading all of the store again, and when that was last done and all was whole.
        public var check: Check?
        /// What will become a failure unless a person looks after it, and what to do: little room, a log that grows.
        public var warning: String?
    }

    public struct Backup: Codable, Hashable, Sendable {
        /// Where it was written; whether its medium is there now is not known.
        public var path: String
        /// When it was begun, RFC 3339; absent where its name does not say.
        public var time: String?
        /// How many sequences the store has beyond it; absent after a restore of another backup.
        public var behind: Int64?
    }

    public struct Erasure: Codable, Hashable, Sendable {
        /// Records of the erasure under way, and how many of them are still to be erased; absent where there is none.
        public var records, left: Int64?
        /// Erased records that keep their identity until these sinks have been told.
        public var named: Int64
        public var waitingFor: [String]
        /// How many records could not be erased so far, and the first of them; absent where all could.
        ///
        /// They are tried again every hour.
        public var failed: Int64?
        public var faults: [Fault]?

        public struct Fault: Codable, Hashable, Sendable {
            public var number: Int64
            public var reason: String

            init(_ fault: ErasureFault) { (number, reason) = (fault.number, fault.reason) }
        }
    }

    public struct Check: Codable, Hashable, Sendable {
        /// Pages of 4 KiB.
        public var read, pages: Int64
        /// RFC 3339; absent until it has been done once.
        public var whole: String?
    }

    /// What an instance or script gave, and what became of it: received = stored + versions + retractions + duplicates + rejected.
    public struct AccountStatus: Codable, Hashable, Sendable {
        public var instance: String
        public var received, stored, versions, retractions, duplicates, rejected: Int64

        /// Whether it is of what people do by hand, and of what tells that a record has left a person.
        public var isByHand: Bool { instance == Account.hand }
    }

    public struct SessionStatus: Codable, Hashable, Sendable {
        public var instance, plugin, version, mode: String
        /// `owner`, `plugin` or `remote`.
        public var endpoint: String
    }

    public struct DeviceStatus: Codable, Hashable, Sendable {
        /// The plugin that told of it.
        public var instance: String
        public var device: String
        /// Absent while it is not known.
        public var connected: Bool?
        /// Percent; absent where the device does not say.
        public var battery: Int?
        public var batteryLow: Bool
        /// In words for people, until it is over.
        public var lastError: String?
        /// The device's own number of it, where it has one.
        public var lastErrorCode: Int64?
        /// `warning` or `error`; absent where the hub does not know any more.
        public var lastErrorSeverity: String?
        /// RFC 3339.
        public var lastErrorAt: String?
        /// When it was last connected or gave something, RFC 3339; absent where it never was.
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
        /// As WELCOME says them.
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

    /// What is known of a person themselves, such as the date of birth.
    public struct Characteristic: Codable, Hashable, Sendable {
        /// Where a value is written.
        public enum Origin: String, Codable, Hashable, Sendable {
            case configuration = "hub.conf"
            case record
        }

        /// What a record says that does not hold.
        public struct Overruled: Codable, Hashable, Sendable {
            public var value: String?
            public var number: Int64?
            public var start: String?

            public init(value: String? = nil, number: Int64? = nil, start: String? = nil) {
                (self.value, self.number, self.start) = (value, number, start)
            }
        }

        /// `nil`: not set.
        public var value: String?
        /// `nil` where nothing was ever said of it.
        public var from: Origin?
        /// The record that says it, and from when on.
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
    public var state: PluginState
    /// Seconds until it is started again, where that is going to happen.
    public var restartIn: Double?
    /// When its program runs, where that is not always: `immediate`, `hourly`, `daily`, `weekly`.
    public var run: String?
    /// Of such a program: when it was started last, and before when it is not started again, RFC 3339.
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
    /// Whether it has told of an error, of itself or a device, that is not over; absent where it has not.
    public var hasError: Bool?
    /// One line when something is wrong: what it is and what to do, with the command; to be read after the name.
    public var advice: String?
    /// Its log-ins; absent for what has none.
    public var tokens: [TokenStatus]?
    /// Whether it runs with its former settings, because with those of `hub.conf` it turned sick.
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

/// What the hub does with an instance's process.
public enum PluginState: String, Codable, Hashable, Sendable, CaseIterable {
    /// `hub.conf` says so.
    case disabled
    /// Started, and has not greeted the hub yet.
    case starting
    /// Has greeted the hub.
    case running
    /// Its process lives without a session.
    case silent
    /// Told to end.
    case ending
    /// Ended; started again after a pause.
    case restarting
    /// Crashed too often; waits for `hub release`.
    case quarantined
    /// Cannot run as it is; a person has to mend it.
    case failed
    /// Ended by itself with nothing more to do.
    case finished
    /// Runs now and then (`run` in its section), and not now.
    case resting
    /// On another machine, and has no session.
    case away
    /// Not started, or ended with the hub.
    case stopped
}
