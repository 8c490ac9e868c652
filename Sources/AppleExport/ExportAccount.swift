public import Samples

/// What an export turned out to have in it, and what was odd about it.
public struct ExportAccount: Sendable {
    /// What was odd, and what was done about it.
    public enum Oddity: String, CaseIterable, Sendable {
        case malformedTag = "malformed-tag"
        case controlCharacter = "control-character"
        case unknownEntity = "unknown-entity"
        case wrongEncoding = "wrong-encoding"
        case repeatedAttribute = "repeated-attribute"
        case missingAttribute = "missing-attribute"
        case wrongTime = "wrong-time"
        case wrongEnd = "wrong-end"
        case unlikelyTime = "unlikely-time"
        case foreignTime = "foreign-time"
        case unreadValue = "unread-value"
        case impossibleValue = "impossible-value"
        case missingMetadata = "missing-metadata"
        case unreadMetadata = "unread-metadata"
        case unknownElement = "unknown-element"
        case brokenCorrelation = "broken-correlation"
        case lostPoint = "lost-point"
        case unplacedPoint = "unplaced-point"
        case lostLine = "lost-line"
        case placeholderDay = "placeholder-day"
        case repeatedDay = "repeated-day"
        case missingFile = "missing-file"
        case damagedFile = "damaged-file"
        case unnamedRoute = "unnamed-route"
        case otherFile = "other-file"
        case leftOut = "left-out"
        case truncated = "truncated"
        case wrongSum = "wrong-sum"

        /// What became of it.
        public enum Effect: String, Sendable {
            /// It is not in the hub.
            case lost
            /// It is in the hub as it is written, as `x.apple.exportElement`, as text or under `unread`.
            case kept
            /// It is read, or there was nothing to keep.
            case none
        }

        public var effect: Effect {
            switch self {
            case .malformedTag, .missingAttribute, .wrongTime, .lostPoint, .lostLine, .missingFile, .damagedFile,
                .unnamedRoute, .leftOut, .truncated, .wrongSum:
                .lost
            case .wrongEnd, .unreadValue, .impossibleValue, .missingMetadata, .unreadMetadata, .unknownElement,
                .brokenCorrelation:
                .kept
            case .controlCharacter, .unknownEntity, .wrongEncoding, .repeatedAttribute, .unlikelyTime, .foreignTime,
                .unplacedPoint, .placeholderDay, .repeatedDay, .otherFile:
                .none
            }
        }

        /// One line for a person.
        public var explanation: String {
            switch self {
            case .malformedTag: "tags that make no sense, lost; reading went on behind them"
            case .controlCharacter: "texts with characters that XML does not have; a space stands for them"
            case .unknownEntity: "texts with a & that begins nothing of XML; left as it is"
            case .wrongEncoding: "texts that are not UTF-8; U+FFFD stands for what cannot be read"
            case .repeatedAttribute: "elements with two startDate; the second is the end"
            case .missingAttribute: "elements without type or time, lost"
            case .wrongTime: "elements whose time cannot be read, lost"
            case .wrongEnd:
                "elements whose end is before their start or cannot be read; kept as they are, as x.apple.exportElement"
            case .unlikelyTime:
                "elements with a time before 1900 or after the export was made; stored, and marked implausible by the hub"
            case .foreignTime: "times on a 12-hour clock, in other digits or of another calendar; read"
            case .unreadValue: "values or units that cannot be read; kept as they are, as x.apple.exportElement or text"
            case .impossibleValue:
                "values that their type cannot have, such as 97 for 0.97; kept as they are, as x.apple.exportElement"
            case .missingMetadata:
                "elements without metadata that their type needs; kept as they are, as x.apple.exportElement"
            case .unreadMetadata: "metadata that is not of its key's form; kept under unread"
            case .unknownElement: "elements that are not known here; kept as they are"
            case .brokenCorrelation: "blood pressures and foods that are not whole; their members are kept"
            case .lostPoint: "points of routes that have no time or place, lost"
            case .unplacedPoint: "points of routes whose place the phone did not know, left out"
            case .lostLine: "lines of electrocardiograms that are no voltage, lost"
            case .placeholderDay: "activity summaries of 1970 or before with nothing in them: placeholders, left out"
            case .repeatedDay: "activity summaries of a day that has a later one; the last counts"
            case .missingFile: "files that are named and not there"
            case .damagedFile: "files that could not be read, or not to their end"
            case .unnamedRoute:
                "routes that no workout names, lost: the XML is damaged, and the missing part may name them"
            case .otherFile: "files that nothing in the export names, which are not read"
            case .leftOut: "parts beyond the room of a record, or files beyond the limits, lost"
            case .truncated: "the file ends before its end: everything before is read, the last element is not"
            case .wrongSum: "the zip's sum of export.xml is wrong: something in it is not as the phone wrote it"
            }
        }
    }

