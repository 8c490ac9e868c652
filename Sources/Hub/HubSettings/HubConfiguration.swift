import Foundation
public import HealthText
public import HubWire
public import Samples

/// The content of `hub.conf`, checked and with every default filled in.
public struct HubConfiguration: Sendable, Hashable {
    /// The table `[hub]`.
    public var hub: HubSection
    /// In the order of the file.
    public var persons: [PersonSection]
    /// The instances without errors, enabled or not, in the order of the file.
    public var plugins: [PluginInstance]
    /// Retention rules in the order of the file; records that no rule covers are kept for ever.
    public var retention: [RetentionSection] = []
    /// In the order of the file: the first that applies to a type and person counts.
    public var priorities: [PrioritySection] = []

    /// A configuration of these parts; nothing is checked.
    public init(hub: HubSection, persons: [PersonSection], plugins: [PluginInstance]) {
        (self.hub, self.persons, self.plugins) = (hub, persons, plugins)
    }
}

/// The table `[hub]`.
public struct HubSection: Sendable, Hashable {
    /// Absolute directory of the store.
    public var data: String
    /// Absolute directory of the ipc sockets named by ``socketNames``.
    public var run: String
    /// The clock that the hub and its plugins use.
    public var clock: ClockSetting
    /// Resident memory at which the hub ends cleanly; 1 GiB by default.
    ///
    /// Nil, which only programs can set, means no limit.
    public var memoryLimit: ByteSize?
    /// The least severe level that is logged.
    public var logLevel: LogLevel
    /// Whether raw payloads are kept, if an instance does not set it.
    public var keepRaw: Bool
    /// IANA zone of persons without a zone; nil: the machine's.
    public var zone: String?
    /// Maximum number of LIVE and EVENT messages of an instance that reach the feed each second; the hub drops the rest.
    public var livePerSecond: Int

    /// The endpoint for plugins on other machines, which connect with keys; nil: none.
    public var tcp: TCPEndpoint?
    /// Whether ``tcp`` has no keys and no encryption; it is then a loopback address.
    public var isInsecure: Bool

    /// The least probability, above 0.5, at which a record is assigned to a person by weight.
    public var assignCertainty = Self.usualAssignCertainty

    /// With this value at most one doubtful record in twenty goes to the wrong person.
    public static let usualAssignCertainty = 0.95
    /// More than a scale or a watch sends; a waveform stream needs more.
    public static let usualLivePerSecond = 50

    /// The sockets below ``run`` that every hub has; each running instance also has `feed-N`, which is not longer than these.
    public static let socketNames = ["door", "feed", "plugin-door"]
    /// Maximum length in bytes of a Unix socket path (`sockaddr_un.sun_path` less its NUL, Linux).
    public static let longestSocketPath = 107

    /// The level of logging; the names are those of swift-log.
    public enum LogLevel: String, Sendable, Hashable, CaseIterable {
        case trace, debug, info, notice, warning, error, critical
    }

    /// Makes a section of these values without checks.
    public init(
        data: String, run: String, clock: ClockSetting = .system, memoryLimit: ByteSize? = nil,
        logLevel: LogLevel = .info, keepRaw: Bool = false, zone: String? = nil,
        livePerSecond: Int = usualLivePerSecond, tcp: TCPEndpoint? = nil, isInsecure: Bool = false
    ) {
        (self.data, self.run, self.clock, self.memoryLimit) = (data, run, clock, memoryLimit)
        (self.logLevel, self.keepRaw, self.zone) = (logLevel, keepRaw, zone)
        (self.livePerSecond, self.tcp, self.isInsecure) = (livePerSecond, tcp, isInsecure)
    }
}

