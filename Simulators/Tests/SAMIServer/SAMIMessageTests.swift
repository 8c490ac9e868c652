import Testing
import WebFaults

@testable import SAMIExchange

@Suite struct SAMIMessageTests {
    @Test func `A message keeps the fields of the manifest, each in its type`() throws {
        let bench = try SAMIBench()
        _ = try bench.post(
            [
                "weight": 80, "heartRate": .real(61.9), "fatRatio": .real(21.5), "unknown": 1,
                "sleep": ["state": 2, "other": 3],
            ], at: SAMIBench.start)
        let page = try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=20")
        let data = try #require(page["data"]?.list?.first?["data"])
        #expect(data["weight"] == 80)
        #expect(data["heartRate"] == 61, "an Integer is rounded down")
        #expect(data["fatRatio"]?.double == 21.5, "emitted without being declared, as the real manifest did")
        #expect(data["unknown"] == nil)
        #expect(data["sleep"] == ["state": 2])
        #expect(page["data"]?.list?.first?["mv"] == 1)
    }

    @Test func `A payload of Withings' own service keeps its digits and its group's date`() throws {
        let bench = try SAMIBench()
        let seconds = SAMIBench.start / 1000 - 3_600
        let payload: JSONTree = [
            "category": "measure/getmeas",
            "measuregrp": [
                "grpid": 12345, "attrib": 0, "date": .whole(seconds), "category": 1,
                "measures": [
                    ["value": 81400, "type": 1, "unit": -3], ["value": 2150, "type": 6, "unit": -2],
                    ["value": 172, "type": 4, "unit": -2], ["value": 62, "type": 11, "unit": 0],
                    ["value": 5, "type": 88, "unit": -1], ["value": 1, "type": 999, "unit": 0],
                ],
            ],
        ]
        for data in [payload, .text(payload.json)] {
            let mid = try #require(try bench.post(data)["data"]?["mid"]?.text)
            let message = try #require(try bench.call("GET", "/messages?mid=\(mid)")["data"]?.list?.first)
            #expect(
                message["data"] == [
                    "groupId": 12345, "category": 1, "attrib": 0, "weight": .number("81.4"),
                    "fatRatio": .number("21.5"), "height": .number("1.72"), "heartRate": 62,
                    "boneMass": .number("0.5"),
                ])
            #expect(message["ts"] == .whole(seconds * 1000))
            let raw = try bench.call(
                "GET", "/messages/raw?sdid=\(Fixtures.scale)&startDate=0&endDate=\(SAMIBench.start)")
            #expect(raw["data"]?.list?.first?["data"]?.text == payload.json)
        }
        // Another category has none of our fields, and is stored.
        _ = try bench.post(["category": "sleep/get", "series": []])
        #expect(
            try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=1")["data"]?.list?.first?["data"] == [:]
        )
    }

    @Test func `Pages of a range have no gaps or duplicates, in both orders`() throws {
        let bench = try SAMIBench()
        for number in 0..<25 {
            _ = try bench.post(["weight": JSONTree(number)], at: SAMIBench.start - Int64(number / 2))
        }
        for order in ["asc", "desc"] {
            var (mids, times, offset): ([String], [Int64], String) = ([], [], "")
            repeat {
                let page = try bench.call(
                    "GET",
                    "/messages?sdid=\(Fixtures.scale)&startDate=0&endDate=\(SAMIBench.start)&count=4&order=\(order)\(offset)"
                )
                let rows = try #require(page["data"]?.list)
                mids += rows.compactMap { $0["mid"]?.text }
                times += rows.compactMap { $0["ts"]?.lenientInteger }
                offset = page["next"]?.text.map { "&offset=\($0)" } ?? ""
            } while !offset.isEmpty
            #expect(Set(mids).count == 25 && mids.count == 25)
            #expect(times == times.sorted(by: order == "asc" ? { $0 <= $1 } : { $0 >= $1 }))
        }
    }

    @Test func `A cursor of another query is refused`() throws {
        let bench = try SAMIBench()
        for number in 0..<3 { _ = try bench.post(["weight": 1], at: SAMIBench.start + Int64(number)) }
        let range = "/messages?sdid=\(Fixtures.scale)&startDate=0&endDate=\(SAMIBench.start + 10)&count=1"
        let next = try #require(try bench.call("GET", range)["next"]?.text)
        let error = try bench.call("GET", range + "&order=desc&offset=\(next)", status: 400)
        #expect(error["error"]?["code"] == 4001)
        _ = try bench.call("GET", range + "&offset=nonsense", status: 400)
    }

    @Test func `Filters ignore case, and match values and lower bounds`() throws {
        let bench = try SAMIBench()
        for weight in [70, 80, 90] { _ = try bench.post(["weight": JSONTree(weight)], at: SAMIBench.start) }
        _ = try bench.post(["height": .real(1.8)], at: SAMIBench.start)
        let range = "/messages?sdid=\(Fixtures.scale)&startDate=0&endDate=\(SAMIBench.start)&filter="
        #expect(try bench.call("GET", range + "WEIGHT:80")["size"] == 1)
        #expect(try bench.call("GET", range + "weight:%3E%3D80")["size"] == 2)
        #expect(try bench.call("GET", range + "(%2B_exists_:weight)")["size"] == 3)
        #expect(try bench.call("GET", "/messages?sdid=\(Fixtures.scale)&fieldPresence=height")["size"] == 1)
    }

    @Test(arguments: [
        ("/messages?sdid=\(Fixtures.scale)", "startDate"), ("/messages?startDate=1&endDate=2", "sdid"),
        ("/messages?sdid=\(Fixtures.scale)&startDate=1&endDate=2&count=1001", "count"),
        ("/messages/last?sdids=\(Fixtures.scale)", "count"),
        ("/messages/last?sdids=\(Fixtures.scale)&count=101", "count"),
        ("/messages/snapshots?sdids=" + String(repeating: "a,", count: 101), "sdids"),
        (
            "/messages/analytics/aggregates?sdid=\(Fixtures.scale)&field=weight&startDate=0&endDate=2678400001",
            "endDate"
        ),
        (
            "/messages/analytics/histogram?sdid=\(Fixtures.scale)&field=weight&interval=minute&startDate=0&endDate=3600001",
            "endDate"
        ),
        ("/messages/presence?interval=day&startDate=x&endDate=3", "startDate"), ("/devicetypes", "name"),
        ("/users/\(Fixtures.user)/devices?count=101", "count"),
    ])
    func `An exceeded limit is answered with 4001 and the parameter`(target: String, field: String) throws {
        let error = try #require(try SAMIBench().call("GET", target, status: 400)["error"])
        #expect(error["code"] == 4001)
        #expect(error["errors"]?.list?.first?["field"]?.text == field)
    }

    @Test func `An oversized, far future or incomplete message is refused`() throws {
        let bench = try SAMIBench()
        _ = try bench.post(["comments": .text(String(repeating: "x", count: 10_240))], status: 413)
        _ = try bench.post(["weight": 1], at: SAMIBench.start + 86_400_001, status: 400)
        _ = try bench.post(["weight": 1], at: SAMIBench.start + 86_400_000)
        _ = try bench.call("POST", "/messages", json: ["data": ["weight": 1]], status: 400)
        let artik = try SAMIBench { $0.dialect = .artik }
        _ = try artik.post(["comments": .text(String(repeating: "x", count: 1_024))], status: 413)
    }

    @Test func `A new message can be delayed`() throws {
        let bench = try SAMIBench { $0.deliveryDelay = 2_000 }
        _ = try bench.post(["weight": 80])
        let last = "/messages/last?sdids=\(Fixtures.scale)&count=1"
        #expect(try bench.call("GET", last)["size"] == 0)
        bench.clock.move(seconds: 2)
        #expect(try bench.call("GET", last)["size"] == 1)
    }

    @Test func `A histogram counts by UTC days and omits empty ones`() throws {
        let bench = try SAMIBench()
        for (day, weight) in [(0, 80), (0, 82), (2, 90)] {
            _ = try bench.post(["weight": JSONTree(weight)], at: SAMIBench.start - 1 - Int64(day) * 86_400_000)
        }
        let range =
            "sdid=\(Fixtures.scale)&field=Weight&startDate=\(SAMIBench.start - 5 * 86_400_000)&endDate=\(SAMIBench.start)"
        let buckets = try #require(
            try bench.call("GET", "/messages/analytics/histogram?\(range)&interval=day")["data"]?.list)
        #expect(buckets.map { $0["count"]?.integer } == [1, 2])
        #expect(buckets.last?["variance"]?.double == 1)
        #expect(buckets.last?["ts"]?.lenientInteger == SAMIBench.start - 86_400_000)
        let whole = try bench.call("GET", "/messages/analytics/aggregates?\(range)")
        #expect(whole["data"]?.list?.first?["mean"]?.double == 84)
        #expect(whole["startDate"]?.text == "\(SAMIBench.start - 5 * 86_400_000)", "text, as SAMI wrote it")
    }

    @Test(arguments: [
        ("until", "9223372036854775807"), ("until", "-1"), ("step", "9223372036854775807"), ("step", "0"),
    ])
    func `A history with impossible times is refused`(_ name: String, _ value: String) throws {
        let body = "{\"count\":1000,\"\(name)\":\(value)}"
        let error = try #require(throws: WebFaultsError.self) {
            try SAMIBench().exchange.control(WebRequest("POST", "/control/history", body: Array(body.utf8)))
        }
        #expect(error.description.hasPrefix("\(name): expected"))
    }

    @Test func `A fault stores a message twice, under two ids`() throws {
        let bench = try SAMIBench()
        bench.faults.add([try Fault("twice@messages*1", forms: Exchange.forms)])
        _ = try bench.post(["weight": 80], at: SAMIBench.start)
        let rows = try #require(try bench.call("GET", "/messages/last?sdids=\(Fixtures.scale)&count=9")["data"]?.list)
        #expect(rows.count == 2 && rows[0]["mid"] != rows[1]["mid"])
    }
}
