import Samples

/// The expected content of an account at Exist, computed only from the weigh-ins that were played.
///
/// It uses whole numbers only: tenths of a kilogram as a scale shows them, and hundredths as Exist gets them. No code of the product
/// takes part in the judgement.
struct ExistJudge: Sendable {
    /// One person on a scale.
    struct WeighIn: Hashable, Sendable {
        /// The local time of the place: `2024-05-14T07:30:00`.
        let time: String
        /// All weights that it ever had; the current one is last.
        var tenths: [Int]
        var isDeleted = false

        var day: Int { LocalDate(time.prefix(10))?.daysSinceEpoch ?? 0 }
    }

    var weighIns: [WeighIn] = []

    /// The number of days for which a weigh-in counts, including its own.
    private static let reach = 30

    // MARK: - Expected values

    /// The value of a day in hundredths; `nil` if the day has none.
    func value(on day: Int) -> Int? {
        for source in stride(from: day, to: day - Self.reach, by: -1) {
            let tenths = weighIns.filter { $0.day == source && !$0.isDeleted }.compactMap(\.tenths.last)
            if !tenths.isEmpty { return Self.mean(tenths) }
        }
        return nil
    }

    /// The mean of at most three weights in hundredths, rounded half away from zero; it never lies between two equally near neighbours.
    private static func mean(_ tenths: [Int]) -> Int {
        let (sum, count) = (tenths.reduce(0, +) * 10, tenths.count)
        return (2 * sum + count) / (2 * count)
    }

    /// Whether a value can ever have been that of the day, for any order in which weigh-ins, corrections and deletions became known.
    func couldBe(_ hundredths: Int, on day: Int) -> Bool {
        (day - Self.reach + 1...day).contains { source in
            var sums = [(sum: 0, count: 0)]
            for weighIn in weighIns where weighIn.day == source {
                sums += sums.flatMap { known in weighIn.tenths.map { (known.sum + $0, known.count + 1) } }
            }
            return sums.contains { $0.count > 0 && (20 * $0.sum + $0.count) / (2 * $0.count) == hundredths }
        }
    }

    // MARK: - Actual values

    /// A number of Exist in hundredths; `nil` if it has more digits.
    static func hundredths(_ value: Double) -> Int? {
        let scaled = (value * 100).rounded()
        return abs(value * 100 - scaled) < 1e-6 ? Int(exactly: scaled) : nil
    }

    /// The faults in the values of Exist: days that are missing, wrong or superfluous.
    ///
    /// - Parameters:
    ///   - days: all days that must be there.
    ///   - open: a day that may be missing, but must be right if it is there.
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
        return faults + rest.keys.sorted().map { "\($0): a value on a day that must have none" }
    }

    /// The faults in the hub's weigh-ins of the scale: those that are lost, doubled or wrong.
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

    // MARK: - Calls

    /// A line of the stand-in's diary.
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
        /// `nil` if the connection was cut.
        var status: Int?
        var fault: String?
        /// The list of a call that has one; the body of a log-in is not recorded.
        var body: [Object]?

        /// Seconds since 1970, by the stand-in's clock.
        var seconds: Double { Double((try? Timestamp(parsing: time).microseconds) ?? 0) / 1e6 }
    }

    /// The values sent to an account that were never those of their day, or whose day had not begun.
    func faults(sent calls: [Call], to user: String, attribute: String = "weight", through last: Int) -> [String] {
        calls.filter { $0.user == user && $0.path.hasSuffix("/update/") }.flatMap { call -> [String] in
            let objects = call.body ?? []
            var faults = objects.compactMap { object -> String? in
                let text = "\(object.date ?? "?") \(object.value.map { "\($0)" } ?? "?")"
                guard let date = object.date, let day = LocalDate(date)?.daysSinceEpoch, object.name == attribute,
                    let value = object.value.flatMap(Self.hundredths)
                else { return "\(text) of \(object.name ?? "?") was sent to \(user)" }
                if day > last { return "\(text) was sent to \(user) before that day" }
                return couldBe(value, on: day) ? nil : "\(text) was sent to \(user), but no weigh-in has that value"
            }
            let dates = objects.compactMap(\.date)
            if Set(dates).count < dates.count { faults.append("a call contains the same day twice") }
            return faults
        }
    }

    /// The calls beyond the limits that a caller has promised to keep.
    ///
    /// - Parameters:
    ///   - perHour: calls in any sixty minutes.
    ///   - leeway: the seconds by which the caller's clock may be ahead of the stand-in's after one of them was restarted.
    ///   - wasCutOff: whether caller or service was killed before the caller could note the answer: a caller cannot keep to a 429 that
    ///     it did not receive.
    ///   - isExempt: whether a person's log-in made the call.
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

    // MARK: - The hub's account

    /// A delivery of a day to a sink, as `hub trace` shows it.
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

    /// The days that were neither delivered with the receipt of this account and day, nor answered with a reason.
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
