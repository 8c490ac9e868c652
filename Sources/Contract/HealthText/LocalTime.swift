package import Foundation
import Samples

/// Shows the hub's own instants (of storing, hearing, trying), which it writes with `Z`, by the clocks of a zone.
///
/// `TimeZone.current` is the zone of `[hub]`, in which the household's programs run, or else this machine's.
package enum LocalTime {
    /// `2026-03-15 07:30:05 +01:00`, without a fraction.
    ///
    /// - Parameter microseconds: since 1970.
    package static func text(_ microseconds: Int64, zone: TimeZone = .current) -> String {
        MomentText.second(Timestamp(microseconds: microseconds).local(in: zone))
    }

    /// Converts an RFC 3339 text; `nil` if the text is not one.
    package static func text(_ text: String, zone: TimeZone = .current) -> String? {
        (try? Timestamp(parsing: text)).map { self.text($0.microseconds, zone: zone) }
    }

    /// Replaces each instant in a sentence of the hub, such as `2026-03-15T06:30:05.25Z`, with its time in a zone.
    package static func inSentence(_ sentence: String, zone: TimeZone = .current) -> String {
        guard sentence.contains("Z") else { return sentence }
        // Skip the start of a simulated clock, `2024-05-20T10:00:00Z@1`, because it must stay as written in hub.conf.
        return sentence.replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z(?!@)/) {
            match in text(String(match.output.0), zone: zone) ?? String(match.output.0)
        }
    }
}
