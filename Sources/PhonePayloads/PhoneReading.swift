import HubSettings
import JSON
public import Samples

/// A form in which phones, their apps and people send.
public enum PhoneFormat: Hashable, Sendable {
    /// Health Auto Export (iOS): metrics, workouts and the rest, versions 1 and 2.
    case healthAutoExport
    /// HC Webhook (Android).
    case healthConnectWebhook
    /// HCGateway (Android): records of one Health Connect type, such as `Weight`.
    case healthConnectGateway(type: String)
    /// openScale-sync (Android).
    case openScale
    /// openScale-sync by MQTT: what a retained list of all weighings of a user says.
    case openScaleHistory(user: String)
    /// ble-scale-sync: one reading without a time.
    case bleScaleSync
    /// The lines of JSON that ble-scale-sync appends to a file.
    case bleScaleLines
    /// Records as a person or a shortcut writes them.
    case plain
}

/// What a reader knows besides the body: all of it comes from the token and the clock, nothing from the sender.
public struct PhoneContext: Sendable {
    /// How the numbers of percentages are meant.
    public enum Percent: String, Sendable, CaseIterable {
        /// 0 to 100, as all known senders have it.
        case hundred
        /// 0 to 1.
        case fraction
    }

    /// The plugin kind, of which sources and series are.
    public var plugin: String
    /// The name of the token: one phone, one name.
    public var device: String
    /// Whose phone it is, where the token says so.
    public var person: String?
    /// The name to show for that person; nil: as ``person``.
    public var displayName: String?
    /// Names of the hub's other persons, display names too.
    public var otherPersons: [String] = []
    /// The person's IANA zone: the day of a time that has no offset.
    public var zone: String
    /// When the body came, in microseconds since 1970.
    public var arrival: Int64
    /// The header `automation-aggregation` of Health Auto Export.
    public var grouping: String?
    public var percent = Percent.hundred
    /// Names of workouts in the phone's language, in small letters, and what they are.
    public var workoutNames: [String: WorkoutActivity] = [:]
    /// Whether the body came when it was made; a broker may have kept it for any time.
    public var isFresh = true
    /// Whether values that an app computes from a person's profile are taken, too.
    public var takesComputed = false
    /// From when on apps that Health Connect names are sources of their own, in microseconds since 1970; `nil`: never.
    ///
    /// What began before may be stored under the one source that all of them were, and would come a second time.
    public var appsSince: Int64?
    /// The users of openScale that the token has had until now, by their numbers.
    public var scaleUsers: Set<String> = []

    public init(
        plugin: String, device: String, person: String? = nil, zone: String = "UTC", arrival: Int64,
        grouping: String? = nil
    ) {
        (self.plugin, self.device, self.person, self.zone) = (plugin, device, person, zone)
        (self.arrival, self.grouping) = (arrival, grouping)
    }

    func source(_ account: String?) -> Source { Source(plugin: plugin, device: device, account: account) }

    /// Whether a name in a body is the token's person's; names of persons differ in more than capitals.
    func isPerson(_ said: String) -> Bool {
        [person, displayName].contains { $0.map(PersonName.folded) == PersonName.folded(said) }
    }

    /// Whether a name in a body is that of another person of the hub.
    func isOtherPerson(_ said: String) -> Bool {
        otherPersons.contains { PersonName.folded($0) == PersonName.folded(said) }
    }

    /// Whom a record is of, where the token says so: the hub looks for a person of that name.
    var subject: Subject? { person.map(Subject.account) }
}

/// Where something stands in a body, as a JSON pointer.
public enum PhonePlace: Hashable, Sendable, CustomStringConvertible {
    case pointer(String)
    /// A point of a metric: there are many of them, so that no text is made.
    case point(metric: Int, Int)

    public var description: String {
        switch self {
        case .pointer(let text): text
        case .point(let metric, let index): "/data/metrics/\(metric)/data/\(index)"
        }
    }
}

extension PhonePlace {
    /// As it is told.
    fileprivate var told: PhonePlace { if case .pointer(let text) = self { .pointer(text.told) } else { self } }
}

extension String {
    /// Not more than anyone reads: some of it is what was sent, and an answer tells of two hundred items.
    fileprivate var told: String {
        // By scalars: one character may have any number of them.
        utf8.count <= 500 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(240))) + "…"
    }
}

/// A record for the hub, and where it came from.
public struct PhoneRecord: Sendable {
    public var record: Record
    public var place: PhonePlace

    public init(_ record: Record, _ place: PhonePlace) { (self.record, self.place) = (record, place) }
}

/// A part of a body that became no record.
public struct PhoneRejection: Hashable, Sendable {
    public var place: PhonePlace
    /// Of Protocol §9.2.
    public var code: String
    /// For people; never a value.
    public var reason: String

    public init(_ place: PhonePlace, _ code: String, _ reason: String) {
        (self.place, self.code, self.reason) = (place.told, code, reason.told)
    }
}

/// A part of a body that is not taken, or is kept as it came, on purpose.
public struct PhoneOmission: Hashable, Sendable {
    public var place: PhonePlace
    /// What the sender calls it, where it is not known.
    public var name: String?
    public var points: Int?
    public var why: String
    /// Whether it is a member of items that are otherwise read, and not an item.
    public var isMember: Bool

