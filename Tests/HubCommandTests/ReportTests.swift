import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire
import Samples
import Testing

@testable import HubCommand

@Suite struct StatusTextTests {
    private func status(
        plugins: String, store: String = #"{"path":"/d/hub.sqlite","state":"ok"}"#, sinks: String = ""
    ) throws -> HubStatus {
        try JSON.decode(
            HubStatus.self,
            from: """
                {"hub":"h","version":"0.1.0","epoch":"k7qz2m5a","head":1042,"records":1040,"inbox":0,"implausible":0,
                "time":"2026-03-15T07:00:00Z","clock":"system","uptime":7500,
                "endpoints":{"door":"ipc:///r/door","feed":"ipc:///r/feed"},"store":\(store),"plugins":[\(plugins)],
                "sessions":[],"accounts":[{"instance":"ihealth-hs3","received":20,"stored":17,"versions":0,"retractions":0,
                "duplicates":3,"rejected":0}],"sinks":[\(sinks)],"persons":[],"devices":[],"residentBytes":20971520,"dropped":0}
                """.utf8)
    }

    private func plugin(_ lamps: String, state: String = "running") -> String {
        #"{"state":"\#(state)","name":"ihealth-hs3","kind":"ihealth-hs3","enabled":true,"restarts":0,"records":17,"sessions":1,"lastRecord":"2026-03-15T06:30:05.25Z",\#(lamps)}"#
    }

