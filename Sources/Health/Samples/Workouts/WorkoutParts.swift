import JSON

/// A source's details of a workout besides activity and interval: the record's member `workout` (Docs/Samples.md, Workouts).
public struct WorkoutParts: Hashable, Sendable {
    /// Seconds, without pauses; `nil` if the source does not give it.
    public var duration: Double?
    /// Sums and means over the workout, as the source has them.
    ///
    /// They are not samples and must not be added to samples.
    public var totals: [Total]
    /// Pauses, laps and other marks, in the source's order.
    public var events: [Event]
    /// The parts of a workout of several activities, such as a triathlon.
    public var activities: [Activity]

    /// Creates the parts; all are optional.
    public init(
        duration: Double? = nil, totals: [Total] = [], events: [Event] = [], activities: [Activity] = []
    ) {
        (self.duration, self.totals, self.events, self.activities) = (duration, totals, events, activities)
    }

    /// One number over a whole workout or activity.
    public struct Total: Hashable, Sendable {
        /// How the values were combined.
        public enum Statistic: String, Hashable, Sendable, CaseIterable {
            /// Their sum.
            case sum
            /// Their mean, as the source computes it.
            case average
            /// The smallest.
            case minimum
            /// The largest.
            case maximum
        }

        /// The measured quantity type.
        public var type: TypeID
        /// How ``value`` was computed from the measured values.
        public var statistic: Statistic
        /// The number, in ``unit``.
        public var value: Double
        /// The unit, as the source wrote it.
        public var unit: String

        /// Creates a total of a quantity type.
        public init(_ type: TypeID, _ value: Double, unit: String, statistic: Statistic = .sum) {
            (self.type, self.statistic, self.value, self.unit) = (type, statistic, value, unit)
        }
    }

    /// Something that happened during a workout.
    public struct Event: Hashable, Sendable {
        /// HealthKit's eight kinds, by its numbers.
        public enum Kind: Int, Hashable, Sendable, CaseIterable {
            /// The person stopped the workout's clock.
            case pause = 1
            /// The clock continues after ``pause``.
            case resume
            /// The end of a lap, or the whole lap if the event has a duration.
            case lap
            /// A point that the person marked.
            case marker
            /// The device detected that the person stood still and stopped the clock.
            case motionPaused
            /// The clock continues after ``motionPaused``.
            case motionResumed
            /// A stretch of the workout, from start to end.
            case segment
            /// The person asked the device to pause or resume; it does not change the duration.
            case pauseOrResumeRequest
        }

        /// The kind of event.
        public var kind: Kind
        /// The time of the event, or its start.
        public var start: Timestamp
        /// Equal to ``start`` if the event has no duration.
        public var end: Timestamp
        /// Everything else the source knows about it, as in ``Sample/metadata``.
        public var metadata: JSONObject?

        /// Creates an event; without `end` it is an instant.
        public init(_ kind: Kind, at start: Timestamp, until end: Timestamp? = nil, metadata: JSONObject? = nil) {
            (self.kind, self.start, self.end, self.metadata) = (kind, start, end ?? start, metadata)
        }
    }

    /// One activity of several.
    public struct Activity: Hashable, Sendable {
        /// The activity.
        public var activity: WorkoutActivity
        /// When it began.
        public var start: Timestamp
        /// `nil` if the source does not give it.
        public var end: Timestamp?
        /// Seconds, without pauses; `nil` if the source does not give it.
        public var duration: Double?
        /// Sums and means over this activity alone.
        public var totals: [Total]
        /// The events of this activity.
        public var events: [Event]
        /// Everything else the source knows about it, as in ``Sample/metadata``.
        public var metadata: JSONObject?

        /// Creates an activity with its interval.
        public init(
            _ activity: WorkoutActivity, from start: Timestamp, to end: Timestamp? = nil, duration: Double? = nil,
            totals: [Total] = [], events: [Event] = [], metadata: JSONObject? = nil
        ) {
            (self.activity, self.start, self.end, self.duration) = (activity, start, end, duration)
            (self.totals, self.events, self.metadata) = (totals, events, metadata)
        }
    }

    /// The active time in seconds: the source's duration, else the interval without its pauses.
    ///
    /// A pause without an end lasts until the end of the interval. Time outside the interval does not count.
    public func duration(from start: Timestamp, to end: Timestamp) -> Double {
        if let duration { return duration }
        let interval = start.microseconds...max(start.microseconds, end.microseconds)
        var paused: Int64 = 0
        var (began, open): (Int64, Set<Event.Kind>) = (0, [])
        func clamped(_ time: Int64) -> Int64 { min(max(time, interval.lowerBound), interval.upperBound) }
        for event in events.sorted(by: { $0.start.microseconds < $1.start.microseconds }) {
            let isPaused = !open.isEmpty
            switch event.kind {
            case .pause, .motionPaused: open.insert(event.kind)
            case .resume: open.remove(.pause)
            case .motionResumed: open.remove(.motionPaused)
            default: continue
            }
            if !isPaused, !open.isEmpty { began = clamped(event.start.microseconds) }
            if isPaused, open.isEmpty { paused += clamped(event.start.microseconds) - began }
        }
        if !open.isEmpty { paused += interval.upperBound - began }
        return Double(interval.upperBound - interval.lowerBound - paused) / 1_000_000
    }
}
