/// The progress towards a goal, as a ring.
struct RingChart: Sendable {
    /// The name of the figure.
    var name: String
    /// The reached value and the goal, as text for people.
    var value, goal: String
    /// The reached part, with 1 for the goal; a larger value shows a full ring.
    var part: Double

    var html: HTML {
        let percent = part.isFinite ? Int((min(max(part, 0), 9.99) * 100).rounded()) : 0
        return """
            <svg class="ring" viewBox="0 0 100 100" role="img" aria-label="\(name): \(value) of \(goal), \(percent) percent">\
            <circle cx="50" cy="50" r="42"/>\
            <circle class="ring-part" cx="50" cy="50" r="42" pathLength="100" stroke-dasharray="\(min(percent, 100)) 100" transform="rotate(-90 50 50)"/>\
            <text x="50" y="50" dy="7">\(percent) %</text></svg>
            """
    }
}
