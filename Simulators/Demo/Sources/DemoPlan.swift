import Samples

/// A month in the life of a household and its scales, as data: everything that happens, and whose each weigh-in is.
///
/// The plan is what a demonstration is judged by: nothing in it comes from the hub. The players carry it out, the story tells it, the
/// account compares it with the store.
struct DemoPlan: Sendable {
    let seed: UInt64
    let days: Int
    let household: [DemoPerson]
    /// What came before the month.
    let year: DemoYear
    /// In the order of time.
    let steps: [DemoStep]

    /// Everything that any scale ever weighs, with who it was.
    ///
    /// No scale shows the same weight twice, so that scale and weight name a weigh-in: one that is lost and one that is doubled never
    /// cancel each other.
    var weighings: [DemoWeighing] { steps.flatMap(\.weighings) }
}

/// A scale of the demonstration, a process of its own.
enum DemoScale: String, CaseIterable, Sendable, Codable, CodingKeyRepresentable {
    case hs3 = "HS3"
    case hs4 = "HS4"
    case hs5 = "HS5"

    /// As the simulator calls it.
    var model: String { rawValue.lowercased() }
    /// Its connector in `hub.conf`.
    var instance: String { "ihealth-\(model)" }
    /// Its address, which names it in records.
    var device: String { "02000000\(rawValue.last.map(String.init) ?? "0")001" }
    /// Records that a weigh-in becomes, where nothing is missing.
    var parts: Int { self == .hs5 ? 7 : 1 }
}

/// A person who lives there, and what `hub.conf` knows of them.
struct DemoPerson: Sendable {
    let name: String
    /// Centimetres.
    let height: Int
    let sex: String
    let birthDate: String
    /// What the scales show.
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
    /// Of the day.
    let minute: Int

    /// March 2026: its first is a Sunday, and its last Sunday has 23 hours.
    static let month = "March 2026"
    static let longest = 31

    init(_ day: Int, _ hour: Int, _ minute: Int) { (self.day, self.minute) = (day, hour * 60 + minute) }

    static func < (one: DemoTime, other: DemoTime) -> Bool {
        (one.day, one.minute) < (other.day, other.minute)
    }

    var date: LocalDate { LocalDate(daysSinceEpoch: DemoTime.dayBefore + day) }

    /// The last of February 2026, in days since 1970.
    private static let dayBefore = 20_512

    /// Seconds since 1970, were it in UTC.
    var seconds: Int { (DemoTime.dayBefore + day) * 86_400 + minute * 60 }

    /// `2026-03-05T07:31:00`, as a scale's clock shows it.
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
        /// A person who does not live there.
        case guest(String)
        /// Not a person's weight, and what it was.
        case misread(String)
        /// A person with something that makes the weight doubtful.
        case encumbered(String, with: String)
    }

    let scale: DemoScale
    let who: Who
    /// As the scale shows it.
    let tenthsOfKilogram: Int
    let time: DemoTime
    var hasShoes = false

    /// As a scale shows it: `62.1`.
    var kilograms: String { "\(tenthsOfKilogram / 10).\(tenthsOfKilogram % 10)" }

    /// The only person who may get it; the inbox is right too.
    var person: String? {
        switch who {
        case .person(let name), .encumbered(let name, _): name
        case .guest, .misread: nil
        }
    }

    /// Records that it becomes.
    var parts: Int { hasShoes ? 1 : scale.parts }
}

/// Something that happens to a scale.
struct DemoStep: Sendable {
    enum Deed: Sendable {
        /// Weigh-ins that the scale has in its memory before it is connected, and its clock is wrong.
        case remembers([DemoWeighing])
        case weighs(DemoWeighing)
        /// The display shows an error in place of a weight.
        case fails(String, who: String?)
        /// Out of reach; what is weighed now stays in the scale.
        case leaves(String)
        /// In reach again; `fault` befalls the link while the memory is read.
        case returns(String, fault: String?)
        /// Out and in: the scale begins its conversation again.
        case newBatteries
    }

    let scale: DemoScale
    let time: DemoTime
    let deed: Deed

    var weighings: [DemoWeighing] {
        switch deed {
        case .remembers(let weighings): weighings
        case .weighs(let weighing): [weighing]
        case .fails, .leaves, .returns, .newBatteries: []
        }
    }
}
