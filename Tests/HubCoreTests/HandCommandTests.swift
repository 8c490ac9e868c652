import Foundation
import HubSettings
import Testing

@testable import HubCore

/// Manual changes by people, at the door and on the feed (chapters 6.8, 6.9 and 8.3).
@Suite struct HandCommandTests {
    private func outcomes(_ answer: Frames) -> [String] {
        answer.body["result"]["records"].array.map { $0["outcome"].string ?? "?" }
    }

    /// A weight that the source attributes to a person.
    private func weight(of person: String, _ key: String, _ value: Double = 70, _ more: String = "") -> String {
        HubCoreTests.weight(key, value, #","subject":{"name":"\#(person)"}"# + more)
    }

    @Test func `R6.22 R6.23 R6.24 R7.2 a listener of one person learns of records that leave and come back`()
        async throws
    {
        try await withHub(.household) { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/", "hub/inbox/")
            _ = try await peer.give([weight(of: "me", "a"), weight(of: "me", "b")])
            let answer = try await peer.command("assign", #"{"numbers":[1],"to":"you","reason":"the other scale"}"#)
            #expect(outcomes(answer) == ["stored"])
            #expect(answer.body["result"]["records"][0].fits(#"{"number":1,"seq":4,"person":"you"}"#))
            // Later versions from the source do not undo the assignment.
            #expect(try await peer.give([weight(of: "me", "a", 71)]).results == ["stored"])
            _ = try await peer.command("assign", #"{"numbers":[1],"nobody":true}"#)
            _ = try await peer.command("assign", #"{"numbers":[1],"to":"me"}"#)
            var heard: [Frames] = []
            while heard.count < 9 { heard.append(try await listener.next()) }
            let (mine, yours) = ("sample/weight/me/kitchen-script/", "sample/weight/you/kitchen-script/")
            let (left, leftYou) = ("retraction/weight/me/kitchen-script/", "retraction/weight/you/kitchen-script/")
            #expect(
                heard.map(\.topic) == [mine, mine, left, yours, yours, leftYou, "hub/inbox/", "hub/inbox/", mine])
            #expect(
                heard.map(\.place) == [[1, 0], [2, 1], [3, 0], [4, 0], [5, 4], [6, 0], [7, 0], [8, 7], [9, 2]])
            let departure = heard[2].record
            #expect(departure.fits(#"{"kind":"retraction","person":"me","by":"person","number":1,"key":"a"}"#))
            #expect(heard[2].text(2).contains("you") == false)
            #expect(heard[4].record.fits(#"{"person":"you","value":71,"number":1}"#))

            let since = #""since":"\#(try await peer.status()["epoch"].string ?? "")-0""#
            let me = try await peer.all(since + #","persons":["me"]"#).records
            #expect(me.map { $0["seq"].int } == [2, 9])
            let you = try await peer.all(since + #","persons":["you"]"#).records
            #expect(you.count == 1 && you[0].fits(#"{"kind":"retraction","number":1,"seq":6}"#))
            #expect(try await peer.all(#""persons":["you"]"#).records.isEmpty)
            #expect(try await peer.all(#""nobody":true"#).records.isEmpty)
        }
    }

    @Test func `R6.32 a listener of one type learns that a record has another type now`() async throws {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/", "retraction/")
            _ = try await peer.give([HubCoreTests.weight("a")])
            #expect(try await peer.give([height("a")]).results == ["stored"])
            var heard: [Frames] = []
            while heard.count < 3 { heard.append(try await listener.next()) }
            #expect(
                heard.map(\.topic) == [
                    "sample/weight/me/kitchen-script/", "retraction/weight/me/kitchen-script/",
                    "sample/height/me/kitchen-script/",
                ])
            #expect(heard.map(\.place) == [[1, 0], [2, 0], [3, 0]])
            #expect(heard[1].record.fits(#"{"kind":"retraction","type":"weight","by":"source","number":1,"key":"a"}"#))
        }
    }

    @Test func `R6.24 a follower of one person learns of records that left while it and the hub were offline`()
        async throws
    {
        let folder = try Folder()
        let cursor = try await withHub(.household, in: folder) { hub, peer in
            _ = try await peer.give([weight(of: "me", "a"), weight(of: "me", "b"), weight(of: "you", "c")])
            let page = try await peer.all(#""persons":["me"]"#)
            #expect(page.records.count == 2)
            _ = try await peer.command("assign", #"{"numbers":[2],"to":"you"}"#)
            return page.cursor
        }
        try await withHub(.household, in: folder) { hub, peer in
            let news = try await peer.all(#""since":"\#(cursor)","persons":["me"]"#)
            #expect(news.records.count == 1 && news.records[0].fits(#"{"kind":"retraction","number":2,"seq":4}"#))
            // Live messages continue where the page ends, with the same `previous` on each topic.
            let listener = try await hub.listener("sample/weight/me/", "retraction/weight/me/")
            _ = try await peer.command("assign", #"{"numbers":[1],"to":"you"}"#)
            #expect(try await listener.next().place == [6, 4])
            _ = try await peer.command("assign", #"{"numbers":[1,2],"to":"me"}"#)
            #expect(try await listener.next().place == [9, 2])
            #expect(try await listener.next().place == [11, 9])
        }
    }

    @Test func `R6.25 R6.27 an edit is converted, marked and published, and overrides the source's versions`()
        async throws
    {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/")
            _ = try await peer.give([HubCoreTests.weight("a", 72.3)])
            let edit = try await peer.command(
                "edit", #"{"number":1,"value":176,"unit":"lb","note":"with shoes","reason":"misread"}"#)
            #expect(outcomes(edit) == ["stored"])
            #expect(try await peer.give([HubCoreTests.weight("a", 72.3)]).results == ["duplicate"])
            let beneath = try await peer.give([HubCoreTests.weight("a", 73)])
            #expect(beneath.body["results"][0].fits(#"{"result":"stored","number":1,"seq":3}"#))
            _ = try await listener.next()
            let heard = try await listener.next()
            #expect(heard.place == [2, 1])
            let expected =
                #"{"value":79.83225712,"unit":"kg","original":{"value":176,"unit":"lb"},"edited":["value","metadata"],"#
                + #""metadata":{"note":"with shoes"},"seq":2}"#
            #expect(heard.record.fits(expected))
            #expect(try await peer.all().records == [heard.record])

            let trace = try await peer.query(#""number":1"#, want: "trace").body["trace"]
            #expect(trace["seq"].int == 2)
            #expect(trace["versions"].array.map { $0["covered"].truth ?? false } == [false, false, true])
            #expect(trace["versions"][1].fits(#"{"deed":"edited","reason":"misread"}"#))

            let undone = try await peer.command("edit", #"{"number":1,"undo":true}"#)
            #expect(outcomes(undone) == ["stored"])
            let last = try await listener.next()
            #expect(last.place == [4, 2])
            #expect(last.record["value"].double == 73 && last.record["edited"] == .null)
        }
    }

    @Test func `R8.30 R8.33 a dry run reports the outcomes of the command, and failures have a reason`() async throws {
        try await withHub(.household) { hub, peer in
            let group = #","group":"g""#
            _ = try await peer.give([weight(of: "me", "a", 70, group), weight(of: "me", "b", 71, group)])
            for (command, args, expected) in [
                ("edit", #"{"number":1,"value":70.5,"unit":"kg"}"#, ["stored"]),
                ("edit", #"{"number":9,"value":70.5,"unit":"kg"}"#, ["unknown"]),
                ("edit", #"{"number":1,"start":"2030-01-01T00:00:00Z","end":"2029-01-01T00:00:00Z"}"#, ["time"]),
                ("retract", #"{"numbers":[1,7]}"#, ["stored", "unknown"]),
                ("edit", #"{"number":1,"value":1,"unit":"kg"}"#, ["retracted"]),
                ("retract", #"{"numbers":[1,2],"undo":true}"#, ["stored", "duplicate"]),
                ("assign", #"{"numbers":[1],"to":"you"}"#, ["stored", "stored"]),
                ("assign", #"{"numbers":[1],"to":"you"}"#, ["duplicate", "duplicate"]),
                ("assign", #"{"numbers":[2],"to":"me","alone":true}"#, ["stored"]),
                (
                    "log",
                    #"{"type":"weight","value":1,"unit":"kg","start":"2024-03-15T07:30:00Z","person":"me","key":"k"}"#,
                    ["stored"]
                ),
            ] {
                let head = try await peer.status()["head"]
                let rehearsed = try await peer.command(command, args, dryRun: true)
                #expect(try await peer.status()["head"] == head)
                let done = try await peer.command(command, args)
                #expect(outcomes(done) == expected, "\(command) \(args): \(done)")
                #expect(done.body["result"]["records"] == rehearsed.body["result"]["records"], "\(command) \(args)")
            }
            for (command, args, code) in [
                ("edit", #"{"number":1}"#, "command"), ("edit", #"{"number":1,"undo":true,"value":1}"#, "command"),
                ("edit", #"{"number":1,"value":1,"unit":"m"}"#, "unit"),
                ("edit", #"{"number":1,"start":"yesterday"}"#, "time"),
                ("assign", #"{"numbers":[1],"to":"yuo"}"#, "person"), ("assign", #"{"to":"you"}"#, "command"),
                ("assign", #"{"numbers":[1]}"#, "command"), ("assign", #"{"rules":true,"to":"you"}"#, "command"),
                ("assign", #"{"numbers":[1],"to":"you","guest":true}"#, "command"),
                ("assign", #"{"numbers":[1],"nobody":true,"undo":true}"#, "command"),
                ("assign", #"{"numbers":[1],"undo":true,"reason":"why"}"#, "command"),
                ("assign", #"{"rules":true,"guest":true}"#, "command"),
                ("retract", #"{"numbers":[1],"undo":true,"reason":"x"}"#, "command"),
                ("log", #"{"type":"weight","value":1,"unit":"kg"}"#, "person"),
                ("log", #"{"type":"wieght","value":1,"unit":"kg","person":"me"}"#, "type"),
                ("log", #"{"type":"sleepAnalysis","name":"asleep?","person":"me"}"#, "value"),
                ("log", #"{"type":"weight","values":[1,2],"unit":"kg","person":"me"}"#, "command"),
            ] {
                let answer = try await peer.command(command, args)
                #expect(answer.body.fits(#"{"outcome":"failed","code":"\#(code)"}"#), "\(command) \(args): \(answer)")
            }
        }
    }

    @Test func `R8.31 a manual entry is stored as the plugin hand, once for each key`() async throws {
        try await withHub { hub, peer in
            let listener = try await hub.listener("sample/")
            let entry =
                #"{"type":"bodyMass","value":177,"unit":"lb","start":"2024-03-15T07:30:00+01:00","zone":"Europe/Berlin","note":"after breakfast""#
            let done = try await peer.command("log", entry + #","key":"2024-03-15T06:30:00Z"}"#)
            #expect(
                done.body["result"]["records"][0].fits(
                    #"{"number":1,"seq":1,"outcome":"stored","type":"weight","person":"me"}"#))
            let heard = try await listener.next()
            #expect(heard.topic == "sample/weight/me/hand/")
            let expected =
                #"{"original":{"value":177,"unit":"lb"},"source":{"plugin":"hand"},"provenance":"measured","key":"2024-03-15T06:30:00Z","#
                + #""metadata":{"wasUserEntered":true,"note":"after breakfast"}}"#
            #expect(heard.record.fits(expected))
            let repeated = try await peer.command("log", entry + #","key":"2024-03-15T06:30:00Z"}"#)
            #expect(outcomes(repeated) == ["duplicate"])
            // Without a key each entry is new, and the answer names the newest entry so far.
            for number in [2, 3] {
                let again = try await peer.command("log", entry + "}")
                #expect(again.body["result"]["records"][0]["number"].int == Int64(number))
                #expect(again.body["result"]["records"][0]["last"]["type"].string == "weight")
            }
            let pressure = try await peer.command(
                "log", #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z"}"#)
            #expect(outcomes(pressure) == ["stored", "stored", "stored"])
            let records = try await peer.all(#""numbers":[4,5,6]"#).records
            #expect(
                records.map { $0["type"].string } == [
                    "bloodPressure", "bloodPressureSystolic", "bloodPressureDiastolic",
                ])
            #expect(Set(records.map { $0["group"].string }).count == 1)
            #expect(records.map { $0["value"].double } == [nil, 120, 80])
            let sleep =
                #"{"type":"sleepAnalysis","name":"asleepCore","start":"2024-03-14T23:00:00Z","end":"2024-03-15T07:00:00Z"}"#
            #expect(outcomes(try await peer.command("log", sleep)) == ["stored"])
        }
    }

    @Test func `R8.70 a food and a workout are entered with their members, all or none`() async throws {
        try await withHub { hub, peer in
            let at = #""start":"2024-03-15T12:30:00+01:00","key":"a""#
            let food = try await peer.command(
                "log",
                #"{"type":"food","members":["dietaryEnergyConsumed","dietaryProtein"],"values":[300,12],"units":["J","g"],"metadata":"{\"foodType\":\"Ham Sandwich\"}","note":"late",\#(at)}"#
            )
            #expect(outcomes(food) == ["stored", "stored", "stored"])
            let records = try await peer.all().records
            #expect(records.map { $0["type"].string } == ["food", "dietaryEnergyConsumed", "dietaryProtein"])
            #expect(Set(records.map { $0["group"].string }) == ["a"])
            #expect(records[0]["metadata"] == JSON(#"{"foodType":"Ham Sandwich","wasUserEntered":true,"note":"late"}"#))
            #expect(
                records[1].fits(
                    #"{"original":{"value":300,"unit":"J"},"key":"a 1","metadata":{"foodType":"Ham Sandwich"}}"#))
            let swim = try await peer.command(
                "log",
                #"{"type":"workout","name":"swimming","members":["activeEnergyBurned"],"values":[300],"units":["kcal"],"duration":1500,"start":"2024-03-15T07:00:00Z","end":"2024-03-15T07:30:00Z"}"#
            )
            #expect(outcomes(swim) == ["stored", "stored"])
            #expect(swim.body["result"]["records"][0]["record"]["workout"] == JSON(#"{"duration":1500}"#))
            for (args, code) in [
                (
                    #""type":"food","members":["heartRate"],"values":[60],"units":["count/min"],"metadata":"{\"foodType\":\"x\"}""#,
                    "group"
                ),
                (#""type":"food","members":["dietaryProtein"],"values":[1],"units":["g"]"#, "metadata"),
                (#""type":"food","metadata":"{\"foodType\":\"x\"}""#, "group"),
                (#""type":"food","members":["dietaryProtein"],"values":[1]"#, "command"),
                (#""type":"weight","members":["height"],"values":[1],"units":["m"]"#, "command"),
                (#""type":"weight","value":70,"unit":"kg","duration":1"#, "command"),
                (#""type":"workout","name":"yoga","duration":9000,"end":"2024-03-15T12:00:00Z""#, "value"),
                (#""type":"weight","value":70,"unit":"kg","metadata":"[]""#, "command"),
            ] {
                let refused = try await peer.command("log", #"{\#(args),"start":"2024-03-15T11:30:00Z"}"#)
                #expect(refused.body["code"].string == code, "\(args): \(refused)")
            }
            #expect(try await peer.all().records.count == 5)
        }
    }

    @Test func `R8.71 a correlation or workout is retracted and restored with its group, and a member alone`()
        async throws
    {
        try await withHub { hub, peer in
            let pressure = #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z"}"#
            #expect(outcomes(try await peer.command("log", pressure)) == ["stored", "stored", "stored"])
            #expect(try await peer.give([HubCoreTests.weight("w")]).results == ["stored"])
            let dry = try await peer.command("retract", #"{"numbers":[1]}"#, dryRun: true)
            #expect(dry.body["result"]["records"].array.map { $0["number"].int } == [1, 2, 3])
            let done = try await peer.command("retract", #"{"numbers":[2,1],"reason":"of the neighbour"}"#)
            #expect(done.body["result"]["records"].array.map { $0["number"].int } == [2, 1, 3])
            #expect(outcomes(done) == ["stored", "stored", "stored"])
            #expect(try await peer.all().records.map { $0["number"].int } == [4])
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[1],"undo":true}"#)).count == 3)
            #expect(try await peer.all().records.count == 4)
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[3]}"#)) == ["stored"])
            #expect(try await peer.all().records.count == 3)
        }
    }

    @Test func `R8.72 a blood pressure and a workout are edited and undone as a whole`() async throws {
        try await withHub { hub, peer in
            let pressure = #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z"}"#
            _ = try await peer.command("log", pressure)
            let swim =
                #"{"type":"workout","name":"swimming","members":["activeEnergyBurned"],"values":[300],"units":["kcal"],"start":"2024-03-15T18:00:00Z","end":"2024-03-15T18:30:00Z"}"#
            _ = try await peer.command("log", swim)
            let edited = try await peer.command(
                "edit", #"{"number":1,"values":[118,79],"unit":"mmHg","start":"2024-03-15T07:45:00Z"}"#)
            #expect(outcomes(edited) == ["stored", "stored", "stored"])
            func records() async throws -> [JSON] { try await peer.all(#""numbers":[1,2,3,4,5]"#).records }
            var all = try await records().sorted { $0["number"].int ?? 0 < $1["number"].int ?? 0 }
            #expect(all.prefix(3).map { $0["value"].double } == [nil, 118, 79])
            #expect(all.prefix(3).allSatisfy { $0["start"].string == "2024-03-15T07:45:00Z" })
            let moved = try await peer.command(
                "edit", #"{"number":4,"start":"2024-03-15T17:00:00Z","end":"2024-03-15T17:30:00Z"}"#)
            #expect(outcomes(moved) == ["stored", "stored"])
            let alone = try await peer.command("edit", #"{"number":5,"value":310,"unit":"kcal"}"#)
            #expect(outcomes(alone) == ["stored"])
            all = try await records().sorted { $0["number"].int ?? 0 < $1["number"].int ?? 0 }
            #expect(all.suffix(2).allSatisfy { $0["end"].string == "2024-03-15T17:30:00Z" })
            #expect(all[4]["value"].double == 310)
            for number in [1, 4] { _ = try await peer.command("edit", #"{"number":\#(number),"undo":true}"#) }
            all = try await records().sorted { $0["number"].int ?? 0 < $1["number"].int ?? 0 }
            #expect(all.map { $0["value"].double } == [nil, 120, 80, nil, 300])
            #expect(all.allSatisfy { $0["edited"] == .null })
            for wrong in [#""number":1,"values":[118]"#, #""number":2,"values":[118]"#, #""number":4,"values":[1]"#] {
                let refused = try await peer.command("edit", "{\(wrong)}")
                #expect(refused.body["code"].string == "command", "\(refused)")
            }
        }
    }

    @Test func `R8.186 one of several concurrent edits of one version succeeds, and the others get changed`()
        async throws
    {
        try await withHub { hub, peer in
            _ = try await peer.give([HubCoreTests.weight("w")])
            let answers = try await withThrowingTaskGroup(of: JSON.self) { group in
                for value in 1...8 {
                    let other = try await hub.client("editor-\(value)")
                    group.addTask {
                        try await other.command("edit", #"{"number":1,"value":\#(70 + value),"unit":"kg","seq":1}"#)
                            .body["result"]["records"][0]
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let done = answers.filter { $0["outcome"].string == "stored" }
            #expect(done.count == 1)
            #expect(answers.filter { $0["outcome"].string == "changed" }.count == 7)
            let record = try #require(try await peer.all().records.first)
            #expect(record["seq"].int == 2 && record["value"] == done.first?["record"]["value"])
            // The answer was lost, and the client sends the command again.
            let again = try await peer.command("edit", #"{"number":1,"value":75,"unit":"kg","seq":1}"#)
            let told = again.body["result"]["records"][0]
            #expect(told["outcome"].string == "changed" && told["seq"].int == 2)
            #expect(told["reason"].string == "record 1 is at version 2 now, not at version 1: look at it again")
        }
    }

    @Test
    func `R8.186 one of several concurrent edits of a blood pressure succeeds, by its members' versions`()
        async throws
    {
        try await withHub { hub, peer in
            let pressure = #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z"}"#
            _ = try await peer.command("log", pressure)
            let answers = try await withThrowingTaskGroup(of: [String].self) { group in
                for upper in 121...126 {
                    let other = try await hub.client("editor-\(upper)")
                    let values = #""values":[\#(upper),\#(upper - 40)],"unit":"mmHg","seq":1,"seqs":[2,3]"#
                    group.addTask { outcomes(try await other.command("edit", #"{"number":1,\#(values)}"#)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.count { $0 == ["duplicate", "stored", "stored"] } == 1, "\(answers)")
            #expect(answers.count { $0 == ["changed"] } == 5)
            let values = try await peer.all(#""numbers":[2,3]"#).records.compactMap { $0["value"].double }.sorted()
            #expect(values.count == 2 && values[1] == values[0] + 40)
            let few = try await peer.command("edit", #"{"number":1,"values":[1,2],"unit":"mmHg","seqs":[2]}"#)
            #expect(few.body["reason"].string?.contains("seqs: expected one for each of its members: 2") == true)
        }
    }

    @Test func `R8.186 a changed record blocks the change of its group, but not of other records`()
        async throws
    {
        try await withHub(.household) { hub, peer in
            let pressure =
                #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z","person":"me"}"#
            _ = try await peer.command("log", pressure)
            _ = try await peer.give([weight(of: "me", "w")])
            _ = try await peer.command("edit", #"{"number":1,"note":"after coffee"}"#)
            func numbers(_ answer: Frames) -> [Int64?] {
                answer.body["result"]["records"].array.map { $0["number"].int }
            }
            for command in [#""reason":"not mine""#, #""to":"you""#, #""undo":true"#] {
                let name = command.contains("to") ? "assign" : "retract"
                let dry = try await peer.command(name, #"{"numbers":[1,4],"seqs":[1,4],\#(command)}"#, dryRun: true)
                #expect(numbers(dry) == [1, 4], "\(command): \(dry)")
                #expect(outcomes(dry) == ["changed", command.contains("undo") ? "duplicate" : "stored"])
            }
            let done = try await peer.command("retract", #"{"numbers":[1,4],"seqs":[1,4]}"#)
            #expect(outcomes(done) == ["changed", "stored"])
            #expect(try await peer.all().records.map { $0["number"].int }.sorted { $0 ?? 0 < $1 ?? 0 } == [1, 2, 3])
            let values = try await peer.command("edit", #"{"number":1,"values":[1,2],"unit":"mmHg","seq":1}"#)
            #expect(outcomes(values) == ["changed"])
            #expect(outcomes(try await peer.command("edit", #"{"number":1,"undo":true,"seq":1}"#)) == ["changed"])
            // With its current version it is retracted with its group.
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[1],"seqs":[5]}"#)).count == 3)
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[99],"seqs":[5]}"#)) == ["unknown"])
            _ = try await peer.command("retract", #"{"numbers":[1],"undo":true}"#)
            // If a named record of a group has changed, the other named records of that group stay, too.
            let member = try await peer.command("retract", #"{"numbers":[2,1],"seqs":[0,5]}"#)
            #expect(outcomes(member) == ["changed", "changed"])
            for wrong in [
                #""numbers":[1,4],"seqs":[1]"#, #""numbers":[1,1],"seqs":[1,2]"#, #""numbers":[1],"seqs":[-1]"#,
            ] {
                let refused = try await peer.command("retract", "{\(wrong)}")
                #expect(refused.body["code"].string == "command", "\(refused)")
            }
        }
    }

    @Test
    func `R8.187 one of two persons' concurrent entries with the same key is stored, the other refused`()
        async throws
    {
        try await withHub(.household) { hub in
            let programs = [("me", try await hub.client("of-me")), ("you", try await hub.client("of-you"))]
            var owners: [String: String] = [:]
            for round in 1...100 {
                let key = "2024-03-15T06:30:00Z \(round)"
                let answers = try await withThrowingTaskGroup(of: (String, [String]).self) { group in
                    for (person, program) in programs {
                        let entry =
                            #""type":"weight","value":80,"unit":"kg","start":"2024-03-15T06:30:00Z","key":"\#(key)""#
                        group.addTask {
                            let answer = try await program.command(
                                "log", #"{\#(entry),"person":"\#(person)","of":"\#(person)"}"#)
                            return (person, answer.body["result"]["records"].array.map { $0["outcome"].string ?? "?" })
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(answers.map { $0.1 }.sorted { $0[0] < $1[0] } == [["forbidden"], ["stored"]], "\(answers)")
                owners[key] = answers.first { $0.1 == ["stored"] }?.0
            }
            let records = try await programs[0].1.all().records
            #expect(records.count == 100)
            for record in records { #expect(record["person"].string == owners[record["key"].string ?? ""]) }
        }
    }

    @Test func `R8.187 a change for one person never changes a record that was assigned to another`() async throws {
        try await withHub(.household) { hub in
            let (owner, program) = (try await hub.client(), try await hub.client("of-me"))
            let changes = [
                ("edit", #""value":99,"unit":"kg""#), ("retract", #""reason":"not mine""#),
                ("assign", #""nobody":true"#),
            ]
            for round in 0..<90 {
                _ = try await owner.give([weight(of: "me", "w\(round)")])
                let newest = try await owner.all().records.compactMap { $0["number"].int }.max()
                let number = try #require(newest)
                let (verb, what) = changes[round % 3]
                let named = verb == "edit" ? #""number":\#(number)"# : #""numbers":[\#(number)]"#
                async let given = owner.command("assign", #"{"numbers":[\#(number)],"to":"you"}"#)
                async let changed = program.command(verb, #"{\#(named),\#(what),"of":"me"}"#)
                let (gift, answer) = (try await given, try await changed)
                #expect(outcomes(gift) == ["stored"])
                // The change happened while the record was theirs, or not at all.
                let before = try #require(gift.body["result"]["records"][0]["seq"].int)
                if outcomes(answer) == ["stored"] {
                    let seq = try #require(answer.body["result"]["records"][0]["seq"].int)
                    #expect(seq < before, "\(verb) changed another person's record")
                } else {
                    #expect(outcomes(answer) == ["unknown"])
                }
                let late = try await program.command(verb, #"{\#(named),\#(what),"of":"me"}"#)
                #expect(outcomes(late) == ["unknown"] && late.body["result"]["records"][0]["person"] == .null)
            }
        }
    }

    @Test func `R8.187 a group with another person's record stays unchanged, and inbox records belong to no one`()
        async throws
    {
        try await withHub(.household) { hub, peer in
            let pressure =
                #"{"type":"bloodPressure","values":[120,80],"unit":"mmHg","start":"2024-03-15T07:30:00Z","person":"me"}"#
            _ = try await peer.command("log", pressure)
            _ = try await peer.command("assign", #"{"numbers":[3],"to":"you","alone":true}"#)
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[1],"of":"me"}"#)) == ["forbidden"])
            #expect(
                outcomes(try await peer.command("assign", #"{"numbers":[1],"nobody":true,"of":"me"}"#)) == ["forbidden"]
            )
            #expect(
                outcomes(try await peer.command("retract", #"{"numbers":[2,3],"of":"me"}"#)) == ["stored", "unknown"])
            _ = try await peer.command("assign", #"{"numbers":[3],"nobody":true,"alone":true}"#)
            #expect(outcomes(try await peer.command("retract", #"{"numbers":[3],"of":"you"}"#)) == ["unknown"])
            let wrong = try await peer.command("retract", #"{"numbers":[3],"of":"someone"}"#)
            #expect(wrong.body["code"].string == "person", "\(wrong)")
        }
    }

    @Test func `R6.71 an edit of a value keeps the record's metadata`() async throws {
        try await withHub { hub, peer async throws in
            let insulin =
                #"{"type":"insulinDelivery","value":4,"unit":"IU","start":"2024-03-15T07:30:00Z","metadata":{"insulinDeliveryReason":2,"syncIdentifier":"a","syncVersion":1}}"#
            #expect(try await peer.give([insulin]).results == ["stored"])
            #expect(outcomes(try await peer.command("edit", #"{"number":1,"value":5,"unit":"IU"}"#)) == ["stored"])
            #expect(try await peer.all().records[0].fits(#"{"value":5,"metadata":{"insulinDeliveryReason":2}}"#))
        }
    }

    @Test func `R4.10 no program can log in as the plugin hand or as the hub`() async throws {
        try await withHub { hub in
            for names in [("x", "hand"), ("x", "hub"), ("hub", "x")] {
                let peer = try await hub.peer()
                let body = #"{"protocol":[1],"instance":"\#(names.0)","plugin":"\#(names.1)","version":"1"}"#
                #expect(try await peer.ask("HELLO", body).code == "instance")
            }
        }
    }

    @Test func `R4.34 only the owner's import may send records of the plugin hand and of the hub`() async throws {
        try await withHub { hub in
            for (instance, mode, code) in [
                ("hub-import", "once", nil), ("hub-import", "run", "instance"), ("other", "once", "instance"),
            ] as [(String, String, String?)] {
                let peer = try await hub.peer()
                let names = #""instance":"\#(instance)","plugin":"hand","mode":"\#(mode)""#
                #expect(try await peer.ask("HELLO", #"{"protocol":[1],\#(names),"version":"1"}"#).code == code)
            }
        }
    }

    @Test func `R8.32 current rules are applied to the inbox, except to records that a person put there`()
        async throws
    {
        let folder = try Folder()
        var setting = Setting.household
        try await withHub(setting, in: folder) { hub in
            let peer = try await hub.client("scale")
            let records = [(1, "a"), (2, "b"), (3, "c"), (1, "d")].map { slot, key in
                HubCoreTests.weight(key, 70, #","subject":{"slot":\#(slot)}"#)
            }
            #expect(try await peer.give(records).results == ["stored", "stored", "stored", "stored"])
            _ = try await peer.command("assign", #"{"numbers":[4],"nobody":true,"reason":"a guest"}"#)
            #expect(try await peer.status()["inbox"].int == 4)
        }
        setting.slots = ["me": ["scale": 1], "you": ["scale": 2]]
        try await withHub(setting, in: folder) { hub, peer in
            let listener = try await hub.listener("sample/", "hub/inbox/")
            let dry = try await peer.command("assign", #"{"rules":true}"#, dryRun: true)
            #expect(dry.body["result"]["assigned"] == JSON(#"{"me":1,"you":1}"#))
            #expect(dry.body["result"]["left"]["a guest"].int == 1)
            #expect(try await peer.status()["inbox"].int == 4)
            let done = try await peer.command("assign", #"{"rules":true}"#)
            #expect(done.body["result"]["assigned"] == dry.body["result"]["assigned"])
            #expect(try await peer.status()["inbox"].int == 2)
            var heard: [String] = []
            for _ in 0..<4 { heard.append(try await listener.next().topic) }
            #expect(heard == ["hub/inbox/", "sample/weight/me/scale/", "hub/inbox/", "sample/weight/you/scale/"])
        }
    }
}