    @Test func `alive, fresh and delivering are shown as words, and a dash if they do not apply`() throws {
        let last = try #require(LocalTime.text("2026-03-15T06:30:05Z"))
        let text = StatusText(try status(plugins: plugin(#""alive":true,"fresh":false"#)), all: true, colours: false)
        #expect(
            text.lines == [
                "All well", "", "hub      0.1.0, up 2 h 5 min, 20 MiB", "records  1,040 records, newest k7qz2m5a-1042",
                "store    /d/hub.sqlite  ok", "door     ipc:///r/door", "feed     ipc:///r/feed", "",
                "PLUGIN       STATE    ALIVE  FRESH  DELIVERING  RECORDS  RESTARTS  LAST RECORD",
                "ihealth-hs3  running  yes    no     -                17         0  \(last)", "",
                "ACCOUNT      RECEIVED  STORED  NEW VERSIONS  RETRACTIONS  DUPLICATES  REJECTED",
                "ihealth-hs3        20      17             0            0           3         0",
            ])
    }

    @Test func `the status begins with whether all is well, and lists disabled plugins only on request`()
        throws
    {
        let disabled =
            #"{"state":"disabled","name":"exist","kind":"exist","enabled":false,"restarts":0,"records":0,"sessions":0,"alive":false}"#
        let well = try status(plugins: plugin(#""alive":true,"fresh":false"#) + "," + disabled)
        let text = StatusText(well, colours: false).lines
        #expect(text[0] == "All well")
        #expect(!text.contains { $0.hasPrefix("exist") } && text.contains("1 plugin not enabled (hub status --all)"))
        #expect(!text.contains { $0.hasPrefix("door") || $0.hasPrefix("ACCOUNT") })
        #expect(StatusText(well, all: true, colours: false).lines.contains { $0.hasPrefix("exist") })

        var waiting = well
        waiting.inbox = 2
        #expect(StatusText(waiting, colours: false).lines[0] == "All well; 2 records in the inbox (hub inbox)")
    }

    @Test func `the first line of the status names the first problem, its remedy and the number of others`() throws {
        let crashed = plugin(
            #""alive":false,"lastError":"exited with code 3","advice":"exited with code 3; see hub logs ihealth-hs3""#,
            state: "failed")
        #expect(
            StatusText(try status(plugins: crashed), colours: false).lines[0]
                == "Not well: ihealth-hs3: exited with code 3; see hub logs ihealth-hs3")
        let full = try status(plugins: crashed, store: #"{"path":"/d/hub.sqlite","state":"full","error":"no room"}"#)
        #expect(
            StatusText(full, colours: false).lines[0]
                == "Not well: the store is full: no room (and 1 other problem, below)")
    }

    @Test
    func
        `after a restart of the hub the record count continues, and FRESH and LAST RECORD are marked as since the start`()
        throws
    {
        let silent = #"""
            {"state":"running","name":"ihealth-hs3","kind":"ihealth-hs3","enabled":true,"restarts":0,"records":0,
            "sessions":1,"alive":true}
            """#
        let lines = StatusText(try status(plugins: silent), colours: false).lines
        #expect(lines[7] == "ihealth-hs3  running  yes    -      -                17         0  -")
        #expect(lines[8] == "FRESH and LAST RECORD: since the hub's start, 2 h 5 min ago")
    }

    @Test func `the status explains the account named hub`() throws {
        var status = try status(plugins: "")
        status.accounts[0].instance = "hub"
        #expect(
            StatusText(status, all: true, colours: false).lines.last
                == "hub: entries and changes by hand, and a retraction for each person or type that a record has left")
    }

    @Test func `a plugin that runs on a schedule and is resting is well, and the status shows its last and next run`()
        throws
    {
        let resting = plugin(
            #""alive":false,"run":"hourly","lastRun":"2026-03-15T06:30:05Z","nextRun":"2026-03-15T07:30:05Z""#,
            state: "resting")
        let status = try status(plugins: resting)
        let lines = StatusText(status, colours: false).lines
        #expect(status.isWell)
        #expect(lines[7].hasPrefix("ihealth-hs3  resting  - "))
        let (last, next) = (
            try #require(LocalTime.text("2026-03-15T06:30:05Z")), try #require(LocalTime.text("2026-03-15T07:30:05Z"))
        )
        #expect(
            lines[9] == "ihealth-hs3: ran last at \(last), and runs when something waits for it, not before \(next)")
    }

    @Test func `a plugin with a problem has a line below the table`() throws {
        let crashed = plugin(
            #""alive":false,"restartIn":8.4,"lastError":"exited with code 3","advice":"exited with code 3; see hub logs ihealth-hs3""#,
            state: "restarting")
        let lines = StatusText(try status(plugins: crashed), colours: false).lines
        #expect(lines[7].hasPrefix("ihealth-hs3  restarting in 8 s  no "))
        #expect(lines[8...9] == ["", "ihealth-hs3: exited with code 3; see hub logs ihealth-hs3"])
        let told = plugin(#""alive":true,"lastError":"the battery is low""#)
        #expect(
            StatusText(try status(plugins: told), colours: false).lines[9] == "ihealth-hs3 says: the battery is low")
    }

    @Test func `the status shows what uses the memory if it is more than half of the limit`() throws {
        var status = try status(plugins: "")
        let memory =
            #"{"limit":67108864,"atDoor":12582912,"mostOf":"importer","recordsForStore":1200,"onFeeds":3145728,"credit":31457280}"#
        status.memory = try JSON.decode(HubStatus.Memory.self, from: memory.utf8)
        #expect(!StatusText(status, colours: false).lines.contains { $0.hasPrefix("memory") })
        status.residentBytes = 40 << 20
        #expect(
            StatusText(status, colours: false).lines.contains(
                "memory   40 MiB of 64 MiB: 12 MiB wait at the door, most of it of importer, 1,200 records for the store, "
                    + "up to 3 MiB for listeners; sessions may send 30 MiB"))
    }

    @Test func `the status shows the progress of an erasure, the programs that delay it, and failed records`() throws {
        func lines(_ erasure: String) throws -> [String] {
            var status = try status(plugins: "")
            status.erasure = try JSON.decode(HubStatus.Erasure.self, from: erasure.utf8)
            return StatusText(status, colours: false).lines.filter { $0.hasPrefix("eras") }
        }
        #expect(try lines(#"{"records":9,"left":3,"named":0,"waitingFor":[]}"#) == ["erasing  3 records left"])
        #expect(
            try lines(#"{"records":9,"left":0,"named":2,"waitingFor":["json-lines/all"]}"#) == [
                "erasing  no record left; the store's log is emptied as soon as no program reads it, such as a backup",
                "erased   2 records but for their keys, until json-lines/all has been notified",
            ])
        #expect(
            try lines(#"{"named":0,"waitingFor":[],"failed":2,"faults":[{"number":7,"reason":"a constraint failed"}]}"#)
                == ["erasing  2 records could not be erased and are tried again every hour: 7, for a constraint failed"]
        )
    }

    @Test func `a hub is unwell only because of a plugin's lamp or the store`() throws {
        #expect(try status(plugins: plugin(#""alive":true"#)).isWell)
        #expect(try status(plugins: "").isWell)
        #expect(try status(plugins: plugin(#""alive":true,"fresh":false"#)).isWell)
        #expect(try !status(plugins: plugin(#""alive":true,"delivering":false"#)).isWell)
        #expect(try !status(plugins: plugin(#""alive":false"#)).isWell)
        #expect(try status(plugins: plugin(#""alive":false"#, state: "finished")).isWell)
        #expect(try !status(plugins: plugin(#""alive":true,"isFallback":true"#)).isWell)
        #expect(try !status(plugins: plugin(#""alive":true,"hasError":true"#)).isWell)
        #expect(try !status(plugins: plugin(#""alive":true,"tokens":[{"account":"me","state":"missing"}]"#)).isWell)
        let off = plugin(#""alive":false"#).replacingOccurrences(of: #""enabled":true"#, with: #""enabled":false"#)
        #expect(try status(plugins: off).isWell)
        #expect(try !status(plugins: "", store: #"{"path":"/d","state":"full","error":"no room"}"#).isWell)
    }
}

@Suite struct ManualAnswerTests {
    /// A record may be retracted between the preview and the change.
    ///
    /// Its refusal must not be reported as done, or as done before.
    @Test func `a refusal during the change is distinguished from a record that already is so`() throws {
        let json = try #require(
            RawJSON(
                #"{"dryRun":false,"records":[{"number":1,"outcome":"duplicate"},{"number":2,"outcome":"retracted","reason":"2 was taken back"}]}"#
            ))
        let answer = try ManualAnswer(json)
        #expect(answer.entries.map(\.isRejected) == [false, true])
        let failure = #expect(throws: Failure.self) { try answer.refuseRejections(isDone: true) }
        #expect(failure?.message == "2 was taken back; the others are done" && failure?.exit == .unhealthy)
        let before = #expect(throws: Failure.self) { try answer.refuseRejections() }
        #expect(before?.message == "2 was taken back; nothing was changed")
    }
}

@Suite struct PluginTextTests {
    @Test func `settings are listed with value, origin and meaning, secrets without their value`() throws {
        let plugin = try JSON.decode(
            PluginEntry.self,
            from: #"""
                {"name":"cloud","kind":"exist","enabled":true,"executable":"/bin/hub-exist","summary":"Sends days.",
                "version":"1.2","reads":["weight"],"writes":[],"settings":{"token":"<secret>","every":"1h"},
                "declarations":[{"name":"token","type":"string","help":"The token.","secret":true},
                {"name":"every","type":"duration","help":"How often.","default":"1h"},
                {"name":"zone","type":"timeZone","help":"Whose days."}]}
                """#.utf8)
        #expect(
            plugin.lines(tokens: nil) == [
                "cloud (exist)", "  what     Sends days.", "  program  /bin/hub-exist, version 1.2",
                "  reads    weight", "  persons  all",
                "  confined no: it may do all that the hub's user may (confine = false)",
                "  SETTING  VALUE     FROM      MEANING", "  token    <secret>  hub.conf  The token.",
                "  every    1h        default   How often.", "  zone     -                   Whose days.",
            ])
    }
}

@Suite struct CheckReportTests {
    private func report(_ text: String) -> CheckReport {
        let environment = SettingsEnvironment(variables: ["HOME": "/h"], currentDirectory: "/c") { _ in Data() }
        return CheckReport(
            file: "hub.conf",
            HubConfiguration.load(text: text, file: "hub.conf", environment: environment) { _, _ in [] })
    }

    @Test func `a valid hub.conf is reported with the number of people and plugins`() {
        let report = report("[person.me]\n[plugin.a]\n[plugin.b]\nenabled = false\n")
        #expect(report.ok)
        #expect(report.lines == ["hub.conf: ok, 1 person, 1 plugin"])
    }

    @Test func `check shows why a program did not answer, next to the errors that follow from it`() {
        let environment = SettingsEnvironment(variables: ["HOME": "/h"], currentDirectory: "/c") { _ in Data() }
        let loaded = HubConfiguration.load(
            text: "[person.me]\n[plugin.a]\n", file: "hub.conf", environment: environment
        ) { _, _ in nil }
        let report = CheckReport(
            file: "hub.conf", loaded, faults: ["a": "/bin/hub-a --describe did not print a manifest"])
        #expect(!report.ok)
        #expect(report.lines.count == 3)
        #expect(report.lines[0].hasPrefix("hub.conf:2: [plugin.a] "))
        #expect(report.lines[1] == "plugin a: /bin/hub-a --describe did not print a manifest")
        #expect(report.lines[2] == "hub.conf: 1 error")
    }

    @Test func `the reason why a program cannot be asked is shown once, at its line`() throws {
        let reason = "its program /opt/hub-a is not executable; chmod +x it"
        let environment = SettingsEnvironment(variables: ["HOME": "/h"], currentDirectory: "/c") { _ in Data() }
        let loaded = HubConfiguration.load(
            text: "[person.me]\n[plugin.a]\n[plugin.b]\nenabled = false\n", file: "hub.conf", environment: environment,
            faults: ["a": reason, "b": reason]
        ) { _, _ in nil }
        let report = CheckReport(file: "hub.conf", loaded, faults: ["a": reason, "b": reason])
        #expect(
            report.lines == [
                "hub.conf:2: [plugin.a] executable = \"hub-a\": \(reason)", "plugin b: \(reason)", "hub.conf: 1 error",
            ])
    }

    @Test func `all errors are shown with their line, and then counted`() throws {
        let report = report("[hub]\nlog_level = \"loud\"\n[person.me]\nheigth = 180\n")
        #expect(!report.ok)
        #expect(report.lines.count == 3)
        #expect(report.lines[0].hasPrefix("hub.conf:2: [hub] log_level"))
        #expect(report.lines[1] == "hub.conf:4: [person.me] heigth: unknown key; did you mean height?")
        #expect(report.lines[2] == "hub.conf: 2 errors")
        #expect(try JSON.line(report).contains(#""errors":2"#))
    }
}

@Suite struct TraceTextTests {
    @Test func `a trace shows the record, its person and source, and each version`() throws {
        let stored = try (15...17).map { try #require(LocalTime.text("2026-03-\($0)T06:31:00Z")) }
        let record =
            #"{"kind":"quantity","type":"weight","value":72.3,"unit":"kg","start":"2026-03-15T07:30:05+01:00","end":"2026-03-15T07:30:05+01:00","person":"me","personId":"u1","source":{"plugin":"p"},"key":"k1","provenance":"measured","number":3,"seq":3}"#
        let retraction =
            #"{"kind":"retraction","type":"weight","person":"me","personId":"u1","source":{"plugin":"p"},"key":"k1","by":"person","number":3,"seq":12}"#
        let answer = try #require(
            RawJSON(
                #"{"number":3,"seq":12,"topic":"retraction/weight/me/p/","topicHead":12,"topicCount":1,"versions":[{"recordedAt":"2026-03-15T06:31:00Z","record":\#(record)},{"recordedAt":"2026-03-16T06:31:00Z","deed":"retracted","record":\#(retraction)},{"recordedAt":"2026-03-17T06:31:00Z","covered":true,"record":\#(record)}],"retracted":\#(record),"deliveries":[]}"#
            ))
        #expect(
            try TraceText(answer, ReadingUnits([])).lines == [
                "record     3", "type       weight", "person     me", "source     p", "key        k1",
                "state      retracted by a person", "published  retraction/weight/me/p/",
                "topic      1 message so far, newest 12", "",
                "STORED                      VERSION  TIME                        VALUE                  PERSON  HOW",
                "\(stored[0])        3  2026-03-15 07:30:05 +01:00  72.3 kg                me",
                "\(stored[1])       12                              retracted by a person  me      retracted by hand",
                "\(stored[2])        3  2026-03-15 07:30:05 +01:00  72.3 kg                me      by its source, hidden by a person's change",
            ])
    }

    @Test func `an answer of an unexpected form is an error`() {
        #expect(throws: Failure.self) {
            try TraceText(RawJSON(trusted: Array(#"{"versions":[]}"#.utf8)), ReadingUnits([]))
        }
    }
}
