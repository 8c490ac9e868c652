import Foundation
import HubProcess
import PluginKit
import Testing

@testable import Web

/// The reading pages, compared with the commands.
@Suite(.timeLimit(.minutes(3))) struct ReadingTests {
    /// Weighings by days ago, at seven in the morning in Berlin, as lines of JSON.
    static func weighings(_ values: [Int: Double], of person: String = "me") -> String {
        values.sorted { $0.key > $1.key }.map { ago, value in
            line("weight", person, ago: ago, #""value":\#(value),"unit":"kg""#)
        }.joined()
    }

    private static func date(ago: Int) -> String {
        let now = Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
        let today = LocalDay.of(now, sampleZone: nil, personZone: "Europe/Berlin")
        return today?.adding(days: -ago).text ?? ""
    }

    private static func line(
        _ type: String, _ person: String, ago: Int, _ members: String, clock: String = "00:00:00", key: String = ""
    ) -> String {
        let kind = members.contains("\"kind\"") ? "" : #""kind":"quantity","#
        return
            #"{\#(kind)"type":"\#(type)","start":"\#(date(ago: ago))T\#(clock)+01:00","key":"\#(type)\#(ago)\#(key)","person":"\#(person)","#
            + #""source":{"plugin":"kitchen","device":"Scale"},\#(members)}"# + "\n"
    }

    static func fill(_ scene: Scene, _ lines: String) async throws {
        _ = try await scene.command("import", try scene.write(lines, to: "all.jsonl"))
    }

    private struct Day: Decodable {
        let date: String
        let value: Double?
        let observedOn: String?
        let trend: Double?
    }

    private static func kilograms(_ value: Double?) -> String {
        value.map { String(format: "%.1f kg", ($0 * 10).rounded() / 10) } ?? ""
    }

    @Test func `Today shows the last weight, and the days of hub days with measured and carried ones distinguished`()
        async throws
    {
        let scene = try await Scene(
            settings: """
                goals = ["me=75kg"]
                [plugin.gap-filler]
                """)
        try await Self.fill(scene, Self.weighings([40: 82, 20: 81.2, 13: 80.5, 9: 80.7, 6: 80, 2: 79.5, 1: 79.4]))
        let days = { () async throws -> [Day] in
            try await scene.command(
                "days", "weight", "--person", "me", "--trend", "time-aware", "--json", "--from", Self.date(ago: 27)
            ).map { try JSONDecoder().decode(Day.self, from: Data($0.utf8)) }
        }
        var told = try await days()
        while told.count < 28 || told.last?.observedOn != Self.date(ago: 1) { told = try await days() }
        let page = try await Browser(scene).get("/?range=1m").body
        #expect(page.contains(">79.4 kg</p>") && page.contains("kitchen/Scale"))
        for day in told {
            let how = day.observedOn.map { "carried from \($0)" } ?? "measured"
            let row =
                "<th scope=\"row\">\(day.date)</th><td>\(Self.kilograms(day.value))</td><td>\(how)</td>"
                + "<td>\(Self.kilograms(day.trend))</td>"
            #expect(page.contains(row), "\(row)")
        }
        #expect(page.contains("class=\"carried mark\"") && page.contains("<circle class=\"mark\""))
        // Since the previous value, in a week (with the value carried to that day), and in a month.
        for words in ["−0.1 kg", "−1.3 kg", "since \(Self.date(ago: 9))", "−2.6 kg", "Goal 75.0 kg"] {
            #expect(page.contains(words), "\(words)")
        }
        #expect(page.contains("At the rate of the last four weeks it is reached on 20"))
        #expect(!page.contains("gap-filler"))
    }

    @Test func `a weight with a future time is marked on the page and not compared`() async throws {
        let scene = try await Scene()
        try await Self.fill(scene, Self.weighings([1: 79.4, -400: 65]))
        let browser = try await Browser(scene)
        for address in ["/", "/types/weight"] {
            let page = try await browser.get(address).body
            #expect(page.contains("(implausible)"), "\(address)")
            #expect(!page.contains("−14.4 kg"), "\(address)")
        }
    }

    @Test func `the forecast of a goal does not depend on the range of the chart`() async throws {
        let scene = try await Scene(settings: "goals = [\"me=75kg\"]")
        try await Self.fill(scene, Self.weighings([600: 70, 100: 82, 20: 78, 10: 77, 1: 76]))
        let browser = try await Browser(scene)
        for range in ["1m", "3m", "1y", "all"] {
            let page = try await browser.get("/?range=\(range)").body
            #expect(page.contains("it is reached on 20") && !page.contains("It is reached."), "\(range)")
        }
    }

    @Test func `a background request does not take a notice that the person has not seen`() async throws {
        let scene = try await Scene()
        let browser = try await Browser(scene)
        let form = try await browser.form("/add?type=weight", to: "/add")
        let saved = try await browser.send(form, ["value": "80.4"])
        let next = try #require(saved.fields["location"])
        let behind = try await scene.get("/", cookie: browser.cookie, fields: ["X-Background: yes"])
        #expect(behind.status == 200 && !behind.body.contains("role=\"status\""))
        #expect(try await browser.get(next).body.contains("role=\"status\""))
    }

    @Test func `without the gap-filler the page says so, and shows the daily averages of hub stats`() async throws {
        let scene = try await Scene()
        let browser = try await Browser(scene)
        let empty = try await browser.get("/").body
        #expect(empty.contains("hub log weight 80.4kg --person me"))
        try await Self.fill(
            scene,
            Self.weighings([12: 81, 5: 80.2, 1: 79.9])
                + Self.line("weight", "me", ago: 5, #""value":80.6,"unit":"kg""#, key: "b"))
        let page = try await browser.get("/").body
        #expect(page.contains("[plugin.gap-filler]") && page.contains(">79.9 kg</p>"))
        let row = "<th scope=\"row\">\(Self.date(ago: 5))</th><td>80.4 kg</td><td>measured</td>"
        #expect(page.contains(row) && !page.contains("class=\"carried"))
    }

    @Test func `the page of a type has the figures of hub stats for every interval, down to the samples`() async throws
    {
        let scene = try await Scene()
        let values = Dictionary(uniqueKeysWithValues: (0..<90).map { ($0, 80 + Double($0 % 7) / 10) })
        try await Self.fill(scene, Self.weighings(values))
        let browser = try await Browser(scene)
        struct Answer: Decodable {
            struct Interval: Decodable {
                let from: String
                let count: Int
                let average, minimum, maximum: Double?
            }
            let intervals: [Interval]
        }
        for unit in ["day", "week", "month", "year"] {
            let told = try await scene.command("stats", "weight", "--person", "me", "--by", unit, "--json")
            let answer = try JSONDecoder().decode(Answer.self, from: Data(told.joined().utf8))
            let page = try await browser.get("/types/weight?span=all&by=\(unit)").body
            #expect(!answer.intervals.isEmpty)
            for interval in answer.intervals {
                let cells = [interval.average, interval.minimum, interval.maximum].map {
                    "<td>\(Self.kilograms($0))</td>"
                }
                let isThere = page.contains("\(cells.joined())<td>\(interval.count)</td>")
                #expect(isThere, "\(unit) \(interval.from)")
            }
            #expect(page.contains("<svg class=\"chart\" role=\"img\""))
        }
        let to = Self.date(ago: 3)
        let day = try await browser.get("/types/weight?from=\(to)&to=\(to)").body
        #expect(day.contains("80.3 kg") && day.contains("kitchen/Scale"))
        #expect(day.contains("Earlier</a>") && day.contains("Later</a>") && day.contains("Wider</a>"))
    }

    @Test func `samples come in pages, each once, even if many started at the same time`() async throws {
        let scene = try await Scene()
        let lines = (0..<70).map { number in
            Self.line(
                "stepCount", "me", ago: number < 40 ? 1 : 1 + number % 9, #""value":\#(1_000 + number),"unit":"count""#,
                key: "-\(number)")
        }
        try await Self.fill(scene, lines.joined())
        let browser = try await Browser(scene)
        var (address, seen, pages) = ("/types/stepCount?person=me", [String](), 0)
        while true {
            let page = try await browser.get(address).body
            let list = try #require(page.range(of: "<section id=\"samples\">"))
            let found = page[list.lowerBound...].matches(of: /<td>(1,0[0-9]{2})<\/td>/).map { String($0.output.1) }
            #expect(found.count <= 25)
            (seen, pages) = (seen + found, pages + 1)
            guard let older = page.firstMatch(of: /href="([^"]*)">Older samples/) else { break }
            address = String(older.output.1).replacing("&amp;", with: "&").replacing("#samples", with: "")
        }
        #expect(pages == 3 && Set(seen).count == 70 && seen.count == 70)
        // And back.
        let back = try await browser.get(address).body
        let newer = try #require(back.firstMatch(of: /href="([^"]*)">Newer samples/))
        let middle = try await browser.get(
            String(newer.output.1).replacing("&amp;", with: "&").replacing("#samples", with: "")
        ).body
        #expect(middle.contains("Older samples") && middle.contains("Newer samples"))
        for number in seen[25..<50] { #expect(middle.contains("<td>\(number)</td>"), "\(number)") }
    }

    @Test func `types that are not numbers have a list in words`() async throws {
        let scene = try await Scene()
        let group = #""kind":"correlation","group":"g""#
        let lines =
            Self.line("bloodPressure", "me", ago: 2, group)
            + Self.line("bloodPressureSystolic", "me", ago: 2, #""value":121,"unit":"mmHg","group":"g""#)
            + Self.line("bloodPressureDiastolic", "me", ago: 2, #""value":79,"unit":"mmHg","group":"g""#)
            + Self.line(
                "workout", "me", ago: 3,
                #""kind":"workout","value":"running","end":"\#(Self.date(ago: 3))T00:32:00+01:00""#)
        try await Self.fill(scene, lines)
        let browser = try await Browser(scene)
        let pressure = try await browser.get("/types/bloodPressure").body
        #expect(pressure.contains("121/79 mmHg") && !pressure.contains("(a group)"))
        #expect(pressure.contains("/types/bloodPressureSystolic"))
        #expect(try await browser.get("/types/workout").body.contains("Running, 32 min"))
        let all = try await browser.get("/data").body
        for words in ["121/79 mmHg", "Running, 32 min", "4 types"] { #expect(all.contains(words), "\(words)") }
    }

    @Test func `a viewer of one person finds no other at any address of the reading pages`() async throws {
        let scene = try await Scene(settings: "goals = [\"me=71.5kg\"]")
        try await Self.fill(scene, Self.weighings([3: 80.4]) + Self.weighings([3: 71.3, 2: 71.2], of: "ben"))
        let ben = try await Browser(scene, "ben")
        let unknown = try await ben.get("/?person=zoe")
        for path in ["/", "/data", "/types/weight", "/types/heartRate"] {
            for fields in ["", "&range=all", "&span=all", "&from=2020-01-01", "&before=0-0", "&from=x", "&page=9"] {
                let answer = try await ben.get("\(path)?person=me\(fields)")
                #expect(answer.status == 404 && answer.body == unknown.body, "\(path) \(fields)")
            }
            let own = try await ben.get(path)
            #expect(own.status == 200 && !own.body.contains("80.4") && !own.body.contains("person=me"))
            #expect(!own.body.contains("71.5"), "the goal is another's")
        }
    }

    @Test func `a wrong parameter is refused with the values that it takes`() async throws {
        let scene = try await Scene()
        try await Self.fill(scene, Self.weighings([3: 80.4]))
        let browser = try await Browser(scene)
        for (fields, word) in [
            ("from=yesterday", "from"), ("to=2026-02-30", "to"), ("from=2026-02-02&to=2026-02-01", "from"),
            ("by=decade", "by=hour"), ("before=x", "before"), ("after=1-2-3", "after"),
            ("before=99999999999999999999-1", "before"), ("from=0001-01-01", "1800"), ("to=9999-12-31", "2200"),
        ] {
            let answer = try await browser.get("/types/weight?\(fields)")
            #expect(answer.status == 400 && answer.body.contains(word), "\(fields)")
        }
        for path in ["/types/weigth", "/data?page=0", "/data?page=2", "/data?page=x"] {
            #expect(try await browser.get(path).status == 404, "\(path)")
        }
        // Valid parameters without results are not an error.
        for fields in [
            "from=1800-01-01&to=1800-01-02", "from=2199-01-01&to=2200-12-31", "from=1800-01-01&to=2200-12-31",
        ] { #expect(try await browser.get("/types/weight?\(fields)").status == 200, "\(fields)") }
    }

    @Test func `scripts and styles are cacheable files of this site, and pages are complete without them`()
        async throws
    {
        let scene = try await Scene()
        try await Self.fill(scene, Self.weighings([3: 80.4, 2: 80]))
        let page = try await Browser(scene).get("/").body
        let files = page.matches(of: /(?:src|href)="(\/assets\/[^"]+)"/).map { String($0.output.1) }
        #expect(files.count == 6)
        for file in files {
            let answer = try await scene.get(file)
            #expect(answer.status == 200 && answer.fields["cache-control"]?.contains("immutable") == true, "\(file)")
        }
        #expect(!page.contains(" style=") && !page.contains("<style") && page.matches(of: /<script(?! src)/).isEmpty)
        #expect(page.utf8.count < 150_000)
    }
}

/// When a goal is reached, and what is not a goal.
@Suite struct GoalTests {
    private let today = LocalDate(2026, 11, 26)!

    private func forecast(_ goal: Double, from first: Double?, at latest: Double, perDay: Double?) -> GoalForecast {
        GoalForecast(
            goal: goal, first: first, latest: latest,
            rate: perDay.map { DayLine.Rate(perDay: $0, today: latest) }, today: today)
    }

    @Test func `a goal is reached, is reached on a day, or has a reason why not`() {
        #expect(forecast(70, from: 80, at: 75, perDay: -0.05) == .on(today.adding(days: 100)))
        #expect(forecast(60, from: 50, at: 59, perDay: 0.1) == .on(today.adding(days: 10)))
        #expect(forecast(70, from: 80, at: 69.9, perDay: -0.05) == .reached)
        #expect(forecast(70, from: 80, at: 70, perDay: nil) == .reached)
        #expect(forecast(60, from: 50, at: 60.5, perDay: 0.1) == .reached)
        #expect(forecast(70, from: 80, at: 75, perDay: 0.05) == .recedes)
        #expect(forecast(70, from: 80, at: 75, perDay: 0) == .recedes)
        #expect(forecast(70, from: 80, at: 75, perDay: -0.0001) == .inDistantFuture)
        #expect(forecast(70, from: 80, at: 75, perDay: nil) == .tooFewDays)
    }

    @Test func `goals are read in any unit of their type, and a wrong one is named`() throws {
        let goals = try Goals(["anna=154 lb", "ben:stepCount=8000", "anna:bodyFatPercentage=20 %", "anna=70kg"])
        #expect(goals.value(of: .weight, for: "anna") == 70)
        #expect(goals.value(of: .stepCount, for: "ben") == 8_000)
        #expect(goals.value(of: .bodyFatPercentage, for: "anna") == 0.2)
        #expect(goals.value(of: .weight, for: "ben") == nil)
        for text in ["anna=70", "anna=70 parsec", "anna:wait=70kg", "anna:weight=70 mmHg", "anna=0kg"] {
            let failure = #expect(throws: PluginFailure.self) { try Goals([text]) }
            #expect(failure?.reasons.first?.contains(text) == true, "\(text)")
        }
    }
}