/// A table `[person.<name>]`.
///
/// A setting that is not written is nil: the hub guesses nothing about a body.
public struct PersonSection: NamedPerson, Sendable, Hashable {
    /// The name of the table.
    public var name: String
    /// The name shown to people, with any letters, precomposed; nil: ``name``.
    public var displayName: String?
    /// Centimetres.
    public var height: Double?
    /// For formulas of body composition.
    public var sex: PersonProfile.Sex?
    /// For formulas of body composition.
    public var birthDate: LocalDate?
    /// Whether scales use their formulas for athletes.
    public var athlete: Bool?
    /// The unit in which weights are shown to this person: a short form of ``units`` for body masses.
    public var unit: PersonProfile.Unit?
    /// The unit, in HealthKit's spelling, in which values of a type are shown to this person.
    public var units: [TypeID: String] = [:]
    /// Language and region for numbers, dates and units, such as `de_DE`; nil: this machine's.
    public var locale: String?
    /// IANA zone of persons without a zone; nil: the machine's.
    public var zone: String?
    /// Position of this person on a scale, by instance.
    public var slots: [String: Int]
    /// Kilograms.
    public var expectedWeight: Double?
    /// The tolerance of ``expectedWeight`` in kilograms; nil: ``usualWeightTolerance``.
    public var weightTolerance: Double?

    /// The usual accuracy with which people know their own weight over a season.
    public static let usualWeightTolerance = 3.0

    /// A person with only a name.
    public init(name: String) {
        self.name = name
        slots = [:]
    }

    /// The way in which this person reads values, as far as `hub.conf` defines it.
    public var reader: DisplayPreferences {
        DisplayPreferences(
            displayName: displayName, locale: locale.flatMap(DisplayPreferences.locale), units: units,
            weightUnit: unit?.rawValue,
            zone: zone.flatMap { TimeZone(identifier: $0) })
    }
}

/// A table `[plugin.<instance>]`.
public struct PluginInstance: Sendable, Hashable {
    /// The persons whose records an instance deals with.
    public enum Persons: Sendable, Hashable {
        case all
        case only([String])
    }

    /// The permissions of the instance; nil grants everything that its manifest asks for.
    public struct Grants: Sendable, Hashable {
        /// Types it may read.
        public var read: [String]?
        /// Types it may write.
        public var write: [String]?
        /// The services that it may reach beyond its files: words of its manifest's `reaches`.
        public var reach: [String]?
        /// The limit on how far back it may read; nil: no limit.
        public var history: HistoryLimit?
        /// The owner's rights that it may use: words of ``OwnerRight``, or ``OwnerRight/all``; nil: none.
        public var owner: [String]?

        /// Makes a section of these values without checks.
        public init(
            read: [String]? = nil, write: [String]? = nil, reach: [String]? = nil, history: HistoryLimit? = nil,
            owner: [String]? = nil
        ) {
            (self.read, self.write, self.reach, self.history) = (read, write, reach, history)
            self.owner = owner
        }
    }

    /// The times at which its program runs.
    public enum Run: String, Sendable, Hashable, CaseIterable {
        case always
        /// It runs while work waits for it and then ends: it starts at once, or at most once in that time.
        case immediate, hourly, daily, weekly
    }

    /// The name of the table.
    public var name: String
    /// Whether the hub starts it.
    public var enabled: Bool
    /// The plugin's kind; the instance's name by default.
    public var kind: String
    /// A name to look up beside the hub and in `PATH`, or an absolute path; `hub-<kind>` by default.
    public var executable: String
    /// The persons whose records it deals with; all by default.
    public var persons: Persons
    /// Grants that narrow the permissions its manifest asks for.
    public var grants: Grants
    /// Whether raw payloads are kept, if an instance does not set it.
    public var keepRaw: Bool
    /// Resident memory at which its process is restarted; 512 MiB by default.
    public var memoryLimit: ByteSize
    /// Whether it runs on another machine, or is started by others than the hub, and connects to ``HubSection/tcp`` with a key.
    public var isRemote = false
    /// The factor on the limits for each instance: streams, sources, words and the like.
    public var limitFactor = 1
    /// The port on which a remote instance may listen to its feed; nil if it does not listen.
    public var feedPort: Int?
    /// The confinement of its program.
    public var confinement = Confinement()
    public var run = Run.always
    /// The plugin's own settings, checked against its manifest, defaults included.
    ///
    /// Empty if the instance is disabled and its plugin is not installed.
    public var settings: [String: SettingValue]

