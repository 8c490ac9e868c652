import PluginKit
import ScaleFrames

/// How a weighing becomes a record.
///
/// The same weighing comes as a `28` frame when it happens and again in every memory transfer, over any link and after any
/// restart. All of them have to be one record with one content; otherwise each transfer would make 200 new versions. So the
/// content holds what the weighing *is* (its bytes, the zone, the rule for the hour) and nothing of how it was read: no
/// place in the memory, no time of reading, no deviation of the clock in seconds. The one judgement in it, `clockSuspect`,
/// depends on the session; ``KnownWeighings`` therefore keeps the first one that was made.
struct WeightMapping: Sendable {
    let source: Source
    let clock: LocalClock

    /// The record of `reading`, whose date the scale had as `wall`.
    ///
    /// Nil only if its key had a form that no record may have, which twelve hex digits do not.
    func sample(_ reading: HS3Reading, at wall: WallTime, isClockSuspect: Bool) -> Sample? {
        guard let key = RecordKey(reading.key.description) else { return nil }
        let placed = clock.place(wall)
        var metadata = "{\"local\":\"\(wall)\""
        if placed.isAmbiguous { metadata += ",\"dstAmbiguous\":true" }
        if placed.isInGap { metadata += ",\"dstGap\":true" }
        if isClockSuspect { metadata += ",\"clockSuspect\":true" }
        return Sample(
            source: source, key: key, type: .weight, value: .quantity(reading.kilograms, unit: "kg"),
            start: placed.time, zone: clock.name, metadata: JSONObject(trusted: metadata + "}"))
    }

    /// Whether the date of a weighing is not to be trusted.
    ///
    /// - Parameters:
    ///   - deviation: by how many seconds the clock was wrong that the weighing was dated by; nil where unknown.
    ///   - now: microseconds since 1970 by the hub's clock.
    func isClockSuspect(_ wall: WallTime, deviation: Int?, now: Int64) -> Bool {
        let isFuture = clock.place(wall).time.microseconds > now + Int64(Self.tolerance) * 1_000_000
        return isFuture || wall.year < 2010 || abs(deviation ?? 0) > Self.tolerance
    }

    /// Five minutes, in seconds.
    ///
    /// Scales run fast or slow by a minute a fortnight.
    static let tolerance = 300
}
