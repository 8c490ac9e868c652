import Samples
import Testing

/// The judge finds planted faults, and finds none in right values.
@Suite struct ExistJudgeTests {
    private let judge = ExistJudge(weighIns: [
        .init(time: "2024-05-01T07:00:00", tenths: [800]), .init(time: "2024-05-04T07:00:00", tenths: [790]),
        .init(time: "2024-05-04T19:00:00", tenths: [795]), .init(time: "2024-05-06T07:00:00", tenths: [785, 781]),
        .init(time: "2024-05-08T07:00:00", tenths: [700], isDeleted: true),
    ])
    private let right = [
        "2024-05-01": 80, "2024-05-02": 80, "2024-05-03": 80, "2024-05-04": 79.25, "2024-05-05": 79.25,
        "2024-05-06": 78.1, "2024-05-07": 78.1, "2024-05-08": 78.1,
    ]

    private func day(_ text: String) throws -> Int { try #require(LocalDate(text)).daysSinceEpoch }

    private func faults(_ change: (inout [String: Double]) -> Void = { _ in }) throws -> [String] {
        var held = right
        change(&held)
        return judge.faults(held: held, days: try day("2024-04-25")...(try day("2024-05-08")))
    }

    @Test func `a mean is carried for thirty days including its own, and rounded half away from zero`() throws {
        #expect(try faults().isEmpty)
        let one = ExistJudge(weighIns: [.init(time: "2024-01-01T07:00:00", tenths: [750])])
        #expect(one.value(on: try day("2024-01-30")) == 7_500)
        #expect(one.value(on: try day("2024-01-31")) == nil)
        #expect(one.value(on: try day("2023-12-31")) == nil)
        let three = ExistJudge(weighIns: [800, 806, 811].map { .init(time: "2024-05-10T07:00:00", tenths: [$0]) })
        #expect(three.value(on: try day("2024-05-10")) == 8_057)
    }

    @Test func `a lost day, a wrong one, one too many and a shift by a day are faults`() throws {
        #expect(try faults { $0["2024-05-05"] = nil }.count == 1)
        #expect(try faults { $0["2024-05-04"] = 79.08 }.count == 1, "a weigh-in that is counted twice")
        #expect(try faults { $0["2024-05-06"] = 78.5 }.count == 1, "a correction that is lost")
        #expect(try faults { $0["2024-05-08"] = 70 }.count == 1, "a deletion that is lost")
        #expect(try faults { $0["2024-04-30"] = 80 }.count == 1)
        #expect(try faults { $0["2024-05-09"] = 78.1 }.count == 1)
        #expect(try faults { $0["2024-05-01"] = 80.001 }.count == 1)
        for shift in [-1, 1] {
            let shifted = try faults { held in
                held = Dictionary(
                    uniqueKeysWithValues: held.map { date, value in
                        (LocalDate(date)?.adding(days: shift).text ?? "", value)
                    })
            }
            #expect(shifted.count >= 3)
        }
    }

    @Test func `a weigh-in that the hub has lost, doubled or moved is a fault`() {
        let stored = [
            ("2024-05-01T07:00:00", 800), ("2024-05-04T07:00:00", 790), ("2024-05-04T19:00:00", 795),
            ("2024-05-06T07:00:00", 781),
        ]
        #expect(judge.faults(stored: stored).isEmpty)
        #expect(judge.faults(stored: Array(stored.dropFirst())).count == 1)
        #expect(judge.faults(stored: stored + [stored[1]]).count == 1)
        #expect(judge.faults(stored: stored + [("2024-05-08T07:00:00", 700)]).count == 1)
        #expect(judge.faults(stored: stored.dropLast() + [("2024-05-07T07:00:00", 781)]).count == 2)
    }

    private func call(
        _ time: String, _ objects: [(String, Double)] = [], user: String = "mira", name: String = "weight",
        status: Int? = 200, fault: String? = nil
    ) -> ExistJudge.Call {
        .init(
            time: "2024-05-08T\(time)Z", user: user, method: "POST", path: "/api/2/attributes/update/", status: status,
            fault: fault, body: objects.map { .init(name: name, date: $0.0, value: $0.1) })
    }

    @Test func `a sent value that was never that of its day is a fault`() throws {
        let last = try day("2024-05-08")
        func faults(_ objects: (String, Double)..., user: String = "mira", name: String = "weight") -> [String] {
            judge.faults(sent: [call("10:00:00", objects, user: user, name: name)], to: "mira", through: last)
        }
        // Values of earlier moments: one of two weigh-ins, an uncorrected one, one that was carried until then, a deleted one.
        #expect(faults(("2024-05-04", 79.5), ("2024-05-06", 78.5), ("2024-05-05", 80), ("2024-05-08", 70)).isEmpty)
        #expect(faults(("2024-05-03", 79.25)).count == 1, "a day early")
        #expect(faults(("2024-05-04", 79.08)).count == 1, "counted twice")
        #expect(faults(("2024-04-30", 80)).count == 1)
        #expect(faults(("2024-05-09", 78.1)).count == 1, "tomorrow")
        #expect(faults(("2024-05-04", 62.1)).count == 1, "another person's")
        #expect(faults(("2024-05-01", 80), name: "steps").count == 1)
        #expect(faults(("2024-05-01", 80), ("2024-05-01", 80)).count == 1)
        #expect(faults(("2024-05-04", 62.1), user: "anna").isEmpty, "the account of another judge")
    }

    @Test func `calls beyond the limits are faults, and so is a call before the time of a 429 is over`() {
        func faults(_ calls: [ExistJudge.Call], perHour: Int = 3, leeway: Double = 0) -> [String] {
            ExistJudge.faults(limits: calls, of: "mira", perHour: perHour, leeway: leeway)
        }
        let times = ["10:00:00", "10:20:00", "10:40:00", "11:00:00"]
        #expect(faults(times.map { call($0) }).isEmpty)
        #expect(faults(times.dropLast().map { call($0) } + [call("10:59:59")]).count == 1)
        #expect(faults(times.dropLast().map { call($0) } + [call("10:59:59")], leeway: 2).isEmpty)
        #expect(faults(times.map { call($0, user: "anna") }, perHour: 1).isEmpty)
        #expect(faults([call("10:00:00", status: 429)]).count == 1, "the service's own limit")
        let rest = call("10:00:00", status: 429, fault: "too-many=900.0%2.0")
        #expect(faults([rest, call("10:15:00")]).isEmpty)
        #expect(faults([rest, call("10:14:00")]).count == 1)
        let cutOff = ExistJudge.faults(
            limits: [rest, call("10:14:00")], of: "mira", perHour: 3, leeway: 0, wasCutOff: { $0.time == rest.time })
        #expect(cutOff.isEmpty, "a caller that was killed does not know of the 429")
        #expect(faults([call("10:00:00", Array(repeating: ("2024-05-01", 80), count: 36))]).count == 1)
    }

    @Test func `a ledger that is open, or closed with another's receipt, is a fault`() {
        func faults(_ state: String, _ receipt: String? = nil, reason: String? = nil, sink: String = "exist/days")
            -> [String]
        {
            let delivery = ExistJudge.Delivery(
                sink: sink, state: state, seq: 7, reason: reason, confirmed: .init(seq: 7, receipt: receipt))
            return ExistJudge.faults(ledger: [("2024-05-01", [delivery])], of: "exist", user: "mira")
        }
        #expect(faults("delivered", "mira/weight/2024-05-01").isEmpty)
        #expect(faults("delivered", "mira/weight/2024-05-01, in a newer version").isEmpty)
        #expect(faults("refused", reason: "too old").isEmpty)
        #expect(faults("delivered", "mira/weight/2024-05-02").count == 1)
        #expect(faults("delivered", "anna/weight/2024-05-01").count == 1)
        #expect(faults("delivered").count == 1 && faults("refused").count == 1)
        #expect(faults("pending").count == 1 && faults("retrying", reason: "later").count == 1)
        #expect(faults("delivered", "mira/weight/2024-05-01", sink: "exist-anna/days").count == 1)
    }
}
