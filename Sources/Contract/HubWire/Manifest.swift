/// A plugin's description of itself, printed with `--describe`: one JSON object.
///
/// Encoded with `JSONEncoder` and decoded with `JSONDecoder`. Readers ignore unknown members.
public struct Manifest: Hashable, Sendable, Codable {
    /// The plugin kind, of the form ``PeerName``: `ihealth-hs3`.
    public var name: String
    /// One sentence for people.
    public var summary: String
    /// The program's own version, for people.
    public var version: String
    /// The major versions of the protocol that it speaks.
    public var protocols: [Int]
    /// Types it reads; `*` means all.
    public var reads: [String]
    /// Types it writes; `*` means all.
    public var writes: [String]
    /// Its own types that the registry does not know.
    public var declares: [TypeDeclaration]
    /// The settings that `[plugin.<instance>]` of `hub.conf` takes.
    public var settings: [SettingDeclaration]
    /// Its commands.
    public var commands: [CommandDeclaration]
    /// Its abilities as a sink; `nil` if it is none.
    public var sink: SinkAbilities?
    /// Whether it gets the profiles of its persons from `hub.conf` (``PersonProfile``): for devices that keep users of their own.
    public var profiles: Bool
    /// The services that its program reaches beyond its own files: words of ``PluginReach``.
    public var reaches: [String]
    /// Whether its program checks settings with `--check-settings` (``SettingsVerdict``).
    public var checksSettings: Bool
    /// The owner's rights that it asks for: words of ``OwnerRight``.
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

    /// Missing lists are empty; without `protocol` it speaks version 1.
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
    /// One sentence that explains the command.
    public var help: String
    /// The arguments in `args`, declared like settings.
    public var arguments: [SettingDeclaration]
    /// Whether it can report its effect without doing anything (R8.9).
    public var canDryRun: Bool

    public init(_ name: String, help: String, arguments: [SettingDeclaration] = [], canDryRun: Bool = false) {
        (self.name, self.help, self.arguments, self.canDryRun) = (name, help, arguments, canDryRun)
    }

    private enum CodingKeys: String, CodingKey {
        case name, help
        case arguments = "args"
        case canDryRun = "dryRun"
    }

    /// Without `args` it takes no arguments; without `dryRun` it has no dry run.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        name = try members.decode(String.self, forKey: .name)
        help = try members.decode(String.self, forKey: .help)
        arguments = try members.decodeIfPresent([SettingDeclaration].self, forKey: .arguments) ?? []
        canDryRun = try members.decodeIfPresent(Bool.self, forKey: .canDryRun) ?? false
    }

    /// The faults of the declaration, in sentences for its author.
    var faults: [String] {
        var faults: [String] = []
        if name.wholeMatch(of: /[a-z][a-z0-9\-]{0,63}/) == nil {
            faults.append("a name is at most 64 small letters, digits and -, beginning with a letter")
        }
        if help.isEmpty || help.contains(where: \.isNewline) { faults.append("help is one line of text") }
        return faults + SettingDeclaration.faults(inArguments: arguments)
    }
}

/// The abilities of a sink's target; the hub offers nothing beyond them.
///
/// Members that a plugin omits have their default value.
public struct SinkAbilities: Hashable, Sendable, Codable {
    /// Whether it takes values of past days.
    public var takesPastDates: Bool
    /// Whether it takes new versions of records that it has.
    public var takesEdits: Bool
    public var takesDeletions: Bool
    /// Whether it takes values that were not measured.
    public var takesFilledValues: Bool
    /// Maximum number of records in a delivery.
    public var batchRecords: Int
    /// Maximum number of deliveries of a subscription that the plugin works on at a time.
    public var deliveriesAtOnce: Int
    /// Maximum number of deliveries each hour; `nil` if no limit is known.
    public var deliveriesPerHour: Int?

    /// Makes abilities without limits, unless arguments say otherwise.
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
