/// Hints about things to see on the page, each printed once, when it happens.
struct DemoTour {
    /// Whether the page is open.
    var hasBegun = false
    private var told: Set<String> = []

    /// The lines printed with the link.
    static func beginning(_ link: String) -> [String] {
        [
            "The page of this hub, for a browser of this machine:", "", "  \(link)", "",
            "The link is good for one log-in within ten minutes; hub web makes another. Open it,",
            "and look there whenever a line below begins with “look:”.", "",
        ]
    }

    /// The hints of a step that were not printed before, as lines of the story.
    mutating func tell(_ hints: [String]) -> [String] {
        guard hasBegun else { return [] }
        return hints.compactMap { told.insert($0).inserted ? "        look: \($0)" : nil }
    }

    static func hints(_ step: DemoStep, _ outcome: DemoOutcome) -> [String] {
        switch (step.deed, outcome) {
        case (.weighs, .decided(let decision)) where decision.person == nil:
            ["the page Inbox asks whose this is: one press gives it to a person"]
        case (.weighs(let weighing), .decided(let decision)):
            ["a person stepped on the scale: the first page has the weight when it is read again"]
                + (decision.fat == nil || weighing.scale != .hs5 ? [] : ["All data has the HS5's other measurements"])
        case (.fails, .fault): ["Devices shows each scale's fault and battery level"]
        case (.returns, .remembered(let decisions, _)) where !decisions.isEmpty:
            ["the weights of those days: the trend has measured points where days were carried before"]
        default: []
        }
    }
}
