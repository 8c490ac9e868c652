import Samples

/// What an account at Exist should hold, worked out from the weigh-ins that were played and from nothing else.
///
/// Whole numbers only: tenths of a kilogram as a scale shows them, and hundredths as Exist gets them. Nothing of the product decides here
/// with it.
struct ExistJudge: Sendable {
    /// A person stood on a scale.
    struct WeighIn: Hashable, Sendable {
        /// As the clock at the place showed it: `2024-05-14T07:30:00`.
        let time: String
        /// Every weight that it ever had, the present one last.
        var tenths: [Int]
        var isDeleted = false

        var day: Int { LocalDate(time.prefix(10))?.daysSinceEpoch ?? 0 }
    }

    var weighIns: [WeighIn] = []

    /// For how many days a weigh-in stands, its own included.
    private static let reach = 30

    // MARK: - What should be

    /// The value of a day in hundredths; nil where there is none.
    func value(on day: Int) -> Int? {
        for source in stride(from: day, to: day - Self.reach, by: -1) {
            let tenths = weighIns.filter { $0.day == source && !$0.isDeleted }.compactMap(\.tenths.last)
            if !tenths.isEmpty { return Self.mean(tenths) }
        }
        return nil
    }

    /// The mean in hundredths, half away from zero; of at most three weights, of which none has two neighbours equally near.
    private static func mean(_ tenths: [Int]) -> Int {
        let (sum, count) = (tenths.reduce(0, +) * 10, tenths.count)
        return (2 * sum + count) / (2 * count)
    }

    /// Whether a value was ever that of the day, in whatever order the weigh-ins, their corrections and deletions became known.
    func couldBe(_ hundredths: Int, on day: Int) -> Bool {
        (day - Self.reach + 1...day).contains { source in
            var sums = [(sum: 0, count: 0)]
            for weighIn in weighIns where weighIn.day == source {
                sums += sums.flatMap { known in weighIn.tenths.map { (known.sum + $0, known.count + 1) } }
            }
            return sums.contains { $0.count > 0 && (20 * $0.sum + $0.count) / (2 * $0.count) == hundredths }
        }
    }

    // MARK: - What is

    /// A number of Exist in hundredths; nil where it has more digits.
    static func hundredths(_ value: Double) -> Int? {
        let scaled = (value * 100).rounded()
        return abs(value * 100 - scaled) < 1e-6 ? Int(exactly: scaled) : nil
    }

    /// What is wrong with what Exist holds: days that are missing, another's, or too many.
    ///
    /// - Parameters:
    ///   - days: all that are to be there.
    ///   - open: a day that may be there or not, and is right where it is.
    func faults(held: [String: Double], days: ClosedRange<Int>, open: Int? = nil) -> [String] {
        var faults: [String] = []
        var rest = held
        for day in days {
            let date = LocalDate(daysSinceEpoch: day).text
            let there = rest.removeValue(forKey: date)
            let (wanted, found) = (value(on: day), there.map { Self.hundredths($0) ?? -1 })
            if wanted != found, !(day == open && found == nil) {
                faults.append(
                    "\(date): \(found.map(String.init) ?? "nothing") instead of \(wanted.map(String.init) ?? "nothing")"
                )
            }
        }
        return faults + rest.keys.sorted().map { "\($0): a value on a day that has none" }
    }

    /// What is wrong with what the hub has of the scale: weigh-ins that are lost, doubled, or others.
    func faults(stored: [(time: String, tenths: Int)]) -> [String] {
        let wanted = weighIns.filter { !$0.isDeleted }.map { "\($0.time) \($0.tenths.last ?? 0)" }
        let found = stored.map { "\($0.time) \($0.tenths)" }
        let (wantedCounts, foundCounts) = (Self.counts(wanted), Self.counts(found))
        return Set(wanted + found).sorted().compactMap { text in
            let (many, few) = (foundCounts[text] ?? 0, wantedCounts[text] ?? 0)
            return many == few ? nil : "\(text): \(many) times at the hub instead of \(few)"
        }
    }

    private static func counts(_ texts: [String]) -> [String: Int] {
        Dictionary(texts.map { ($0, 1) }, uniquingKeysWith: +)
    }

    // MARK: - What was called

    /// A line of the diary of the stand-in.
    struct Call: Decodable, Sendable {
        struct Object: Decodable, Sendable {
            var name: String?
            var date: String?
            var value: Double?
        }
        var time: String
        var user: String?
        var method: String
        var path: String
        /// Nil where the connection was cut.
        var status: Int?
        var fault: String?
        /// Of calls with a list; a log-in's is not written down.
        var body: [Object]?

