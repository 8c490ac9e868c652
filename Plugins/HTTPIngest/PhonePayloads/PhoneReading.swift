import HubWire
import JSON
public import Samples

/// A format of the data that phones, apps and people send.
public enum PhoneFormat: Hashable, Sendable {
    /// Health Auto Export (iOS): metrics, workouts and the rest, versions 1 and 2.
    case healthAutoExport
    /// HC Webhook (Android).
    case healthConnectWebhook
    /// HCGateway (Android): records of one Health Connect type, such as `Weight`.
    case healthConnectGateway(type: String)
    /// openScale-sync (Android).
    case openScale
    /// openScale-sync by MQTT: the retained list of all weighings of a user.
    case openScaleHistory(user: String)
    /// ble-scale-sync: one reading without a time.
    case bleScaleSync
    /// The JSON lines that ble-scale-sync appends to a file.
    case bleScaleLines
    /// Records as a person or a shortcut writes them.
    case plain
}

/// The context of a body: all of it comes from the token and the clock, nothing from the sender.
public struct PhoneContext: Sendable {
    /// The form of percentages.
    public enum Percent: String, Sendable, CaseIterable {
        /// 0 to 100, as all known senders use.
        case hundred
        /// 0 to 1.
        case fraction
    }

    /// The plugin kind for sources and series.
    public var plugin: String
    /// The name of the token: one phone has one name.
    public var device: String
    /// The phone's owner, if the token names one.
    public var person: String?
    /// The name to show for that person; nil if it equals ``person``.
    public var displayName: String?
    /// The names of the hub's other persons, including display names.
    public var otherPersons: [String] = []
    /// The person's IANA zone: it decides the day of a time without an offset.
    public var zone: String
    /// The arrival time of the body, in microseconds since 1970.
    public var arrival: Int64
    /// The header `automation-aggregation` of Health Auto Export.
    public var grouping: String?
    public var percent = Percent.hundred
    /// Names of workouts in the phone's language, in lower case, with their activities.
    public var workoutNames: [String: WorkoutActivity] = [:]
    /// Whether the body arrived when it was made; a broker may have kept it for any time.
    public var isFresh = true
    /// Whether to accept values that an app computes from a person's profile.
    public var takesComputed = false
    /// The time from which each app in Health Connect is a separate source, in microseconds since 1970; `nil` for never.
    ///
    /// Earlier records may be stored under the single common source, and would be stored a second time.
    public var appsSince: Int64?
    /// The openScale users that the token has had until now, by number.
    public var scaleUsers: Set<String> = []

    public init(
        plugin: String, device: String, person: String? = nil, zone: String = "UTC", arrival: Int64,
        grouping: String? = nil
    ) {
        (self.plugin, self.device, self.person, self.zone) = (plugin, device, person, zone)
        (self.arrival, self.grouping) = (arrival, grouping)
    }

    func source(_ account: String?) -> Source { Source(plugin: plugin, device: device, account: account) }

    /// Whether a name in a body is that of the token's person.
    ///
    /// Two persons' names always differ in more than capitals.
    func isPerson(_ said: String) -> Bool {
        [person, displayName].contains { $0.map(PersonName.folded) == PersonName.folded(said) }
    }

    /// Whether a name in a body is that of another person of the hub.
    func isOtherPerson(_ said: String) -> Bool {
        otherPersons.contains { PersonName.folded($0) == PersonName.folded(said) }
    }

    /// The subject of a record, if the token names a person: the hub looks for a person of that name.
    var subject: Subject? { person.map(Subject.account) }
}

/// A position in a body, as a JSON pointer.
public enum PhonePlace: Hashable, Sendable, CustomStringConvertible {
    case pointer(String)
    /// A point of a metric. There are very many of them, so the text is made only on request.
    case point(metric: Int, Int)

    public var description: String {
        switch self {
        case .pointer(let text): text
        case .point(let metric, let index): "/data/metrics/\(metric)/data/\(index)"
        }
    }
}

extension PhonePlace {
    /// The place with its text cut for an answer.
    fileprivate var told: PhonePlace { if case .pointer(let text) = self { .pointer(text.told) } else { self } }
}

extension String {
    /// The text cut for an answer: part of it comes from the sender, and an answer lists two hundred items.
    fileprivate var told: String {
        // Cut by scalars, because one character may have any number of them.
        utf8.count <= 500 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(240))) + "…"
    }
}

/// A record for the hub, with its place in the body.
public struct PhoneRecord: Sendable {
    public var record: Record
    public var place: PhonePlace

