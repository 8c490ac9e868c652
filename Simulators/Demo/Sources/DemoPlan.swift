import Samples

/// A month of a household and its scales, as data: all events, and the person of each weigh-in.
///
/// A demonstration is checked against the plan, and nothing in it comes from the hub. The players carry it out, the story reports it, and the
/// account compares it with the store.
struct DemoPlan: Sendable {
    let seed: UInt64
    let days: Int
    let household: [DemoPerson]
    /// The year before the month.
    let year: DemoYear
    /// The steps in the order of time.
    let steps: [DemoStep]

    /// All weigh-ins of all scales, with their persons.
    ///
    /// No scale shows the same weight twice, so that scale and weight identify a weigh-in. A missing weigh-in and a doubled one therefore never
    /// cancel each other out.
    var weighings: [DemoWeighing] { steps.flatMap(\.weighings) }
}

/// A scale of the demonstration; each runs in a separate process.
enum DemoScale: String, CaseIterable, Sendable, Codable, CodingKeyRepresentable {
    case hs3 = "HS3"
    case hs4 = "HS4"
    case hs5 = "HS5"

    /// The simulator's name of the model.
    var model: String { rawValue.lowercased() }
    /// The name of its connector in `hub.conf`.
    var instance: String { "ihealth-\(model)" }
    /// Its address, which identifies it in records.
    var device: String { "02000000\(rawValue.last.map(String.init) ?? "0")001" }
    /// The number of records from one complete weigh-in.
    var parts: Int { self == .hs5 ? 7 : 1 }
}

/// A member of the household, with the data in `hub.conf`.
struct DemoPerson: Sendable {
    let name: String
    /// Centimetres.
    let height: Int
    let sex: String
    let birthDate: String
    /// The unit that the scales show.
    let unit: String
    /// Kilograms, before the month and after it.
    let weight: ClosedRange<Double>
    let gains: Bool
    /// The position on the HS5.
    let slot: Int
}

/// A minute of the month, by the clocks of the household.
struct DemoTime: Comparable, Hashable, Sendable {
    /// From 1; 0 is the last day of the month before.
    let day: Int
    /// The minute of the day.
    let minute: Int

    /// March 2026: its first is a Sunday, and its last Sunday has 23 hours.
    static let month = "March 2026"
    static let longest = 31

    init(_ day: Int, _ hour: Int, _ minute: Int) { (self.day, self.minute) = (day, hour * 60 + minute) }

    static func < (one: DemoTime, other: DemoTime) -> Bool {
        (one.day, one.minute) < (other.day, other.minute)
    }

    var date: LocalDate { LocalDate(daysSinceEpoch: DemoTime.dayBefore + day) }

    /// The last day of February 2026, in days since 1970.
    private static let dayBefore = 20_512

    /// Seconds since 1970, as if the household's zone were UTC.
    var seconds: Int { (DemoTime.dayBefore + day) * 86_400 + minute * 60 }

    /// The display of a scale's clock: `2026-03-05T07:31:00`.
    var local: String { "\(date.text)T\(clock):00" }

    /// For people: `07:31`.
    var clock: String { "\(DemoTime.two(minute / 60)):\(DemoTime.two(minute % 60))" }

    /// For people: `Thu 5 March`.
    var dayName: String {
        let names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ]
        return "\(names[((day - 1) % 7 + 7) % 7]) \(date.day) \(months[date.month - 1])"
    }

    private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// One weigh-in.
struct DemoWeighing: Sendable, Hashable {
    enum Who: Sendable, Hashable {
        case person(String)
        /// A person from outside the household.
        case guest(String)
        /// Not a person's weight; the text describes its origin.
        case misread(String)
        /// A person with an additional load that makes the weight doubtful.
        case encumbered(String, with: String)
    }

    let scale: DemoScale
    let who: Who
    /// The weight that the scale shows.
    let tenthsOfKilogram: Int
    let time: DemoTime
    var hasShoes = false

    /// The display of a scale: `62.1`.
    var kilograms: String { "\(tenthsOfKilogram / 10).\(tenthsOfKilogram % 10)" }

    /// The only person to whom it may be assigned; the inbox is also correct.
    var person: String? {
        switch who {
        case .person(let name), .encumbered(let name, _): name
        case .guest, .misread: nil
        }
    }

    /// The number of records from this weigh-in.
    var parts: Int { hasShoes ? 1 : scale.parts }
}

/// An event of a scale.
struct DemoStep: Sendable {
    enum Action: Sendable {
        /// Weigh-ins that are in the scale's memory before it connects, with a wrong clock.
        case remembers([DemoWeighing])
        case weighs(DemoWeighing)
        /// The display shows an error instead of a weight.
        case fails(String, who: String?)
        /// Out of reach; weigh-ins stay in the scale.
        case leaves(String)
        /// In reach again; `fault` affects the link while the memory is read.
        case returns(String, fault: String?)
        /// The batteries are replaced: the scale starts a new session.
        case newBatteries
    }

    let scale: DemoScale
    let time: DemoTime
    let deed: Action

    var weighings: [DemoWeighing] {
        switch deed {
        case .remembers(let weighings): weighings
        case .weighs(let weighing): [weighing]
        case .fails, .leaves, .returns, .newBatteries: []
        }
    }
}
