public import HubSettings

/// What a plugin says of itself with `--describe`: one JSON object.
///
/// `JSONEncoder` and `JSONDecoder` write and read it. Members that a reader does not know are ignored.
public struct Manifest: Hashable, Sendable, Codable {
    /// The plugin kind, of the form ``PeerName``: `ihealth-hs3`.
    public var name: String
    /// One sentence for people.
    public var summary: String
    /// The program's own version, for people.
    public var version: String
    /// The major versions of the protocol it speaks.
    public var protocols: [Int]
    /// Types it reads; `*` means all.
    public var reads: [String]
    /// Types it writes; `*` means all.
    public var writes: [String]
    /// Types of its own that the registry does not know.
    public var declares: [TypeDeclaration]
    /// The settings that `[plugin.<instance>]` of `hub.conf` takes.
    public var settings: [SettingDeclaration]
    /// What it can be asked to do.
    public var commands: [CommandDeclaration]
    /// What it can do as a sink; `nil` when it is none.
    public var sink: SinkAbilities?
    /// Whether it is told what `hub.conf` says of its persons' bodies (``PersonProfile``): for devices that keep users of their own.
    public var profiles: Bool
    /// What its program reaches beyond its own files: words of ``PluginReach``.
    public var reaches: [String]
    /// Whether its program judges settings with `--check-settings` (``SettingsVerdict``).
    public var checksSettings: Bool
    /// What of the owner's it asks to be granted: words of ``OwnerRight``.
    public var owner: [String]

    public init(
        name: String, summary: String, version: String, protocols: [Int] = ProtocolVersion.spoken, reads: [String] = [],
        writes: [String] = [], declares: [TypeDeclaration] = [], settings: [SettingDeclaration] = [],
        commands: [CommandDeclaration] = [], sink: SinkAbilities? = nil, profiles: Bool = false,
        checksSettings: Bool = false, reaches: [PluginReach] = [], owner: [OwnerRight] = []
    ) {
        (self.reaches, self.owner) = (reaches.map(\.rawValue), owner.map(\.rawValue))
        (self.name, self.summary, self.version, self.protocols) = (name, summary, version, protocols)
        (self.reads, self.writes, self.declares) = (reads, writes, declares)
        (self.settings, self.commands, self.sink, self.profiles) = (settings, commands, sink, profiles)
        self.checksSettings = checksSettings
    }

    private enum CodingKeys: String, CodingKey {
        case name, summary, version, reads, writes, declares, settings, commands, sink, profiles,
            checksSettings, reaches, owner
        case protocols = "protocol"
    }

    /// Lists that a plugin leaves out are empty; without `protocol` it speaks version 1.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        name = try members.decode(String.self, forKey: .name)
        summary = try members.decode(String.self, forKey: .summary)
        version = try members.decode(String.self, forKey: .version)
        protocols = try members.decodeIfPresent([Int].self, forKey: .protocols) ?? [1]
        reads = try members.decodeIfPresent([String].self, forKey: .reads) ?? []
        writes = try members.decodeIfPresent([String].self, forKey: .writes) ?? []
        declares = try members.decodeIfPresent([TypeDeclaration].self, forKey: .declares) ?? []
        settings = try members.decodeIfPresent([SettingDeclaration].self, forKey: .settings) ?? []
        commands = try members.decodeIfPresent([CommandDeclaration].self, forKey: .commands) ?? []
        sink = try members.decodeIfPresent(SinkAbilities.self, forKey: .sink)
        profiles = try members.decodeIfPresent(Bool.self, forKey: .profiles) ?? false
        checksSettings = try members.decodeIfPresent(Bool.self, forKey: .checksSettings) ?? false
        reaches = try members.decodeIfPresent([String].self, forKey: .reaches) ?? []
        owner = try members.decodeIfPresent([String].self, forKey: .owner) ?? []
    }
}

