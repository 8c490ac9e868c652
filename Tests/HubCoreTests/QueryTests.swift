import Testing

/// Queries (chapter 8).
@Suite struct QueryTests {
    private static func many(_ count: Int, from first: Int = 0, _ more: String = "") -> [String] {
        (first..<first + count).map { weight("k\($0)", 40 + Double($0) / 100, more) }
    }

    @Test func `R8.1 a page has at most 1,000 records and about a MiB, and has next only if there may be more`()
        async throws
    {
        try await withHub { hub, peer in
            #expect(try await peer.all().pages == 1)
            _ = try await peer.give(Self.many(1_000))
            let exact = try await peer.query("")
            #expect(exact.body["records"].array.count == 1_000 && exact.body["next"] == .null)
            _ = try await peer.give(Self.many(500, from: 1_000))
            let first = try await peer.query("")
            #expect(first.body["records"].array.count == 1_000 && first.body["next"].string != nil)
            #expect(try await peer.all().records.count == 1_500)
            let limited = try await peer.all(#""limit":1200"#)
            #expect(limited.records.count == 1_200 && limited.pages == 2)
            #expect(try await peer.all(#""limit":1000"#).pages == 1)
        }
    }

    @Test(arguments: ["", #""order":"-time""#, #""numbers":\#(Array(1...60))"#])
    func `R8.1 a page of large records ends at about a MiB`(question: String) async throws {
        try await withHub { hub, peer in
            let large =
                #","metadata":{"a":"\#(String(repeating: "y", count: 16_000))"},"b":"\#(String(repeating: "z", count: 15_000))""#
            for batch in 0..<3 { _ = try await peer.give(Self.many(20, from: batch * 20, large)) }
            let page = try await peer.query(question)
            #expect((1_000_000..<1_200_000).contains(page.all[1].count), "\(page.all[1].count) bytes")
            let all = try await peer.all(question)
            #expect(all.records.count == 60 && all.pages == 2)
        }
    }

    @Test(arguments: ["", #""since":"EPOCH-0""#, #""order":"time""#, #""order":"-time""#])
    func `R8.2 R8.5 pages neither repeat nor skip unchanged records, and changed ones follow from the cursor`(
        question: String
    ) async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let epoch = try #require(try await peer.hello()["epoch"].string)
            let question = question.replacing("EPOCH", with: epoch)
            for batch in 0..<3 { _ = try await peer.give(Self.many(700, from: batch * 700)) }
            let writer = try await hub.client("writer", plugin: "kitchen-script")
            var (seen, next, cursor): ([String], String?, String) = ([], nil, "")
            var change = 0
            repeat {
                let mark = next.map { #","next":"\#($0)""# } ?? ""
                let page = try await peer.query((question.isEmpty ? #""limit":5000"# : question) + mark)
                seen += page.body["records"].array.compactMap { $0["key"].string }
                next = page.body["next"].string
                cursor = page.body["cursor"].string ?? ""
                // Between the pages a record changes and a new one arrives.
                _ = try await writer.give([weight("k\(change)", 99), weight("new\(change)", 1)])
                change += 1
            } while next != nil
            let unchanged = (0..<2_100).map { "k\($0)" }.filter { !(0..<change).map { "k\($0)" }.contains($0) }
            let counts = Dictionary(grouping: seen, by: \.self).mapValues(\.count)
            #expect(unchanged.allSatisfy { counts[$0] == 1 })
            let later = try await peer.all(#""since":"\#(cursor)""#)
            let changed = Set(later.records.compactMap { $0["key"].string })
            #expect(changed.isSuperset(of: (0..<change).map { "new\($0)" }))
            #expect(changed.isSubset(of: (0..<change).flatMap { ["k\($0)", "new\($0)"] }))
            #expect(try await peer.all(#""since":"\#(later.cursor)""#).records.isEmpty)
        }
    }

    @Test func `R8.5 in sequence order a page's cursor continues like next`() async throws {
        try await withHub { hub in
            let peer = try await hub.peer()
            let epoch = try #require(try await peer.hello()["epoch"].string)
            for batch in 0..<3 { _ = try await peer.give(Self.many(400, from: batch * 400)) }
            var (cursor, seen) = ("\(epoch)-0", [Int64]())
            while true {
                let page = try await peer.query(#""since":"\#(cursor)","limit":350"#)
                let records = page.body["records"].array
                if records.isEmpty { break }
                seen += records.compactMap { $0["seq"].int }
                #expect(page.body["cursor"].string == "\(epoch)-\(seen.last ?? 0)" || records.count < 350)
                cursor = try #require(page.body["cursor"].string)
            }
            #expect(seen == Array(1...1_200))
        }
    }

    @Test func `R8.3 a cursor of another epoch or the future, or another query's page mark, is refused`()
        async throws
    {
        try await withHub { hub in
            let peer = try await hub.peer()
            let epoch = try #require(try await peer.hello()["epoch"].string)
            for batch in 0..<2 { _ = try await peer.give(Self.many(1_000, from: batch * 1_000)) }
            let foreign = try await peer.query(#""since":"aaaaaaaa-1""#)
            #expect(foreign.code == "epoch" && foreign.body["epoch"].string == epoch && foreign.body["ref"].int == 1)
            #expect(try await peer.query(#""since":"\#(epoch)-2001""#).code == "cursor")
            let next = try #require(try await peer.query("").body["next"].string)
            #expect(try await peer.query(#""types":["weight"],"next":"\#(next)""#).code == "cursor")
            #expect(try await peer.query(#""limit":1500,"next":"\#(next)""#).code == "cursor")
            #expect(try await peer.query(#""limit":1500,"next":"999:\#(next)""#).body["records"].array.count <= 999)
            #expect(try await peer.query(#""next":null"#).code == "field")
            #expect(try await peer.query("", want: "trace").code == "field")
            #expect(try await peer.query(#""number":4711"#, want: "trace").code == "query")
        }
    }

    @Test func `R8.4 two queries may be open, a third gets busy, and a repeated id is refused`() async throws {
        try await withHub { hub, peer in
            for batch in 0..<2 { _ = try await peer.give(Self.many(1_000, from: batch * 1_000)) }
            // The number of open queries depends on the machine's speed. The test repeats until both kinds of refusals occurred,
            // and requires an answer to each query.
            var answers: [String: Int] = [:]
            while answers["busy"] == nil || answers["field"] == nil {
                for id in [1, 1, 2, 3] { await peer.say("QUERY", #"{"id":\#(id),"want":"records"}"#) }
                for _ in 0..<4 {
                    let answer = try await peer.next()
                    answers[answer.code ?? answer.verb, default: 0] += 1
                    if answer.code != nil { #expect(answer.body["closed"].truth == false) }
                }
            }
            #expect(Set(answers.keys) == ["RESULT", "field", "busy"])
            #expect(try await peer.query("").verb == "RESULT")
        }
    }

    @Test func `without since retracted records are omitted, even by number, unless kinds include retractions`()
        async throws
    {
        try await withHub { hub in
            let peer = try await hub.peer()
            let epoch = try #require(try await peer.hello()["epoch"].string)
            _ = try await peer.give(Self.many(3) + [#"{"kind":"retraction","key":"k1"}"#])
            #expect(try await peer.all().records.compactMap { $0["number"].int } == [1, 3])
            #expect(try await peer.all(#""numbers":[3,2,1,9]"#).records.compactMap { $0["number"].int } == [1, 3])
            #expect(
                try await peer.all(#""numbers":[1,2],"kinds":["retraction"]"#).records.compactMap { $0["number"].int }
                    == [2])
            #expect(try await peer.all(#""numbers":[1,3],"kinds":["day"]"#).records.isEmpty)
            #expect(try await peer.all(#""numbers":[1,3],"to":"2024-03-15T06:30:05Z""#).records.isEmpty)
            #expect(
                try await peer.all(#""numbers":[1,3],"since":"\#(epoch)-1""#).records.compactMap { $0["number"].int }
                    == [3])
            #expect(try await peer.query(#""numbers":[1],"order":"time""#).code == "query")
            #expect(try await peer.all(#""since":"\#(epoch)-2""#).records.compactMap { $0["seq"].int } == [3, 4])
        }
    }

    @Test func `R8.8 R8.11 each command has one outcome, whatever its arguments`() async throws {
        try await withHub { hub, peer in
            for args in [
                #"{}"#, #"{"numbers":[]}"#, #"{"numbers":"1"}"#, #"{"numbers":[1.5]}"#, #"{"numbers":[1],"reason":7}"#,
            ] {
                let outcome = try await peer.command("retract", args)
                #expect(outcome.verb == "OUTCOME" && outcome.body["code"].string == "command", "\(args)")
            }
            #expect(try await peer.command("retract", "[]").code == "field")
            let many = "{\"numbers\":[\((1...1_001).map(String.init).joined(separator: ","))]}"
            #expect(try await peer.command("retract", many).body["code"].string == "command")
            #expect(try await peer.command("refresh", instance: "scale").body["code"].string == "command")
            #expect(try await peer.command("stop", dryRun: true).body["outcome"].string == "done")
            #expect(try await peer.ask("COMMAND", #"{"id":99,"cancel":true}"#).code == "field")
            // No command is left open.
            #expect(try await peer.command("retract", #"{"numbers":[1]}"#).body["outcome"].string == "done")
            #expect(await peer.nextIfAny(within: .milliseconds(20)) == nil)
        }
    }

    @Test func `the owner's queries return sessions, accounts, persons and the history of a record`() async throws {
        try await withHub { hub, peer in
            _ = try await peer.give([
                weight("a", 70), weight("a", 70), weight("a", 71), weight("b", 1, #","group":"""#),
            ])
            let status = try await peer.status()
            #expect(status.fits(#"{"head":2,"records":1,"store":{"state":"ok"},"dropped":0,"inbox":0}"#))
            #expect(status["sessions"].array.count == 1 && status["endpoints"]["door"].string == hub.door)
            let account = try await peer.query("", want: "accounts").body["accounts"][0]
            #expect(
                account.fits(
                    #"{"instance":"kitchen-script","received":4,"stored":1,"versions":1,"duplicates":1,"rejected":1,"retractions":0}"#
                ))
            let trace = try await peer.query(#""number":1"#, want: "trace").body["trace"]
            #expect(trace["versions"].array.map { $0["record"]["value"].double } == [70, 71])
            #expect(trace["topic"].string == "sample/weight/me/kitchen-script/" && trace["topicHead"].int == 2)
            #expect(
                try await peer.query("", want: "persons").body["persons"][0].fits(
                    #"{"name":"me","zone":"UTC","uid":"*"}"#))
            #expect(try await peer.query("", want: "plugins").body["plugins"] == JSON("[]"))
        }
    }
}