    /// How often, and where: the first ``ExportAccount/maximumPlaces`` of them.
    public struct Odd: Hashable, Sendable {
        public var count = 0
        public var places: [Place] = []
        public var firstOffset: Int64? { places.first?.byte }
    }

    /// Where something was odd, and in what; no health value is in it.
    public struct Place: Hashable, Sendable {
        /// `nil`: the XML itself.
        public var file: String?
        /// Where the element begins in the XML.
        public var byte: Int64?
        /// The element's time in UTC, or as it is written if it cannot be read.
        public var date: String?
        public var type: String?
        public var source: String?
        /// Why.
        public var reason: String?
        /// How many are at this place, such as points of a file.
        public var count = 1

        public init(
            file: String? = nil, byte: Int64? = nil, date: String? = nil, type: String? = nil, source: String? = nil,
            reason: String? = nil
        ) {
            (self.file, self.byte, self.date) = (file, byte, date)
            (self.type, self.source, self.reason) = (type, source, reason)
        }
    }

    /// Of each oddity: the rest is counted.
    public static let maximumPlaces = 1_000

    /// What there is of one type.
    public struct Tally: Hashable, Sendable {
        /// Records that were made.
        public var count = 0
        /// Seconds since 1970.
        public var first = Int64.max
        public var last = Int64.min

        mutating func add(_ start: Int64, _ end: Int64) {
            count += 1
            first = min(first, start)
            last = max(last, end)
        }
    }

    /// When it was made, in seconds since 1970.
    public var exportDate: Int64?
    public var locale: String?
    /// Of the format, as its declaration says.
    public var version: Int?
    /// Records of each type and of each source, in the order in which they came first.
    public internal(set) var types: [(id: TypeID, tally: Tally)] = []
    public internal(set) var sources: [(name: String, tally: Tally)] = []
    /// Elements of the XML by name, and records that stand within others.
    public internal(set) var elements: [String: Int] = [:]
    public internal(set) var nestedRecords = 0
    /// Records that came a second time: members of correlations that stand at the top too.
    public internal(set) var repeatedMembers = 0
    /// Records that the filter has left out.
    public internal(set) var filtered = 0
    public internal(set) var oddities: [Oddity: Odd] = [:]
    /// Types that the hub does not know; they are kept under their identifiers.
    public internal(set) var unknownTypes: Set<String> = []
    public internal(set) var unknownElements: Set<String> = []
    /// `</HealthData>` was there.
    public internal(set) var isComplete = false
    /// Why reading ended, where it did not end well.
    public internal(set) var fault: String?

    public init() {}

    public var records: Int { types.reduce(0) { $0 + $1.tally.count } }

    /// How many things of the file are not in the hub.
    public var lost: Int { oddities.reduce(0) { $0 + ($1.key.effect == .lost ? $1.value.count : 0) } }

    mutating func note(_ oddity: Oddity, at offset: Int64? = nil, count: Int = 1) {
        note(oddity, Place(byte: offset), count: count)
    }

    mutating func note(_ oddity: Oddity, _ place: Place, count: Int = 1) {
        var odd = oddities.removeValue(forKey: oddity) ?? Odd()
        odd.count += count
        if odd.places.count < Self.maximumPlaces {
            var place = place
            place.count = count
            odd.places.append(place)
        }
        oddities[oddity] = odd
    }

    mutating func note(_ oddities: XMLText.Oddities, at offset: Int64) {
        if oddities.contains(.control) { note(.controlCharacter, at: offset) }
        if oddities.contains(.entity) { note(.unknownEntity, at: offset) }
        if oddities.contains(.encoding) { note(.wrongEncoding, at: offset) }
    }
}
