/// The origin of a record: the plugin that sent it, and the device and account that the plugin read it from.
public struct Source: Hashable, Sendable {
    /// The kind of plugin, such as `ihealth-hs3`.
    ///
    /// It does not change if an instance is renamed, and it is the source segment of every topic.
    public var plugin: String
    /// The device within the plugin's world, such as its Bluetooth address; `nil` if there is none.
    public var device: String?
    /// The account the plugin reads from; `nil` if there is none.
    public var account: String?

    /// The `plugin` of records that people enter by hand.
    public static let byHand = "hand"

    /// Whether each sample is a complete total of its span; true if the account is `sums` or ends with ` sums`.
    ///
    /// For example, a phone that reports an hourly total has already combined watch, phone and band.
    public var isSumAccount: Bool { account.map { $0 == "sums" || $0.hasSuffix(" sums") } ?? false }

    /// Creates a source without checking it.
    public init(plugin: String, device: String? = nil, account: String? = nil) {
        self.plugin = plugin
        self.device = device
        self.account = account
    }

    /// Equal byte for byte, as the store compares.
    public static func == (left: Source, right: Source) -> Bool {
        left.plugin.hasSameBytes(as: right.plugin) && left.device.hasSameBytes(as: right.device)
            && left.account.hasSameBytes(as: right.account)
    }
}

/// The source's own undecoded facts that distinguish one record from all others of that source.
///
/// 1…64 bytes of UTF-8 without control and bidirectional characters. The time comes first, so that keys sort by time and inserts stay in
/// order.
public struct RecordKey: Hashable, Sendable {
    /// The key as the source wrote it.
    public let text: String

    /// The most bytes a key may have.
    public static let maximumBytes = 64

    /// Returns `nil` if `text` is empty, longer than 64 bytes, or contains a character that controls a terminal or reorders a line.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= RecordKey.maximumBytes else { return nil }
        // Nearly every key is printable ASCII and needs no further check.
        guard text.isPrintableASCII || !text.unicodeScalars.contains(where: RecordKey.isForbidden) else { return nil }
        self.text = text
    }

    /// Takes a key that was checked when it was stored, so that keys accepted by an earlier version stay readable.
    package init(trusted text: String) { self.text = text }

    /// Control characters of both sets, and characters that reorder others: two different keys must also look different.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F: true  // C0, DEL, C1
        case 0x061C, 0x200E, 0x200F: true  // direction marks
        case 0x2028, 0x2029: true  // line and paragraph separator
        case 0x202A...0x202E, 0x2066...0x2069: true  // embeddings, overrides and isolates
        default: false
        }
    }

    /// Equal byte for byte, as the store compares.
    public static func == (left: RecordKey, right: RecordKey) -> Bool { left.text.hasSameBytes(as: right.text) }
}

/// Identifies a record across deliveries: a repeated identity is a duplicate or a new version, never a second record.
public enum RecordIdentity: Hashable, Sendable {
    /// One reading of a source.
    case sample(Source, RecordKey)
    /// A daily value: one per person, type, series and date.
    case day(person: String, type: TypeID, series: String, date: LocalDate)
}

/// The person that the *source* believes was measured.
///
/// A source never names a person of the hub; the hub assigns one by its own rules.
public enum Subject: Hashable, Sendable {
    /// An account of the source's system.
    case account(String)
    /// A user position on the device.
    case slot(Int)
    /// A name as the device prints it.
    case name(String)
}
