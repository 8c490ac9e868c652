package import Foundation
import Samples

/// Instants of the hub's own (when it stored, heard, tried something), which it writes with `Z`, by the clocks of a zone.
///
/// `TimeZone.current` is the zone of `[hub]`, which the programs of the household run in, else this machine's.
package enum LocalTime {
    /// `2026-03-15 07:30:05 +01:00`, without a fraction.
    ///
    /// - Parameter microseconds: since 1970.
    package static func text(_ microseconds: Int64, zone: TimeZone = .current) -> String {
        MomentText.second(Timestamp(microseconds: microseconds).local(in: zone))
    }

    /// The same of RFC 3339; `nil` where the text is none.
    package static func text(_ text: String, zone: TimeZone = .current) -> String? {
        (try? Timestamp(parsing: text)).map { self.text($0.microseconds, zone: zone) }
    }

    /// A sentence of the hub's with each instant in it, such as `2026-03-15T06:30:05.25Z`, by the clocks of a zone.
    package static func inSentence(_ sentence: String, zone: TimeZone = .current) -> String {
        guard sentence.contains("Z") else { return sentence }
        // Not the start of a clock that is set, `2024-05-20T10:00:00Z@1`, which stays as hub.conf has it.
        return sentence.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z(?!@)/) {
            match in
            text(String(match.output.0), zone: zone) ?? String(match.output.0)
        }
    }
}