    public init(_ place: PhonePlace, _ why: String, name: String? = nil, points: Int? = nil, isMember: Bool = false) {
        (self.place, self.why, self.name, self.points) = (place.told, why.told, name?.told, points)
        self.isMember = isMember
    }
}

/// What a part of a body became.
public struct PhoneBatch: Sendable {
    public var records: [PhoneRecord] = []
    /// What no reader understands, whole, as records of a type of its own.
    public var kept: [PhoneRecord] = []
    public var rejected: [PhoneRejection] = []
    public var ignored: [PhoneOmission] = []
    /// What openScale says of a user's measurements beside their records.
    public var scaleSteps: [OpenScaleStep] = []
    /// How many items of the body were looked at.
    public var received = 0
    /// Members that no reader takes; ``PhoneBody/next()`` moves them to ``ignored``.
    var unread = UnreadMembers()

    public init() {}

    /// How much it has of everything: what is refused takes room, too.
    var size: Int { records.count + kept.count + rejected.count + ignored.count }

    mutating func reject(_ place: PhonePlace, _ code: String, _ reason: String) {
        rejected.append(PhoneRejection(place, code, reason))
    }

    mutating func reject(_ pointer: String, _ code: String, _ reason: String) {
        reject(.pointer(pointer), code, reason)
    }

    mutating func ignore(_ pointer: String, _ why: String, name: String? = nil, points: Int? = nil) {
        ignored.append(PhoneOmission(.pointer(pointer), why, name: name, points: points))
    }
}

/// Why a body as a whole is not taken; nothing of it was.
public struct PhoneError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// No JSON, or not in the form that the address takes.
        case json, form
        /// More items than one body may have.
        case size
        /// Someone's token, and records of someone else.
        case person
    }

    public var code: Code
    /// For people; never what stands there.
    public var description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}

/// A body, read in pieces of about a thousand records, so that what it becomes is never in memory as a whole.
///
/// The bytes belong to the caller and must outlive it.
public struct PhoneBody {
    /// How deep values may lie within each other.
    public static let maximumDepth = 16
    /// Elements of all its lists that a body may have.
    public static let maximumPoints = 1_000_000
    /// Points of a route at most.
    public static let maximumRoutePoints = 200_000
    /// Bytes of a name or another text that becomes a part of a record.
    static let maximumText = 4_096
    /// Records of a piece, about.
    static let batchRecords = 1_000

    private var steps: any PayloadSteps
    /// Whether records are made here: a plain one was judged as the hub will.
    private let makesRecords: Bool

    /// Checks the whole body, before anything of it is taken.
    ///
    /// - Throws: ``PhoneError``.
    public init(
        _ bytes: UnsafeRawBufferPointer, format: PhoneFormat, context: PhoneContext
    ) throws(PhoneError) {
        let bytes = Self.withoutMark(bytes)
        makesRecords = format != .plain
        if case .bleScaleLines = format {
            steps = try BLEScaleLines(bytes, context)
            return
        }
        let root = try Self.scan(bytes)
        try BodyBounds.check(root, in: bytes)
        switch format {
        case .healthAutoExport: steps = try HealthAutoExportSteps(root, bytes, context)
        case .healthConnectWebhook: steps = try WebhookSteps(root, bytes, context)
        case .healthConnectGateway(let type): steps = try GatewaySteps(root, bytes, context, type: type)
        case .openScale: steps = try OpenScaleSteps(root, bytes, context)
        case .openScaleHistory(let user): steps = try OpenScaleHistory(root, bytes, context, user: user)
        case .bleScaleSync: steps = try BLEScaleSteps(root, bytes, context)
        case .bleScaleLines: steps = try BLEScaleLines(bytes, context)
        case .plain: steps = try PlainSteps(root, bytes, context)
        }
    }

    /// The next piece; `nil` after the last.
    public mutating func next() -> PhoneBatch? {
        guard var batch = steps.next() else { return nil }
        if makesRecords { batch.rejectUnfit() }
        batch.ignored += batch.unread.omissions
        batch.unread = UnreadMembers()
        return batch
    }

    /// Some programs write a byte order mark before the object.
    private static func withoutMark(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? UnsafeRawBufferPointer(rebasing: bytes[3...]) : bytes
    }

    private static func scan(_ bytes: UnsafeRawBufferPointer) throws(PhoneError) -> JSONValue {
        let value: JSONValue
        do throws(JSONSyntaxError) {
            var scanner = try JSONScanner(bytes)
            scanner.skipSpace()
            value = try scanner.value()
            try scanner.finish()
        } catch {
            throw PhoneError(.json, "\(error)")
        }
        guard value.depth <= maximumDepth else {
            throw PhoneError(.json, "nested too deep: values may lie \(maximumDepth) deep within each other")
        }
        guard !value.hasLoneSurrogate else { throw PhoneError(.json, "a text has half a character") }
        return value
    }
}

/// Reads one form of body, piece by piece.
protocol PayloadSteps {
    mutating func next() -> PhoneBatch?
}