/// A command of a plugin, such as `login` or `backfill` (Protocol §8.2).
public struct CommandDeclaration: Hashable, Sendable, Codable {
    public var name: String
    /// One sentence that says what it does.
    public var help: String
    /// What `args` takes, declared as settings are.
    public var arguments: [SettingDeclaration]
    /// Whether it can say what it would do without doing it (R8.9).
    public var canDryRun: Bool

    public init(_ name: String, help: String, arguments: [SettingDeclaration] = [], canDryRun: Bool = false) {
        (self.name, self.help, self.arguments, self.canDryRun) = (name, help, arguments, canDryRun)
    }

    private enum CodingKeys: String, CodingKey {
        case name, help
        case arguments = "args"
        case canDryRun = "dryRun"
    }

    /// Without `args` it takes none, without `dryRun` it cannot.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        name = try members.decode(String.self, forKey: .name)
        help = try members.decode(String.self, forKey: .help)
        arguments = try members.decodeIfPresent([SettingDeclaration].self, forKey: .arguments) ?? []
        canDryRun = try members.decodeIfPresent(Bool.self, forKey: .canDryRun) ?? false
    }

    /// What is wrong with it, in sentences for its author.
    var faults: [String] {
        var faults: [String] = []
        if name.wholeMatch(of: /[a-z][a-z0-9\-]{0,63}/) == nil {
            faults.append("a name is at most 64 small letters, digits and -, beginning with a letter")
        }
        if help.isEmpty || help.contains(where: \.isNewline) { faults.append("help is one line of text") }
        return faults + SettingDeclaration.faults(inArguments: arguments)
    }
}

/// What a sink's target can take, so that the hub offers nothing else.
///
/// Members that a plugin leaves out have the default.
public struct SinkAbilities: Hashable, Sendable, Codable {
    /// Values of days that are over.
    public var takesPastDates: Bool
    /// New versions of what it has.
    public var takesEdits: Bool
    public var takesDeletions: Bool
    /// Values that were not measured.
    public var takesFilledValues: Bool
    /// Records of one delivery.
    public var batchRecords: Int
    /// Deliveries of a subscription that the plugin can work on at a time.
    public var deliveriesAtOnce: Int
    /// Deliveries each hour; `nil`: no limit is known.
    public var deliveriesPerHour: Int?

    /// Everything unless said otherwise.
    public init(
        takesPastDates: Bool = true, takesEdits: Bool = true, takesDeletions: Bool = true,
        takesFilledValues: Bool = true, batchRecords: Int = 100, deliveriesAtOnce: Int = 1,
        deliveriesPerHour: Int? = nil
    ) {
        (self.takesPastDates, self.takesEdits, self.takesDeletions) = (takesPastDates, takesEdits, takesDeletions)
        (self.takesFilledValues, self.batchRecords) = (takesFilledValues, batchRecords)
        (self.deliveriesAtOnce, self.deliveriesPerHour) = (deliveriesAtOnce, deliveriesPerHour)
    }

    private enum CodingKeys: String, CodingKey {
        case takesPastDates = "pastDates"
        case takesEdits = "edits"
        case takesDeletions = "deletions"
        case takesFilledValues = "filled"
        case batchRecords, deliveriesAtOnce, deliveriesPerHour
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let all = SinkAbilities()
        takesPastDates = try members.decodeIfPresent(Bool.self, forKey: .takesPastDates) ?? true
        takesEdits = try members.decodeIfPresent(Bool.self, forKey: .takesEdits) ?? true
        takesDeletions = try members.decodeIfPresent(Bool.self, forKey: .takesDeletions) ?? true
        takesFilledValues = try members.decodeIfPresent(Bool.self, forKey: .takesFilledValues) ?? true
        batchRecords = try members.decodeIfPresent(Int.self, forKey: .batchRecords) ?? all.batchRecords
        deliveriesAtOnce = try members.decodeIfPresent(Int.self, forKey: .deliveriesAtOnce) ?? all.deliveriesAtOnce
        deliveriesPerHour = try members.decodeIfPresent(Int.self, forKey: .deliveriesPerHour)
    }
}
