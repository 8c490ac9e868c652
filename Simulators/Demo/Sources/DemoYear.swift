/// The year before the month: what one person has noted of it, and the holes in it.
///
/// No scale of the demonstration has weighed any of that: a script gives it to the hub, as the README shows.
struct DemoYear: Sendable {
    struct Reading: Sendable, Hashable {
        let time: DemoTime
        let tenthsOfKilogram: Int
    }

    let person: String
    /// In the order of time.
    let readings: [Reading]

    /// Days without a weigh-in, by the first and the last of them: three, twelve and forty-five, so that a value is carried to the
    /// next weigh-in, and once for as long as it may be and no longer.
    static let holes = [-316 ... -314, -214 ... -203, -130 ... -86]
    /// From 1 March 2025 on, and until the HS3 remembers more.
    static let days = -364 ... -18

    /// The plugin that the script calls itself.
    static let source = "old-diary"

    init(of person: DemoPerson, _ dice: inout Dice) {
        var readings: [Reading] = []
        let (first, last) = (person.weight.upperBound + 4, person.weight.upperBound)
        for day in DemoYear.days where !DemoYear.holes.contains(where: { $0.contains(day) }) {
            // The days around a hole have one, so that its length is what it should be.
            let isEdge = [day - 1, day + 1].contains { day in DemoYear.holes.contains { $0.contains(day) } }
            let isEnd = day == DemoYear.days.lowerBound || day == DemoYear.days.upperBound
            guard dice.chance(60) || isEdge || isEnd else { continue }
            let way = Double(day - DemoYear.days.lowerBound) / Double(DemoYear.days.count - 1)
            let mean = Int(((first + (last - first) * way) * 10).rounded())
            readings.append(
                Reading(time: DemoTime(day, 6, 30 + dice.roll(0...25)), tenthsOfKilogram: mean + dice.roll(-4...4)))
            // And now and then again in the evening, after dinner.
            guard dice.chance(10) else { continue }
            readings.append(
                Reading(time: DemoTime(day, 21, dice.roll(0...50)), tenthsOfKilogram: mean + dice.roll(2...10)))
        }
        (self.person, self.readings) = (person.name, readings)
    }
}
