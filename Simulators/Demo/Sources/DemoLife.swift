/// Invents a month: habits with some randomness, and incidents that always happen.
///
/// The same seed and length give the same month.
struct DemoLife {
    private let days: Int
    private var dice: Dice
    private var steps: [DemoStep] = []
    /// The weights that each scale has already shown.
    private var shown: [DemoScale: Set<Int>] = [:]

    static let household = [
        DemoPerson(
            name: "anna", height: 168, sex: "female", birthDate: "1984-05-06", unit: "kg", weight: 61.2...62.9,
            gains: false, slot: 0),
        DemoPerson(
            name: "ben", height: 183, sex: "male", birthDate: "1981-11-23", unit: "kg", weight: 80.4...82.6,
            gains: false, slot: 1),
        DemoPerson(
            name: "carl", height: 165, sex: "male", birthDate: "2011-02-14", unit: "kg", weight: 48.1...49.8,
            gains: true, slot: 2),
    ]

    /// - Parameter days: 1 to ``DemoTime/longest``.
    static func plan(days: Int, seed: UInt64) -> DemoPlan {
        var life = DemoLife(days: days, dice: Dice(seed: seed))
        life.live()
        // A separate generator, so that the month does not depend on the year before it.
        var dice = Dice(seed: ~seed)
        let year = DemoYear(of: household[0], &dice)
        let steps = life.steps.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }
        return DemoPlan(seed: seed, days: days, household: household, year: year, steps: steps.map(\.element))
    }

    private init(days: Int, dice: Dice) { (self.days, self.dice) = (days, dice) }

    private mutating func live() {
        let before = [(-12, "anna"), (-9, "carl"), (-5, "anna"), (-2, "anna")].map { day, name in
            weighing(.hs3, of: name, DemoTime(day, 7, dice.roll(0...20)))
        }
        note(.hs3, DemoTime(1, 0, 0), .remembers(before))
        for day in 1...days {
            habits(of: day)
            incidents(of: day)
        }
        note(.hs4, DemoTime(days, 21, 40), .fails("Er7", who: "ben"))
        note(.hs5, DemoTime(days, 22, 10), .fails("Lo", who: nil))
    }

    // MARK: Habits

    /// Anna weighs in the bathroom, Ben at his place of training, Carl when reminded, and all on Sundays and Wednesdays for the body composition.
    private mutating func habits(of day: Int) {
        if dice.chance(80), !isFlat(day) { weigh(.hs3, "anna", DemoTime(day, 6, 40 + dice.roll(0...15))) }
        if dice.chance(35), !isFlat(day) { weigh(.hs3, "carl", DemoTime(day, 7, 10 + dice.roll(0...15))) }
        if dice.chance(75), day != 3 { weigh(.hs4, "ben", DemoTime(day, 6, 5 + dice.roll(0...20))) }
        if dice.chance(20) { weigh(.hs4, "carl", DemoTime(day, 17, 30 + dice.roll(0...25))) }
        guard day % 7 == 1 || day % 7 == 4 else { return }
        weigh(.hs5, "anna", DemoTime(day, 19, 5 + dice.roll(0...15)))
        weigh(.hs5, "ben", DemoTime(day, 19, 30 + dice.roll(0...10)), hasShoes: day == 18)
        weigh(.hs5, "carl", DemoTime(day, 20, dice.roll(0...20)))
    }

    /// The days on which the battery of the HS3 is flat.
    private func isFlat(_ day: Int) -> Bool { day == 9 || day == 10 }

    // MARK: Incidents

    private mutating func incidents(of day: Int) {
        switch day {
        case 3: note(.hs4, DemoTime(day, 6, 12), .fails("Er7", who: "ben"))
        case 4: note(.hs3, DemoTime(day, 6, 0), .leaves("is lent to the neighbours' bathroom, out of reach"))
        case 5: other(.hs4, .guest("uncle theo"), 964, DemoTime(day, 20, 10))
        case 6:
            other(.hs4, .encumbered("carl", with: "his school bag"), 556, DemoTime(day, 7, 35))
            note(.hs3, DemoTime(day, 21, 0), .returns("comes back", fault: nil))
        case 7: other(.hs3, .misread("the cat"), 53, DemoTime(day, 12, 10))
        case 8: note(.hs5, DemoTime(day, 18, 0), .leaves("has no WiFi: the router is dead"))
        case 9:
            note(.hs5, DemoTime(day, 9, 0), .returns("has WiFi again", fault: nil))
            note(.hs3, DemoTime(day, 6, 50), .fails("Lo", who: "anna"))
        case 10:
            note(.hs3, DemoTime(day, 18, 30), .newBatteries)
            weigh(.hs3, "anna", DemoTime(day, 18, 40))
        case 11: note(.hs4, DemoTime(day, 5, 0), .leaves("cannot be reached: its radio stick is lent out"))
        case 14: note(.hs4, DemoTime(day, 21, 0), .returns("can be reached again", fault: "power-off=2"))
        case 16: other(.hs3, .guest("grandmother"), 712, DemoTime(day, 15, 40))
        case 20: note(.hs3, DemoTime(day, 5, 30), .leaves("is in the holiday flat, out of reach"))
        case 23: note(.hs3, DemoTime(day, 20, 0), .returns("comes back", fault: "hangup=150"))
        case 24: other(.hs4, .misread("one foot on the floor"), 312, DemoTime(day, 6, 50))
        case 26: note(.hs4, DemoTime(day, 21, 0), .fails("Er2", who: "carl"))
        case 27: other(.hs4, .guest("uncle theo"), 951, DemoTime(day, 20, 30))
        default: break
        }
        // A scale that is away at the end of a shorter month returns before its last evening ends.
        guard day == days else { return }
        let ends: [(DemoScale, ClosedRange<Int>)] = [(.hs3, 4...5), (.hs5, 8...8), (.hs4, 11...13), (.hs3, 20...22)]
        for (scale, away) in ends where away.contains(day) {
            note(scale, DemoTime(day, 21, 20), .returns("comes back", fault: nil))
        }
    }

    // MARK: Noting

    private mutating func note(_ scale: DemoScale, _ time: DemoTime, _ deed: DemoStep.Action) {
        steps.append(DemoStep(scale: scale, time: time, deed: deed))
    }

    private mutating func weigh(_ scale: DemoScale, _ name: String, _ time: DemoTime, hasShoes: Bool = false) {
        note(scale, time, .weighs(weighing(scale, of: name, time, hasShoes: hasShoes)))
    }

    private mutating func other(_ scale: DemoScale, _ who: DemoWeighing.Who, _ tenths: Int, _ time: DemoTime) {
        let own = unused(tenths, on: scale)
        note(scale, time, .weighs(DemoWeighing(scale: scale, who: who, tenthsOfKilogram: own, time: time)))
    }

    private mutating func weighing(
        _ scale: DemoScale, of name: String, _ time: DemoTime, hasShoes: Bool = false
    ) -> DemoWeighing {
        let range = DemoLife.household.first { $0.name == name }.map { ($0.weight, $0.gains) } ?? (0...0, false)
        // A body changes slowly over the month, and from day to day with meals and clothes.
        let way = Double(min(max(time.day, 0), DemoTime.longest)) / Double(DemoTime.longest)
        let (low, high) = (range.0.lowerBound, range.0.upperBound)
        let mean = range.1 ? low + (high - low) * way : high - (high - low) * way
        let tenths = Int((mean * 10).rounded()) + dice.roll(-3...3)
        return DemoWeighing(
            scale: scale, who: .person(name), tenthsOfKilogram: unused(tenths, on: scale), time: time,
            hasShoes: hasShoes)
    }

    /// The nearest weight that the scale has not shown yet.
    private mutating func unused(_ tenths: Int, on scale: DemoScale) -> Int {
        let taken = shown[scale, default: []]
        let free = (0...1000).lazy.flatMap { [tenths + $0, tenths - $0] }.first { !taken.contains($0) } ?? tenths
        shown[scale, default: []].insert(free)
        return free
    }
}
