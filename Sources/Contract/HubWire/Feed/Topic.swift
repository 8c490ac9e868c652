public import Samples

/// The address of a message on the feed: segments, each followed by `/` (Protocol §7).
///
/// A segment is any text; bytes other than letters, digits, `_`, `-` and `.` are percent-encoded on the wire.
public struct Topic: Hashable, Sendable, CustomStringConvertible {
    /// The topic as it is sent, including the last `/`.
    public let text: String

    private init(trusted text: String) { self.text = text }

    /// Builds a topic; `nil` for fewer than two segments or an empty one.
    public init?(segments: [String]) {
        guard segments.count >= 2, !segments.contains("") else { return nil }
        text = Self.text(of: segments)
    }

    /// Parses a topic; `nil` for texts outside the grammar, which has only one spelling for each topic.
    public init?(_ text: String) {
        guard let segments = Self.segments(of: text), segments.count >= 2 else { return nil }
        self.text = text
    }

    /// The segments without percent-encoding.
    public var segments: [String] { Self.segments(of: text) ?? [] }

    /// Whether a subscription to `prefix` receives this topic.
    public func matches(prefix: String) -> Bool { text.utf8.starts(with: prefix.utf8) }

    /// Whether `text` ends with a whole segment, as a subscription must: `sample/weight` would also match `sample/weightloss/`.
    public static func isPrefix(_ text: String) -> Bool { segments(ofPrefix: text) != nil }

    /// The segments of a subscription that ends with a whole one, without percent-encoding; `nil` for any other text.
    public static func segments(ofPrefix text: String) -> [String]? { text.isEmpty ? [] : segments(of: text) }

    public var description: String { text }
}

extension Topic {
    /// The topic on which a record is published and on which followers find it; this is the only place that decides it (Protocol §7).
    public init(_ stored: StoredRecord) {
        guard let person = stored.assignment.person?.name else {
            self = .inbox
            return
        }
        let type = stored.type.rawValue
        switch stored.record {
        case .sample(let sample): self = .sample(type: type, person: person, plugin: sample.source.plugin)
        case .day(let day): self = .day(type: type, person: person, series: day.series)
        case .retraction(let retraction):
            var place = retraction.source.plugin
            if case .day(_, _, let series, _) = retraction.identity { place = series }
            self = .retraction(type: type, person: person, place: place)
        }
    }
}

extension Topic {
    /// A text in the form of a topic's segment: percent-encoded if needed, without the `/`.
    public static func segment(_ text: String) -> String {
        var bytes: [UInt8] = []
        append(text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The person segment for records without a person.
    public static let nobody = "-"

    public static func sample(type: String, person: String, plugin: String) -> Topic {
        Topic(trusted: text(of: ["sample", type, person, plugin]))
    }
    public static func day(type: String, person: String, series: String) -> Topic {
        Topic(trusted: text(of: ["day", type, person, series]))
    }
    /// - Parameter place: the plugin kind; for a day's retraction, the series.
    public static func retraction(type: String, person: String, place: String) -> Topic {
        Topic(trusted: text(of: ["retraction", type, person, place]))
    }
    /// - Parameter person: `nil` while it is not known.
    public static func live(type: String, person: String?, plugin: String) -> Topic {
        Topic(trusted: text(of: ["live", type, person ?? nobody, plugin]))
    }
    public static func device(plugin: String, event: String) -> Topic {
        Topic(trusted: text(of: ["device", plugin, event]))
    }
    /// Epoch and head.
    public static let pulse = Topic(trusted: "hub/pulse/")
    /// Samples without a person.
    public static let inbox = Topic(trusted: "hub/inbox/")
    /// Events of plugins.
    public static let plugin = Topic(trusted: "hub/plugin/")
    /// Changes of persons in `hub.conf`.
    public static let person = Topic(trusted: "hub/person/")
    /// Notices for people.
    public static let notice = Topic(trusted: "hub/notice/")
}

extension Topic {
    private static func isPlain(_ byte: UInt8) -> Bool {
        PeerName.isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
            || byte == UInt8(ascii: ".")
    }

    private static func text(of segments: [String]) -> String {
        var bytes: [UInt8] = []
        for segment in segments {
            append(segment, to: &bytes)
            bytes.append(UInt8(ascii: "/"))
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func append(_ segment: String, to bytes: inout [UInt8]) {
        for byte in segment.utf8 {
            if isPlain(byte) {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(upperHexadecimal(byte >> 4))
                bytes.append(upperHexadecimal(byte & 0x0F))
            }
        }
    }

    private static func upperHexadecimal(_ digit: UInt8) -> UInt8 { digit < 10 ? 0x30 + digit : 0x37 + digit }

    private static func upperHexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        default: nil
        }
    }

    private static func segments(of text: String) -> [String]? {
        guard text.utf8.last == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        for part in text.utf8.dropLast().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard !part.isEmpty, let segment = decoded(part) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    private static func decoded(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        var rest = part[...]
        while let byte = rest.popFirst() {
            if isPlain(byte) {
                bytes.append(byte)
                continue
            }
            guard byte == UInt8(ascii: "%"), let high = rest.popFirst().flatMap(upperHexadecimalValue),
                let low = rest.popFirst().flatMap(upperHexadecimalValue), !isPlain(high << 4 | low)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
