import Foundation
import HealthText
import Platform
import Samples
import Testing

@testable import Web

@Suite struct ChartTests {
    private static let day: Int64 = 86_400_000_000
    private static let berlin = "Europe/Berlin"
    /// Midnight of 1 March 2026 in Berlin.
    private static let march: Int64 = 1_772_319_600_000_000

    private static func points(_ values: [Double], carried: Set<Int> = []) -> [ChartPoint] {
        values.enumerated().map { number, value in
            ChartPoint(
                time: march + Int64(number) * day, end: march + Int64(number + 1) * day, value: value,
                isCarried: carried.contains(number), when: "day \(number)")
        }
    }

    private static func chart(
        _ points: [ChartPoint], _ form: Chart.Form = .points, trend: [ChartPoint] = [], goal: Chart.Goal? = nil,
        reader: DisplayPreferences = DisplayPreferences(), type: TypeID = .weight, unit: String = "kg"
    ) -> Chart {
        Chart(
            id: "c", title: "Weight", form: form, points: points, trend: trend, goal: goal,
            format: reader.format(unit, of: type), zone: berlin, reader: reader)
    }

    @Test func `the axis of one value or of equal values has even numbers with at most the decimals of the type`()
        throws
    {
        for (values, expected) in [
            ([137.568452], ["135", "140"]), ([80], ["78", "80", "82"]), ([80, 80, 80], ["78", "80", "82"]),
            ([80.000001, 80.000002], ["80.0", "80.1"]),
        ] {
            for form in [Chart.Form.points, .line] {
                let marks = Self.chart(Self.points(values), form).html.text.matches(of: /dy="4">([^<]*)</).map {
                    String($0.1)
                }
                #expect(marks == expected, "\(values)")
            }
        }
    }

    // MARK: - Positions

