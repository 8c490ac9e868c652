import Platform
import Samples

/// A UUID that a record has in every export of every hub, made from its identity at the source (RFC 9562, version 8).
enum RecordUUID {
    static func text(_ source: Source, _ key: RecordKey) -> String {
        text(["health-hub record", source.plugin, source.device ?? "", source.account ?? "", key.text])
    }

    /// The UUID of a person, made from the uid in one hub.
    static func text(personID: String) -> String { text(["health-hub person", personID]) }

    private static func text(_ parts: [String]) -> String {
        // No part contains this separator.
        var bytes = Array(Digests.sha256(parts.joined(separator: "\u{0}").utf8).prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
            .map(\.hexadecimal).joined(separator: "-")
    }
}
