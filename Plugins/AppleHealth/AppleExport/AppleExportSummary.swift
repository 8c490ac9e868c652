package import HubWire
public import Samples

/// The contents of an export and the anomalies found in it.
public struct AppleExportSummary: Sendable {
    /// An anomaly and its handling.
    public enum Anomaly: String, CaseIterable, Sendable {
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

        /// The effect of an anomaly on the data.
        public enum Effect: String, Sendable {
            /// The data is not in the hub.
            case lost
            /// The data is in the hub as written: as `x.apple.exportElement`, as text, or under `unread`.
            case kept
            /// The data was read, or there was nothing to keep.
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
            case .malformedTag: "malformed tags, lost; reading continued after them"
            case .controlCharacter: "texts with characters that XML does not have; a space stands for them"
            case .unknownEntity: "texts with a & that begins no XML entity; left as it is"
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

    /// How often an anomaly occurred, with its first ``AppleExportSummary/maximumPlaces`` places.
    public struct AnomalyCount: Hashable, Sendable {
        public var count = 0
        package var places: [Place] = []
        public var firstOffset: Int64? { places.first?.byte }
    }

    /// The place of an anomaly; it contains no health value.
    package typealias Place = ImportReport.Place

    /// Maximum number of places kept for each anomaly; the others are only counted.
    public static let maximumPlaces = 1_000

    /// The records of one type or source.
    public struct Tally: Hashable, Sendable {
        /// The number of records made.
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

    /// The time of the export, in seconds since 1970.
    public var exportDate: Int64?
    public var locale: String?
    /// The version of the format in its declaration.
    public var version: Int?
    /// The records of each type and of each source, in order of first appearance.
    public internal(set) var types: [(id: TypeID, tally: Tally)] = []
    public internal(set) var sources: [(name: String, tally: Tally)] = []
    /// The XML elements by name, and the number of records within other elements.
    public internal(set) var elements: [String: Int] = [:]
    public internal(set) var nestedRecords = 0
    /// The number of repeated records: members of correlations that occur at the top level as well.
    public internal(set) var repeatedMembers = 0
    /// The number of records that the filter excluded.
    public internal(set) var filtered = 0
    public internal(set) var oddities: [Anomaly: AnomalyCount] = [:]
    /// Types that the hub does not know; their records are kept under the original identifiers.
    public internal(set) var unknownTypes: Set<String> = []
    public internal(set) var unknownElements: Set<String> = []
    /// Whether `</HealthData>` was found.
    public internal(set) var isComplete = false
    /// Why reading ended early, if it did.
    public internal(set) var fault: String?

    public init() {}

    public var records: Int { types.reduce(0) { $0 + $1.tally.count } }

    /// The number of items in the file that are not in the hub.
    public var lost: Int { oddities.reduce(0) { $0 + ($1.key.effect == .lost ? $1.value.count : 0) } }

    mutating func note(_ oddity: Anomaly, at offset: Int64? = nil, count: Int = 1) {
        note(oddity, Place(byte: offset), count: count)
    }

    mutating func note(_ oddity: Anomaly, file: String, reason: String? = nil, count: Int = 1) {
        note(oddity, Place(file: file, reason: reason), count: count)
    }

    mutating func note(_ oddity: Anomaly, _ place: Place, count: Int = 1) {
        var odd = oddities.removeValue(forKey: oddity) ?? AnomalyCount()
        odd.count += count
        if odd.places.count < Self.maximumPlaces {
            var place = place
            if count > 1 { place.count = count }
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