    /// The confinement of an instance's program to the files and services that it needs.
    public struct Confinement: Sendable, Hashable {
        /// Whether it is confined; otherwise it may do everything that the hub's user may.
        public var isOn = true
        /// Absolute paths that it may read and execute too.
        public var readable: [String] = []

        public init() {}
    }

    /// Whether the hub starts a process for it.
    public var startsHere: Bool { enabled && !isRemote }
    /// Whether it may connect with a key.
    public var comesFromElsewhere: Bool { enabled && isRemote }

    /// Makes a section of these values without checks.
    public init(
        name: String, enabled: Bool = true, kind: String? = nil, executable: String? = nil, persons: Persons = .all,
        grants: Grants = Grants(), keepRaw: Bool = false, memoryLimit: ByteSize = Self.defaultMemoryLimit,
        settings: [String: SettingValue] = [:]
    ) {
        (self.name, self.enabled, self.kind) = (name, enabled, kind ?? name)
        self.executable = executable ?? "hub-\(kind ?? name)"
        (self.persons, self.grants, self.keepRaw, self.settings) = (persons, grants, keepRaw, settings)
        self.memoryLimit = memoryLimit
    }

    /// The memory limit if `hub.conf` sets none: many times the need of a well-behaved plugin.
    public static let defaultMemoryLimit = ByteSize(mebibytes: 512)
}

/// The result of reading `hub.conf`: the usable parts and all problems.
public struct LoadedConfiguration: Sendable {
    /// Nil if there is an error outside the plugin tables, or the file could not be read to its end.
    public var configuration: HubConfiguration?
    /// The content of `[hub]`, even if other tables have errors; nil if it cannot be read or has errors itself.
    public var hub: HubSection?
    /// Sorted by line.
    public var problems: [SettingsProblem]
    /// Instances with errors; they do not start, but other instances do.
    public var refusedInstances: [String]
    /// The enabled instances that start here; defaults replace wrong values, so that their programs can still check the other settings.
    public var askedInstances: [PluginInstance]
    /// Instances whose programs run on other machines, including those with errors.
    public var remoteInstances: Set<String>
    /// The confinement with which to start each instance's program to read its manifest; includes instances with errors.
    public var confinements: [String: PluginInstance.Confinement]

    public init(
        configuration: HubConfiguration?, hub: HubSection? = nil, problems: [SettingsProblem],
        refusedInstances: [String], askedInstances: [PluginInstance] = [], remoteInstances: Set<String> = [],
        confinements: [String: PluginInstance.Confinement] = [:]
    ) {
        (self.remoteInstances, self.confinements) = (remoteInstances, confinements)
        self.hub = configuration?.hub ?? hub
        (self.configuration, self.problems, self.refusedInstances) = (configuration, problems, refusedInstances)
        self.askedInstances = askedInstances
    }
}

extension HubConfiguration {
    /// Reads and checks the text of `hub.conf`.
    ///
    /// - Parameters:
    ///   - file: the name that messages show; relative paths in the file start at its directory.
    ///   - fileMode: the file's permission bits; a secret in clear is a warning unless they show that only the owner can read the file.
    ///   - manifests: returns the settings that an executable declares; called once per instance; nil if there is none or it does not answer.
    ///   - faults: by instance, the reason why there are no declared settings, and what to do.
    ///   - rights: by instance, the owner's rights that its manifest asks for; if they are unknown, grants of them are not checked.
    ///   - objections: by instance, the objections of its program to the settings of an earlier reading.
    /// - Returns: all problems at once. It reads only the files that `${file:…}` names. Any input gives a result.
    public static func load(
        text: String, file: String, fileMode: UInt16? = nil, environment: SettingsEnvironment,
        objections: [String: [SettingObjection]] = [:], faults: [String: String] = [:],
        rights: [String: [String]] = [:],
        manifests: (_ instance: String, _ executable: String) -> [SettingDeclaration]?
    ) -> LoadedConfiguration {
        var reader = ConfigurationReader(
            text: text, file: file, fileMode: fileMode, environment: environment, objections: objections,
            faults: faults, rights: rights)
        return reader.read(manifests: manifests)
    }

