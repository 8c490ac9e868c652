public import HTMLText

/// How much of a goal is reached, as a ring.
public struct RingChart: Sendable {
    /// What is counted.
    public var name: String
    /// What was reached, and of how much, as people read it.
    public var value, goal: String
    /// 1 is all of it; more than that is a whole ring.
    public var part: Double

    public init(name: String, value: String, goal: String, part: Double) {
        (self.name, self.value, self.goal, self.part) = (name, value, goal, part)
    }

    public var html: HTML {
        let percent = part.isFinite ? Int((min(max(part, 0), 9.99) * 100).rounded()) : 0
        return """
            <svg class="ring" viewBox="0 0 100 100" role="img" aria-label="\(name): \(value) of \(goal), \(percent) percent">\
            <circle cx="50" cy="50" r="42"/>\
            <circle class="ring-part" cx="50" cy="50" r="42" pathLength="100" stroke-dasharray="\(min(percent, 100)) 100" transform="rotate(-90 50 50)"/>\
            <text x="50" y="50" dy="7">\(percent) %</text></svg>
            """
    }
}
