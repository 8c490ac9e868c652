import JSON

/// What a source says of a workout besides its activity and interval: the record's member `workout` (Docs/Samples.md, Workouts).
public struct WorkoutParts: Hashable, Sendable {
    /// Seconds, without pauses; `nil` where the source does not say it.
    public var duration: Double?
    /// Sums and means over the workout, as the source has them: no samples, and not to be added to samples.
    public var totals: [Total]
    /// Pauses, laps and other marks, in the order in which the source gives them.
    public var events: [Event]
    /// The parts of a workout of several activities, such as a triathlon.
    public var activities: [Activity]

    /// No parts, or some.
    public init(
        duration: Double? = nil, totals: [Total] = [], events: [Event] = [], activities: [Activity] = []
    ) {
        (self.duration, self.totals, self.events, self.activities) = (duration, totals, events, activities)
    }

    /// One number over a whole workout or activity.
    public struct Total: Hashable, Sendable {
        /// What was made of the values.
        public enum Statistic: String, Hashable, Sendable, CaseIterable {
            /// All of them added up.
            case sum
            /// Their mean, as the source computes it.
            case average
            /// The smallest.
            case minimum
            /// The largest.
            case maximum
        }

        /// What was measured: a quantity type.
        public var type: TypeID
        /// What ``value`` is of the values that were measured.
        public var statistic: Statistic
        /// The number, in ``unit``.
        public var value: Double
        /// As the source wrote it.
        public var unit: String

        /// A number of a quantity type.
        public init(_ type: TypeID, _ value: Double, unit: String, statistic: Statistic = .sum) {
            (self.type, self.statistic, self.value, self.unit) = (type, statistic, value, unit)
        }
    }

    /// Something that happened during a workout.
    public struct Event: Hashable, Sendable {
        /// HealthKit's eight kinds, by its numbers.
        public enum Kind: Int, Hashable, Sendable, CaseIterable {
            /// The person has stopped the clock of the workout.
            case pause = 1
            /// The clock goes on after ``pause``.
            case resume
            /// The end of a lap, or the lap, where it has a length.
            case lap
            /// A point that the person has marked.
            case marker
            /// The device has found that the person stands still, and has stopped the clock.
            case motionPaused
            /// The clock goes on after ``motionPaused``.
            case motionResumed
            /// A stretch of the workout, from start to end.
            case segment
            /// The person has asked the device for a pause, or for its end; it changes no duration.
            case pauseOrResumeRequest
        }

        /// What happened.
        public var kind: Kind
        /// When it happened, or began.
        public var start: Timestamp
        /// Equal to ``start`` where it has no length.
        public var end: Timestamp
        /// What else the source knows of it, as in ``Sample/metadata``.
        public var metadata: JSONObject?

        /// An event; without an end an instant.
        public init(_ kind: Kind, at start: Timestamp, until end: Timestamp? = nil, metadata: JSONObject? = nil) {
            (self.kind, self.start, self.end, self.metadata) = (kind, start, end ?? start, metadata)
        }
    }

    /// One activity of several.
    public struct Activity: Hashable, Sendable {
        /// What was done.
        public var activity: WorkoutActivity
        /// When it began.
        public var start: Timestamp
        /// `nil` where the source does not say it.
        public var end: Timestamp?
        /// Seconds, without pauses; `nil` where the source does not say it.
        public var duration: Double?
        /// Sums and means over this activity alone.
        public var totals: [Total]
        /// What happened during this activity.
        public var events: [Event]
        /// What else the source knows of it, as in ``Sample/metadata``.
        public var metadata: JSONObject?

        /// An activity with its interval.
        public init(
            _ activity: WorkoutActivity, from start: Timestamp, to end: Timestamp? = nil, duration: Double? = nil,
            totals: [Total] = [], events: [Event] = [], metadata: JSONObject? = nil
        ) {
            (self.activity, self.start, self.end, self.duration) = (activity, start, end, duration)
            (self.totals, self.events, self.metadata) = (totals, events, metadata)
        }
    }

    /// Seconds of moving: what the source says, else the interval without what lies between a pause and its resumption.
    ///
    /// A pause that is not ended lasts to the end; what lies outside the interval does not count.
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