    /// The settings of `[hub]`.
    public static let hubDeclarations: [SettingDeclaration] = [
        .init(
            "data", .path,
            help: "Directory of the store; $XDG_DATA_HOME/health-hub or ~/.local/share/health-hub if not set."),
        .init(
            "run", .path,
            help: "Directory of the ipc sockets; $XDG_RUNTIME_DIR/health-hub or run below data if not set."),
        .init(
            "clock",
            .string(
                TextRule(
                    pattern: "system|.+@.+", expected: "\"system\" or START@RATE",
                    example: "2026-01-01T00:00:00Z@1440")),
            help: "The source of time: the machine, or a start and how many times faster it runs.",
            default: .string("system")),
        .init(
            "memory_limit", .size(Bounds(ByteSize(bytes: 64 << 20))),
            help: "Memory at which the hub leaves cleanly, to be restarted.", default: .string("1GiB")),
        .init(
            "log_level", .choice(HubSection.LogLevel.allCases.map(\.rawValue)), help: "How much is logged.",
            default: .string("info")),
        .init("keep_raw", .boolean, help: "Keep the raw payload of every record.", default: .boolean(false)),
        HouseholdSettings.zone,
        .init(
            "live_per_second", .integer(Bounds(1, 10_000_000)),
            help: "Passing values (LIVE, EVENT) that an instance may publish in a second.",
            default: .integer(Int64(HubSection.usualLivePerSecond))),
        .init(
            "tcp", .string(),
            help:
                "The address at which plugins on other machines connect with keys, such as tcp://0.0.0.0:7788; none if not set."
        ),
        .init(
            "insecure", .boolean,
            help: "No keys and no encryption: any program of this machine can act as any remote instance.",
            default: .boolean(false)),
        .init(
            "assign_certainty", .number(Bounds(0.51, 0.9999)),
            help: "Least probability with which a weight is given to a person; below it, it waits in the inbox.",
            default: .number(HubSection.usualAssignCertainty)),
    ]

    /// The settings of `[plugin.<instance>]` that the hub reads itself, except `persons` and `grants`.
    public static let pluginDeclarations: [SettingDeclaration] = [
        .init("enabled", .boolean, help: "Whether the hub starts this instance.", default: .boolean(true)),
        .init("executable", .string(), help: "Name or path of the plugin; hub-KIND if not set."),
        .init(
            "kind", .string(TextRule(pattern: namePattern, expected: nameRule, example: "ihealth-hs3")),
            help: "Kind of the plugin; the instance's name if not set."),
        .init("keep_raw", .boolean, help: "Keep the raw payload of this instance's records; as [hub] if not set."),
        .init(
            "memory_limit", .size(Bounds(ByteSize(mebibytes: 16))),
            help: "Memory at which its process is ended and started again.",
            default: .string(PluginInstance.defaultMemoryLimit.description)),
        .init(
            "run", .choice(PluginInstance.Run.allCases.map(\.rawValue)),
            help: "Always, or when something waits for it: at once, or at most once an hour, a day, a week.",
            default: .string(PluginInstance.Run.always.rawValue)),
        .init(
            "remote", .boolean, help: "Whether it runs on another machine and comes with a key (hub keys new).",
            default: .boolean(false)),
        .init(
            "confine", .boolean,
            help: "Whether its program is confined to its needs; set false only to debug it.",
            default: .boolean(true)),
        .init(
            "readable", .list(of: .path),
            help: "Files and folders that its program may read and execute too, such as a virtual environment."),
        .init(
            "feed_port", .integer(Bounds(1, 65_535)),
            help: "Port at the address of [hub] tcp on which a remote instance listens; it cannot if not set."),
        .init(
            "limit_factor", .integer(Bounds(1, 1_000)),
            help: "Times the usual limits on the streams, sources, words and versions that its records make.",
            default: .integer(1)),
    ]

    static let namePattern = "[A-Za-z0-9][A-Za-z0-9_.\\-]{0,63}"
    /// The rule for names of persons and instances, in words.
    public static let nameRule = "1 to 64 letters A–Z a–z, digits and _ . -, the first a letter or digit"
}
