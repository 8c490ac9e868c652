/// Where a record comes from: the plugin that sent it, and the device and account it read them from.
public struct Source: Hashable, Sendable {
    /// The kind of plugin, such as `ihealth-hs3`: stable when an instance is renamed, and the source segment of every topic.
    public var plugin: String
    /// The device within the plugin's world, such as its Bluetooth address; `nil` when there is none.
    public var device: String?
    /// The account the plugin reads from; `nil` when there is none.
    public var account: String?

    public init(plugin: String, device: String? = nil, account: String? = nil) {
        self.plugin = plugin
        self.device = device
        self.account = account
    }
}

/// The source's own undecoded facts that tell one record from all others of that source.
///
/// 1…64 bytes of UTF-8 without control characters, time first, so that keys sort as time does and inserts stay in order.
public struct RecordKey: Hashable, Sendable {
    public let text: String

    /// The most bytes a key may have.
    public static let maximumBytes = 64

    /// `nil` when `text` is empty, longer than 64 bytes, or holds a control character.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= RecordKey.maximumBytes, !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        self.text = text
    }
}

/// What makes a repeat harmless: the same identity again is a duplicate or a new version, never a second record.
public enum RecordIdentity: Hashable, Sendable {
    case sample(Source, RecordKey)
    /// A daily value: one per person, type, series and date.
    case day(person: String, type: TypeID, series: String, date: LocalDate)
}

/// Whom the *source* believes to have measured. A source never names a person; the hub assigns one by its own rules.
public enum Subject: Hashable, Sendable {
    /// An account of the source's system.
    case account(String)
    /// A user position on the device.
    case slot(Int)
    /// A name as the device prints it.
    case name(String)
}