        /// Seconds since 1970, by the clock of the stand-in.
        var seconds: Double { Double((try? Timestamp(parsing: time).microseconds) ?? 0) / 1e6 }
    }

    /// What was sent to an account and was never the value of that day, or on a day that had not come.
    func faults(sent calls: [Call], to user: String, attribute: String = "weight", through last: Int) -> [String] {
        calls.filter { $0.user == user && $0.path.hasSuffix("/update/") }.flatMap { call -> [String] in
            let objects = call.body ?? []
            var faults = objects.compactMap { object -> String? in
                let text = "\(object.date ?? "?") \(object.value.map { "\($0)" } ?? "?")"
                guard let date = object.date, let day = LocalDate(date)?.daysSinceEpoch, object.name == attribute,
                    let value = object.value.flatMap(Self.hundredths)
                else { return "\(text) of \(object.name ?? "?") was sent to \(user)" }
                if day > last { return "\(text) was sent to \(user) before that day" }
                return couldBe(value, on: day) ? nil : "\(text) was sent to \(user), which no weigh-in makes"
            }
            let dates = objects.compactMap(\.date)
            if Set(dates).count < dates.count { faults.append("a call has a day twice") }
            return faults
        }
    }

    /// What exceeds the limits that a caller has promised to keep to.
    ///
    /// - Parameters:
    ///   - perHour: calls in any sixty minutes.
    ///   - leeway: so many seconds the clock of the caller may have gone ahead of that of the stand-in, where one of them began again.
    ///   - wasCutOff: calls whose caller or service was killed before the answer can have been written down: a caller cannot
    ///     keep to a 429 that it was not told.
    ///   - isExempt: calls that a person made by logging in.
    static func faults(
        limits calls: [Call], of user: String, perHour: Int, leeway: Double, wasCutOff: (Call) -> Bool = { _ in false },
        isExempt: (Call) -> Bool = { _ in false }
    ) -> [String] {
        let own = calls.filter { $0.user == user }
        var faults = own.compactMap { call in
            (call.body?.count ?? 0) > 35 ? "\(call.time): \(call.body?.count ?? 0) objects in a call" : nil
        }
        faults += own.filter { $0.status == 429 && $0.fault == nil }.map { "\($0.time): the limit was reached" }
        let times = own.map(\.seconds).sorted()
        var first = 0
        for (place, time) in times.enumerated() {
            while time - times[first] >= 3_600 - leeway { first += 1 }
            if place - first + 1 > perHour {
                faults.append("\(own[place].time): \(place - first + 1) calls in an hour")
            }
        }
        for (place, call) in own.enumerated() where !wasCutOff(call) {
            guard let fault = call.fault?.split(separator: " ").first(where: { $0.hasPrefix("too-many=") }),
                let rest = Double(fault.dropFirst("too-many=".count).prefix { $0.isNumber }),
                let next = own[(place + 1)...].first(where: { !isExempt($0) })
            else { continue }
            if next.seconds < call.seconds + rest - leeway {
                faults.append(
                    "\(next.time): called \(Int(next.seconds - call.seconds)) s after 429 had asked for \(Int(rest))")
            }
        }
        return faults
    }

    // MARK: - What the hub says of it

    /// How a day stands with a sink, as `hub trace` tells.
    struct Delivery: Decodable, Sendable {
        struct Confirmed: Decodable, Sendable {
            var seq: Int64
            var receipt: String?
        }
        var sink: String
        var state: String
        var seq: Int64
        var reason: String?
        var confirmed: Confirmed?
    }

    /// Days that are neither delivered with the receipt of this account and day, nor answered with a reason.
    static func faults(ledger days: [(date: String, deliveries: [Delivery])], of sink: String, user: String) -> [String]
    {
        days.compactMap { day in
            let own = day.deliveries.filter { $0.sink == sink || $0.sink.hasPrefix(sink + "/") }
            guard own.count == 1, let delivery = own.first else {
                return "\(day.date): \(own.count) entries of \(sink)"
            }
            switch delivery.state {
            case "delivered":
                let receipt = delivery.confirmed?.receipt ?? ""
                return receipt == "\(user)/weight/\(day.date)" || receipt.hasPrefix("\(user)/weight/\(day.date),")
                    ? nil : "\(day.date): delivered with the receipt '\(receipt)'"
            case "refused", "skipped":
                return delivery.reason == nil ? "\(day.date): \(delivery.state) without a reason" : nil
            default: return "\(day.date): \(delivery.state) \(delivery.reason ?? "")"
            }
        }
    }
}
