/// The id of a health type on the bus, in topics and in the store.
///
/// 1 to 128 bytes of `A–Z a–z 0–9 . _ -`, so an id is a topic segment as it stands. ``TypeID/Form`` has the ways to spell one.
/// A valid id need not be in the registry.
public struct TypeID: Hashable, Sendable, CustomStringConvertible {
    /// Longest id, in bytes.
    public static let maximumLength = 128

    /// The spelling of an id.
    ///
    /// The registry's tables say which system defines a built-in type; the spelling does not.
    public enum Form: Hashable, Sendable {
        /// A short name in lowerCamel, without a dot: `heartRate`.
        case healthKit
        /// HealthKit's full identifier, for a type newer than the registry: `HKQuantityTypeIdentifierSomethingNew`.
        case healthKitIdentifier
        /// `hc.<name>`.
        case healthConnect
        /// `x.<vendor>.<name>`.
        case vendor
    }

    /// The id as text.
    public let rawValue: String

    /// The id in `text`.
    /// - Throws: ``TypeError`` with code `malformedID`.
    public init(_ text: String) throws(TypeError) {
        let count = text.utf8.count
        guard (1...TypeID.maximumLength).contains(count) else {
            throw TypeError(
                .malformedID, id: String(text.prefix(TypeID.maximumLength)),
                "a type id has 1 to \(TypeID.maximumLength) bytes, this one has \(count)")
        }
        // One pass over the bytes, because an id is read with every record.
        var previous = UInt8(ascii: ".")
        var dots = 0
        for byte in text.utf8 {
            guard TypeID.isAllowed(byte) else { throw TypeID.badCharacter(in: text) }
            if byte == UInt8(ascii: ".") {
                guard previous != byte else { throw TypeID.badDots(in: text) }
                dots += 1
            }
            previous = byte
        }
        guard previous != UInt8(ascii: ".") else { throw TypeID.badDots(in: text) }
        if text.utf8.first == UInt8(ascii: "x"), dots < 2, text == "x" || text.hasPrefix("x.") {
            throw TypeError(
                .malformedID, id: text, "a vendor's type is spelled x.<vendor>.<name>, as in x.ihealth.visceralFatLevel"
            )
        }
        if text.utf8.first == UInt8(ascii: "h"), dots != 1, text == "hc" || text.hasPrefix("hc.") {
            throw TypeError(.malformedID, id: text, "a Health Connect type is spelled hc.<name>, as in hc.boneMass")
        }
        rawValue = text
    }

    /// For ids in the generated tables.
    init(known text: String) { rawValue = text }

    /// The spelling of this id.
    public var form: Form {
        if rawValue.hasPrefix("hc.") { return .healthConnect }
        if rawValue.hasPrefix("x.") { return .vendor }
        return rawValue.hasPrefix("HK") ? .healthKitIdentifier : .healthKit
    }

    /// The id as text.
    public var description: String { rawValue }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    private static func badCharacter(in text: String) -> TypeError {
        let bad = text.unicodeScalars.first { !$0.isASCII || !isAllowed(UInt8(truncatingIfNeeded: $0.value)) }
        return TypeError(
            .malformedID, id: text,
            "a type id has letters A-Z and a-z, digits, and the characters . _ - only, "
                + "not \"\(bad?.escaped(asASCII: true) ?? "")\"")
    }

    private static func badDots(in text: String) -> TypeError {
        TypeError(.malformedID, id: text, "a type id neither starts nor ends with a dot, nor has two in a row")
    }
}

extension TypeID: Comparable {
    /// Compares the bytes.
    public static func < (left: TypeID, right: TypeID) -> Bool { left.rawValue < right.rawValue }
}

extension TypeID: Codable {
    /// Reads a JSON string and checks it.
    public init(from decoder: any Decoder) throws {
        self = try TypeID(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes a JSON string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