    @Test func `with any values, everything drawn is within the frame`() throws {
        var generator = SeededGenerator(seed: 20_261_126)
        let extremes = [
            0, -0.0, 1e300, -1e300, 1e-300, Double.greatestFiniteMagnitude, 80.4, 80.4.nextUp, -5, 1e15, 1e16,
        ]
        let forms: [Chart.Form] = [.points, .line, .bars]
        for round in 0..<300 {
            let count = [0, 1, 2, 3, 30, 400].randomElement(using: &generator) ?? 2
            var points = Self.points(
                (0..<count).map { _ in
                    Bool.random(using: &generator)
                        ? Double.random(in: 60...90, using: &generator)
                        : round.isMultiple(of: 3) ? extremes.randomElement(using: &generator) ?? 0 : 75
                }, carried: Set((0..<count).filter { $0 % 4 == 1 }))
            for place in points.indices where Bool.random(using: &generator) {
                points[place].low = points[place].value - 1
                points[place].high = points[place].value + 1
            }
            let goal =
                Bool.random(using: &generator)
                ? Chart.Goal(value: extremes.randomElement(using: &generator) ?? 0, label: "Goal") : nil
            let form = forms.randomElement(using: &generator) ?? .line
            let text = Self.chart(points, form, trend: points, goal: goal).html.text
            for match in text.matches(of: /\ (?:x|y|x1|x2|y1|y2|cx|cy|width|height)="(-?[0-9.e+-]+|nan|inf)%?"/) {
                let place = try #require(Double(match.output.1), "\(match.output.0)")
                #expect((0...100).contains(place), "\(match.output.0) in round \(round)")
            }
            for match in text.matches(of: /\ x="([0-9.]+)%" width="([0-9.]+)%"/) {
                #expect((Double(match.output.1) ?? 0) + (Double(match.output.2) ?? 0) <= 100.01, "\(match.output.0)")
            }
            for match in text.matches(of: /\ d="([^"]*)"/) {
                for number in match.output.1.split(whereSeparator: { "ML Z".contains($0) }) {
                    let place = try #require(Double(number))
                    #expect((0...1_000).contains(place), "\(number)")
                }
            }
        }
    }

    @Test func `a greater value is higher, a later one further to the right, and a bar begins at zero`() throws {
        let axis = ValueAxis([70, 72.5, 80], fromZero: false, format: DisplayPreferences().format("kg", of: .weight))
        #expect(axis.place(70) < axis.place(72.5) && axis.place(72.5) < axis.place(80))
        let times = TimeAxis(from: 0, to: 100, zone: "UTC", reader: DisplayPreferences())
        #expect(times.place(0) == 0 && times.place(25) == 0.25 && times.place(100) == 1)
        let bars = Self.chart(Self.points([5_000, 8_000]), .bars, type: .stepCount, unit: "count").html.text
        // Both end at the bottom: what is above them and their height are the whole.
        for match in bars.matches(of: /y="([0-9.]+)%" height="([0-9.]+)%"/) {
            let (top, height) = (try #require(Double(match.output.1)), try #require(Double(match.output.2)))
            #expect(abs(top + height - 100) < 0.02)
        }
    }

    // MARK: - Axes

    @Test(arguments: [
        ("kg", ["70", "72", "74", "76", "78", "80"]), ("lb", ["155", "160", "165", "170", "175", "180"]),
        ("st", ["11 st", "11 st 7 lb", "12 st", "12 st 7 lb", "13 st"]),
    ]) func `marks are even numbers in the unit that the person reads`(unit: String, marks: [String]) {
        let reader = DisplayPreferences(units: [.weight: unit])
        let axis = ValueAxis([70.4, 80], fromZero: false, format: reader.format("kg", of: .weight))
        #expect(axis.marks.map(\.text) == marks)
        #expect(axis.marks.map(\.place) == axis.marks.map(\.place).sorted())
        #expect(axis.marks.first?.place == 0 && axis.marks.last?.place == 1)
    }

    @Test func `marks of counts are whole numbers, and those of fractions are percent`() {
        let steps = ValueAxis([0, 2], fromZero: true, format: DisplayPreferences().format("count", of: .stepCount))
        #expect(steps.marks.map(\.text) == ["0", "1", "2"])
        let fat = ValueAxis(
            [0.18, 0.22], fromZero: false, format: DisplayPreferences().format("%", of: .bodyFatPercentage))
        #expect(fat.marks.map(\.text) == ["18", "19", "20", "21", "22"])
    }

    @Test func `marks of time are the midnights of the person's zone, also if the clocks change`() {
        // The clocks go forward on 29 March 2026.
        let (from, to) = (Self.march + 26 * Self.day, Self.march + 31 * Self.day - 3_600_000_000)
        let axis = TimeAxis(from: from, to: to, zone: Self.berlin, reader: DisplayPreferences())
        #expect(axis.marks.map(\.text) == ["27 Mar", "28 Mar", "29 Mar", "30 Mar", "31 Mar", "1 Apr"])
        #expect(axis.marks.map { Int(($0.place * Double(to - from) / 3.6e9).rounded()) } == [0, 24, 48, 71, 95, 119])
    }

    @Test(arguments: [
        ("de_DE", ["23. Feb.", "2. März", "9. März", "16. März", "23. März", "30. März"]),
        ("en_US", ["Feb 22", "Mar 1", "Mar 8", "Mar 15", "Mar 22", "Mar 29"]),
    ]) func `months have names in the person's language, and weeks begin with the first day of their region`(
        locale: String, marks: [String]
    ) {
        let reader = DisplayPreferences(locale: DisplayPreferences.locale(locale))
        let from = Self.march - 7 * Self.day
        let axis = TimeAxis(from: from, to: from + 36 * Self.day, zone: Self.berlin, reader: reader)
        #expect(axis.marks.map(\.text) == marks)
    }

    @Test(arguments: [1, 3_600, 86_400, 604_800, 2_600_000, 31_557_600, 315_576_000, 3_155_760_000] as [Int64])
    func `a span of any length has few marks, all within it`(seconds: Int64) {
        for start in [Self.march, -62_135_510_400_000_000, 0] {
            let axis = TimeAxis(
                from: start, to: start + seconds * 1_000_000, zone: Self.berlin, reader: DisplayPreferences())
            let marks = axis.marks
            #expect(marks.count <= 6)
            #expect(marks.allSatisfy { (0...1).contains($0.place) })
            #expect(Set(marks.map(\.place)).count == marks.count)
        }
    }

    // MARK: - Many points

    @Test
    func `thinning keeps the first, last, least and greatest points in order, and no more than the maximum`() {
        var generator = SeededGenerator(seed: 7)
        for count in [0, 1, 4, 5, 99, 1_000, 4_000] {
            var points = Self.points((0..<count).map { _ in Double.random(in: 0...100, using: &generator) })
            if count > 10 { points[count / 3].value = -40 }
            if count > 10 { points[count / 2].high = 400 }
            for most in [4, 5, 50, 360] {
                let kept = points.thinned(to: most)
                #expect(kept.count <= max(most, 0) || count <= most)
                #expect(kept.first == points.first && kept.last == points.last)
                #expect(kept.map(\.time) == kept.map(\.time).sorted() && Set(kept.map(\.time)).count == kept.count)
                guard count > 10 else { continue }
                #expect(kept.contains { $0.value == -40 } && kept.contains { $0.high == 400 })
            }
        }
    }

    @Test func `a chart of ten years is small enough for a page`() {
        let values = (0..<4_000).map { 75 + Double($0 % 97) / 10 }
        let points = Self.points(values, carried: Set((0..<4_000).filter { $0 % 3 > 0 }))
        for form in [Chart.Form.points, .line, .bars] {
            #expect(Self.chart(points, form, trend: points).html.text.utf8.count < 90_000)
        }
    }

    // MARK: - Shapes and words

    @Test func `measured days are dots, carried ones broken lines, and the legend explains both`() {
        let chart = Self.chart(Self.points([80, 80, 80, 79], carried: [1, 2]))
        let text = chart.html.text
        #expect(text.matches(of: /<circle class="mark"/).count == 2)
        // Two days that repeat the same are one line.
        #expect(text.matches(of: /<line class="carried mark"/).count == 1)
        #expect(chart.legend.text.contains("measured") && chart.legend.text.contains("carried"))
        #expect(!Self.chart(Self.points([80, 79])).legend.text.contains("carried"))
    }

    @Test func `with more days than dots can show, each stretch is a line from its least to its greatest value`() throws
    {
        var points = Self.points((0..<1_000).map { 70 + Double($0 % 13) }, carried: [5, 6])
        points[500].value = 60
        let chart = Self.chart(points)
        let text = chart.html.text
        #expect(text.matches(of: /<line class="range mark"/).count == 180 && !text.contains("<circle"))
        #expect(text.matches(of: /: 60.0 kg to/).count == 1)
        #expect(chart.legend.text.contains("from the least to the greatest") && !chart.legend.text.contains("carried"))
        // Each day is in one of them: where one ends, the next begins.
        let stretches = chart.drawn
        #expect(stretches.first?.time == points.first?.time && stretches.last?.end == points.last?.end)
        for (one, next) in zip(stretches, stretches.dropFirst()) { #expect(one.end <= next.time) }
    }

    @Test func `values far apart are not connected, and a single one is a dot`() {
        var points = Self.points((0..<10).map(Double.init))
        points.remove(at: 3)
        points.remove(at: 3)
        var chart = Self.chart(points, .line)
        #expect(chart.html.text.matches(of: /class="line" d="M[^"M]*"/).count == 1)
        chart.longestGap = Self.day
        #expect(chart.html.text.firstMatch(of: /class="line" d="M[^"M]*M[^"M]*"/) != nil)
    }

    @Test func `the description says the dates, the first and last value, the change, the least and the greatest`() {
        let chart = Self.chart(
            Self.points([80, 82.5, 78.1, 79.2], carried: [1]), goal: .init(value: 75, label: "Goal 75.0 kg"))
        #expect(
            chart.words
                == "From day 0 to day 3: first 80.0 kg, last 79.2 kg, change −0.8 kg. Least 78.1 kg (day 2), greatest "
                + "82.5 kg (day 1). Days without a measurement, which repeat an earlier day: 1. Goal 75.0 kg.")
        #expect(chart.html.text.contains("role=\"img\" aria-labelledby=\"c-title c-words\""))
        #expect(Self.chart([]).html.text.contains("There is nothing to show."))
    }

    @Test(arguments: [
        ("kg", 80.0, 79.2, "−0.8 kg"), ("kg", 80.0, 80.0, "0.0 kg"), ("kg", 80.0, 80.01, "0.0 kg"),
        ("kg", 79.0, 80.0, "+1.0 kg"), ("lb", 80.0, 79.0, "−2.2 lb"), ("st", 80.0, 72.0, "−1 st 3.6 lb"),
    ]) func `a change has a sign, unless it is too small to be shown`(
        unit: String, from: Double, to: Double, text: String
    ) {
        #expect(DisplayPreferences(units: [.weight: unit]).format("kg", of: .weight).change(from: from, to: to) == text)
    }

    @Test func `a change of degrees is converted by the size of a degree, not by the zero point`() {
        let format = DisplayPreferences(units: [.bodyTemperature: "degF"]).format("degC", of: .bodyTemperature)
        #expect(format.change(from: 36, to: 37) == "+1.8 °F")
    }

    @Test func `a goal far away does not flatten the values`() throws {
        let near = Self.chart(Self.points([80, 79, 78]), goal: .init(value: 75, label: "Goal")).html.text
        let far = Self.chart(Self.points([80, 79, 78]), goal: .init(value: 20, label: "Goal")).html.text
        #expect(near.contains(">75<") && !far.contains(">20<"))
        // It is at the edge to which it is nearer.
        #expect(far.contains("class=\"goal\" x1=\"0\" x2=\"100%\" y1=\"100%\""))
    }

    @Test func `names are text, and a chart contains no styles and no scripts`() {
        let evil = "</title><script>alert(1)</script>\" onload=\"alert(1)"
        var chart = Self.chart(
            [ChartPoint(time: 0, value: 1, when: evil), ChartPoint(time: 9, value: 2, when: evil)],
            goal: .init(value: 1.5, label: evil))
        chart.title = evil
        let ring = RingChart(name: evil, value: evil, goal: evil, part: .infinity)
        for text in [chart.html.text, ring.html.text] {
            #expect(!text.contains("<script") && !text.contains("\" onload") && !text.contains(" style="))
        }
    }

    @Test(arguments: [(0.5, "50 %", "50 100"), (1.4, "140 %", "100 100"), (-1, "0 %", "0 100"), (.nan, "0 %", "0 100")])
    func `a ring is complete when the goal is reached, and says the percentage`(
        part: Double, percent: String, dash: String
    ) {
        let text = RingChart(name: "Move", value: "1", goal: "2", part: part).html.text
        #expect(text.contains(">\(percent)<") && text.contains("stroke-dasharray=\"\(dash)\""))
    }
}