    public init(_ record: Record, _ place: PhonePlace) { (self.record, self.place) = (record, place) }
}

/// A part of a body that was rejected.
public struct PhoneRejection: Hashable, Sendable {
    public var place: PhonePlace
    /// An error code of Protocol §9.2.
    public var code: String
    /// The reason for people, without the value.
    public var reason: String

    public init(_ place: PhonePlace, _ code: String, _ reason: String) {
        (self.place, self.code, self.reason) = (place.told, code, reason.told)
    }
}

/// A part of a body that is deliberately ignored or kept unread.
public struct PhoneOmission: Hashable, Sendable {
    public var place: PhonePlace
    /// The sender's name for it, if it is unknown.
    public var name: String?
    public var points: Int?
    public var why: String
    /// Whether it is a member of items that are otherwise read, instead of an item.
    public var isMember: Bool

    public init(_ place: PhonePlace, _ why: String, name: String? = nil, points: Int? = nil, isMember: Bool = false) {
        (self.place, self.why, self.name, self.points) = (place.told, why.told, name?.told, points)
        self.isMember = isMember
    }
}

/// The result of reading a part of a body.
public struct PhoneBatch: Sendable {
    public var records: [PhoneRecord] = []
    /// Items that no reader understands, kept whole as records of a separate type.
    public var kept: [PhoneRecord] = []
    public var rejected: [PhoneRejection] = []
    public var ignored: [PhoneOmission] = []
    /// openScale's statements about a user's measurements, besides the records.
    public var scaleSteps: [OpenScaleStep] = []
    /// The number of items that were read.
    public var received = 0
    /// Members that no reader uses; ``PhoneBody/next()`` moves them to ``ignored``.
    var unread = UnreadMembers()

    public init() {}

    /// The total number of results; rejections need memory, too.
    var size: Int { records.count + kept.count + rejected.count + ignored.count }

    mutating func add(_ other: PhoneBatch) {
        records += other.records
        kept += other.kept
        rejected += other.rejected
        ignored += other.ignored
        scaleSteps += other.scaleSteps
        received += other.received
        unread.add(other.unread)
    }

    mutating func reject(_ place: PhonePlace, _ code: String, _ reason: String) {
        rejected.append(PhoneRejection(place, code, reason))
    }

    mutating func reject(_ pointer: String, _ code: String, _ reason: String) {
        reject(.pointer(pointer), code, reason)
    }

    mutating func reject(_ place: PhonePlace, _ error: ItemError) { reject(place, error.code, error.reason) }

    mutating func reject(_ pointer: String, _ error: ItemError) { reject(.pointer(pointer), error) }

    mutating func ignore(_ pointer: String, _ why: String, name: String? = nil, points: Int? = nil) {
        ignored.append(PhoneOmission(.pointer(pointer), why, name: name, points: points))
    }
}

/// Why a body is rejected as a whole; nothing of it was stored.
public struct PhoneError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: String, Sendable {
        /// The body is not JSON, or does not have the form that the address expects.
        case json, form
        /// The body has more items than allowed.
        case size
        /// The token belongs to one person, and the records to another.
        case person
    }

    public var code: Code
    /// The text for people, without the sender's data.
    public var description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }
}

/// A body that is read in pieces of about a thousand records, so that the results are never in memory as a whole.
///
/// The bytes belong to the caller and must outlive this value.
public struct PhoneBody {
    /// Maximum nesting depth of values.
    public static let maximumDepth = 16
    /// Maximum number of elements of all lists in a body.
    public static let maximumPoints = 1_000_000
    /// Maximum number of points of a route.
    public static let maximumRoutePoints = 200_000
    /// Maximum length in bytes of a name or another text that becomes part of a record.
    static let maximumText = 4_096
    /// Approximate number of records in a piece.
    static let batchRecords = 1_000

    private var steps: any PayloadSteps
    /// Whether this reader creates the records.
    ///
    /// Plain records have been validated by the hub's rules already.
    private let makesRecords: Bool

    /// Checks the whole body before any of it is read.
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

    /// Reads the next piece; `nil` after the last.
    public mutating func next() -> PhoneBatch? {
        guard var batch = steps.next() else { return nil }
        if makesRecords { batch.rejectUnfit() }
        batch.ignored += batch.unread.omissions
        batch.unread = UnreadMembers()
        return batch
    }

    /// Skips a byte order mark, which some programs write before the object.
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

/// Reads one format of body piece by piece.
protocol PayloadSteps {
    mutating func next() -> PhoneBatch?
}
