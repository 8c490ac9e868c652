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
        case unreadValue = "unread-value"
        case unreadMetadata = "unread-metadata"
        case unknownElement = "unknown-element"
        case brokenCorrelation = "broken-correlation"
        case missingFile = "missing-file"
        case damagedFile = "damaged-file"
        case unnamedRoute = "unnamed-route"
        case otherFile = "other-file"
        case leftOut = "left-out"
        case truncated = "truncated"
        case wrongSum = "wrong-sum"

        /// One line for a person.
        public var explanation: String {
            switch self {
            case .malformedTag: "tags that make no sense, passed over; reading went on behind them"
            case .controlCharacter: "texts with characters that XML does not have; a space stands for them"
            case .unknownEntity: "texts with a & that begins nothing of XML; left as it is"
            case .wrongEncoding: "texts that are not UTF-8; U+FFFD stands for what cannot be read"
            case .repeatedAttribute: "elements with two startDate; the second is the end"
            case .missingAttribute: "elements without type or time, left out"
            case .wrongTime:
                "elements whose time no calendar shows or whose end is before their start, left out or kept as they are"
            case .unreadValue: "values or units that cannot be read; kept as they are, as x.apple.exportElement or text"
            case .unreadMetadata: "metadata that is not of its key's form; kept under unread"
            case .unknownElement: "elements that are not known here, passed over"
            case .brokenCorrelation: "blood pressures and foods that are not whole; their members are kept"
            case .missingFile: "files that are named and not there"
            case .damagedFile: "files that could not be read, or not to their end"
            case .unnamedRoute:
                "routes that no workout names, left out: the XML is damaged, and what names them may be in what is lost"
            case .otherFile: "files that nothing in the export names, which are not read"
            case .leftOut: "parts beyond what one record can hold, or files beyond what is read of one, left out"
            case .truncated: "the file ends before its end: everything before is read, the last element is not"
            case .wrongSum: "the zip's sum of export.xml is wrong: something in it is not as the phone wrote it"
            }
        }
    }

    /// How often, and where in the XML for the first time.
    public struct Odd: Hashable, Sendable {
        public var count: Int
        public var firstOffset: Int64?
    }

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

    mutating func note(_ oddity: Oddity, at offset: Int64? = nil, count: Int = 1) {
        oddities[oddity, default: Odd(count: 0, firstOffset: offset)].count += count
    }

    mutating func note(_ oddities: XMLText.Oddities, at offset: Int64) {
        if oddities.contains(.control) { note(.controlCharacter, at: offset) }
        if oddities.contains(.entity) { note(.unknownEntity, at: offset) }
        if oddities.contains(.encoding) { note(.wrongEncoding, at: offset) }
    }
}
