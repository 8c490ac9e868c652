/// The year before the month: one person's notes, with holes.
///
/// These weights do not come from a scale of the demonstration: a script gives them to the hub, as shown in the README.
struct DemoYear: Sendable {
    struct Reading: Sendable, Hashable {
        let time: DemoTime
        let tenthsOfKilogram: Int
    }

    let person: String
    /// The notes in the order of time.
    let readings: [Reading]

    /// Days without a weigh-in, as ranges of three, twelve and forty-five days.
    ///
    /// In the first two a value is carried to the next weigh-in, in the last one only for the maximum time.
    static let holes = [-316 ... -314, -214 ... -203, -130 ... -86]
    /// From 1 March 2025 until the first day in the HS3's memory.
    static let days = -364 ... -18

    /// The plugin name that the script uses.
    static let source = "old-diary"

    init(of person: DemoPerson, _ dice: inout Dice) {
        var readings: [Reading] = []
        let (first, last) = (person.weight.upperBound + 4, person.weight.upperBound)
        for day in DemoYear.days where !DemoYear.holes.contains(where: { $0.contains(day) }) {
            // The days around a hole have a weigh-in, so that its length is exact.
            let isEdge = [day - 1, day + 1].contains { day in DemoYear.holes.contains { $0.contains(day) } }
            let isEnd = day == DemoYear.days.lowerBound || day == DemoYear.days.upperBound
            guard dice.chance(60) || isEdge || isEnd else { continue }
            let way = Double(day - DemoYear.days.lowerBound) / Double(DemoYear.days.count - 1)
            let mean = Int(((first + (last - first) * way) * 10).rounded())
            readings.append(
                Reading(time: DemoTime(day, 6, 30 + dice.roll(0...25)), tenthsOfKilogram: mean + dice.roll(-4...4)))
            // Sometimes a second weigh-in in the evening, after dinner.
            guard dice.chance(10) else { continue }
            readings.append(
                Reading(time: DemoTime(day, 21, dice.roll(0...50)), tenthsOfKilogram: mean + dice.roll(2...10)))
        }
        (self.person, self.readings) = (person.name, readings)
    }
}
