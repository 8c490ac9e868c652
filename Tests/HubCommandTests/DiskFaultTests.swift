import DoorPeer
import Foundation
import HubClient
import HubCore
import HubProcess
import HubWire
import Testing

@testable import HubCommand

/// The reports of `hub status` and `hub doctor` about a disk that fails or hangs, and about faults of the clock.
@Suite(.serialized, .enabled(if: Need.compiler.isMet, "\(Need.compiler.reason)")) struct DiskFaultTests {
    private static func weight(_ key: Int) -> String {
        #"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"\#(key)"}"#
    }

    /// A running hub, and the faults of its disk and clock, of which there are none yet.
    private func faultyHub() async throws -> (TestHub, Faults) {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        return (try await TestHub(in: folder, under: faults.environment), faults)
    }

    private func status(_ hub: TestHub) async throws -> (code: Int32, HubStatus) {
        let result = try await hub.run(["status", "--json"])
        return (result.code, try JSON.decode(HubStatus.self, from: result.output.utf8))
    }

    /// Repeats the query until the status matches; the test runner limits the time.
    private func status(_ hub: TestHub, until isMeant: (HubStatus) -> Bool) async throws -> HubStatus {
        var last: HubStatus?
        try await eventually {
            let found = try await status(hub).1
            last = found
            return isMeant(found)
        }
        return try #require(last)
    }

    @Test func `the status shows failing reads as a store fault, and clears it when reads succeed again`() async throws
    {
        let (hub, faults) = try await faultyHub()
        try hub.give([DiskFaultTests.weight(1)])
        try faults.begin("read eio hub.sqlite", "read eio hub.sqlite-wal")
        let (code, failing) = try await status(hub)
        #expect(code == HubExit.unhealthy.rawValue)
        #expect(failing.store.state != "ok" && failing.records == nil && failing.inbox == nil)
        #expect(failing.store.error?.contains("see dmesg") == true)
        let text = try await hub.expect(["status"], .unhealthy, output: "records  not known, the store cannot be read")
        #expect(!text.output.contains("kill"))
        try faults.end()
        let (good, well) = try await status(hub)
        #expect(good == 0 && well.records == 1)
    }

    @Test func `an import into a hub with a full disk ends with the reason instead of waiting`() async throws {
        let (hub, faults) = try await faultyHub()
        let record =
            "<Record type=\"HKQuantityTypeIdentifierBodyMass\" sourceName=\"Scale\" unit=\"kg\" value=\"80\" startDate=\"2026-01-01 07:00:00 +0100\" endDate=\"2026-01-01 07:00:00 +0100\"/>"
        let file = hub.folder.path + "/export.xml"
        try "<HealthData>\n\(record)\n</HealthData>".write(toFile: file, atomically: true, encoding: .utf8)
        try faults.begin("write full hub.sqlite", "write full hub.sqlite-wal")
        try await hub.expect(["import", file], .tryAgain, errors: "the disk of the hub is full")
        try faults.end()
        try await hub.succeed(["import", file])
    }

    @Test func `the hub itself reports a disk that hangs, and never advises to kill it`() async throws {
        let (hub, faults) = try await faultyHub()
        try hub.give([DiskFaultTests.weight(1)])
        try faults.begin("read hang hub.sqlite", "read hang hub.sqlite-wal")
        let text = try await hub.expect(["status"], .unhealthy, output: "hanging: reading has not returned for ")
        #expect(text.output.contains("the hub continues when the disk does"))
        #expect(!text.output.contains("kill"))
        try faults.end()
        #expect(try await status(hub) { $0.store.state == "ok" }.records == 1)
    }

    @Test func `the status shows a commit that does not return`() async throws {
        let (hub, faults) = try await faultyHub()
        try faults.begin("sync hang hub.sqlite-wal")
        try hub.give([DiskFaultTests.weight(1)]) {}
        let hanging = try await status(hub) { $0.store.state == "hanging" }
        #expect(hanging.store.error?.hasPrefix("a commit has not returned for 1") == true)
        try faults.end()
        #expect(try await status(hub) { $0.store.state == "ok" && $0.records == 1 }.head == 1)
    }

    @Test func `no record is confirmed while the sequences cannot be reserved, and all are once they can`() async throws
    {
        let (hub, faults) = try await faultyHub()
        try faults.begin("sync eio hub.sqlite.sequences")
        do {
            // The peer goes out of scope before the test waits: the test may resume on another thread, which must not
            // close the socket.
            let peer = try DoorPeer(hub.endpoints.door, instance: "early", patience: .seconds(10))
            try peer.give([DiskFaultTests.weight(1)])
            let answer = #expect(throws: DoorPeer.Silence.self) { try peer.receive("STORED") }
            #expect(answer?.error?.contains("hub.sqlite.sequences") == true, "\(String(describing: answer))")
        }
        #expect(try await status(hub).1.head == 0)
        try faults.end()
        try hub.give([DiskFaultTests.weight(1)])
        #expect(try await status(hub).1.head == 1)
    }

    @Test func `a page damaged under a running hub is named by the query that reads it, and no record is confirmed`()
        async throws
    {
        let folder = try TemporaryFolder()
        let hub = try await TestHub(in: folder)
        for batch in 0..<3 { try hub.give((0..<300).map { DiskFaultTests.weight(10_000 + 300 * batch + $0) }) }
        #expect(try await hub.stop() == 0)
        try await hub.restart()
        let path = hub.data + "/hub.sqlite"
        let data = try Data(contentsOf: URL(filePath: path))
        // The record itself is in a table leaf, whose first byte is 13; an index contains the key, too.
        let places = data.ranges(of: Data("10425".utf8)).map(\.lowerBound)
        let place = try #require(places.first { data[$0 / 4_096 * 4_096] == 13 })
        let page = place / 4_096 + 1
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(place))
        try file.write(contentsOf: Data([data[place] ^ 1]))
        try file.close()

        let asked = try await hub.run(["samples"])
        #expect(asked.code != 0 && asked.errors.contains("page \(page) of \(path)"), "\(asked)")
        let (code, told) = try await status(hub)
        #expect(code == 1 && told.store.state == "corrupt")
        #expect(told.store.error?.contains("page \(page) of ") == true, "\(told.store)")
        let peer = try DoorPeer(hub.endpoints.door, instance: "late", patience: .seconds(10))
        try peer.give([DiskFaultTests.weight(1_000)])
        let answer = #expect(throws: DoorPeer.Silence.self) { try peer.receive("STORED") }
        #expect(answer?.error?.contains("nothing is confirmed since damage was found") == true)
        // The hub tells a sink to retry instead of refusing it: the sink continues without help once a person has
        // repaired the store.
        let sink = try DoorPeer(hub.endpoints.door, instance: "sink", patience: .seconds(10))
        try sink.send("WANT", #"{"want":"all","start":"now","credit":{"records":10,"bytes":1048576}}"#)
        let refusal = #expect(throws: DoorPeer.Silence.self) { try sink.receive("WANT") }
        #expect(refusal?.error?.contains(#""code":"store""#) == true, "\(String(describing: refusal))")
    }

    @Test func `the status warns of a log that cannot be checkpointed before the log fills the disk`() async throws {
        let (hub, faults) = try await faultyHub()
        try faults.begin("write eio hub.sqlite")
        var key = 0
        var warned = try await status(hub)
        while warned.1.store.warning == nil {
            // Keys in random order touch many pages.
            try hub.give((key..<key + 1_000).map { DiskFaultTests.weight($0 * 7_919 % 1_000_003) })
            key += 1_000
            try #require(key < 200_000)
            warned = try await status(hub)
        }
        #expect(warned.code == HubExit.unhealthy.rawValue && warned.1.store.state == "ok")
        #expect(
            warned.1.store.warning?.hasPrefix(
                "confirmed records are safe in the log beside the store, but the log grows") == true)
        #expect(
            warned.1.store.warning?.contains("bring the log \(hub.data)/hub.sqlite-wal into \(hub.data)/hub.sqlite")
                == true)
        try faults.end()
        #expect(try await status(hub) { $0.store.warning == nil }.records == Int64(key))
    }

    @Test func `a hub that cannot open its store exits and never reports that it is ready`() async throws {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        let hub = try await TestHub(in: folder)
        #expect(try await hub.stop() == 0)
        try faults.begin("read eio hub.sqlite")
        for _ in 0..<3 {
            let failing = try await hub.run(["run"], under: faults.environment)
            #expect(failing.code == HubExit.system.rawValue)
            #expect(failing.errors.contains("the disk or its connection has failed"), "\(failing.errors)")
            #expect(!failing.errors.contains("ready"), "\(failing.errors)")
        }
    }

    @Test func `doctor names a failing disk as the cause and does not advise to restore a backup`() async throws {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        let hub = try await TestHub(in: folder)
        try hub.give([DiskFaultTests.weight(1)])
        #expect(try await hub.stop() == 0)
        // The first pages are cached; reads of later pages fail.
        try faults.begin("read eio hub.sqlite")
        let failing = try await hub.run(["doctor"], under: faults.environment)
        #expect(failing.code == HubExit.broken.rawValue)
        #expect(failing.output.contains("the disk or its connection has failed"), "\(failing.output)")
        for word in ["damaged: ", "hub restore"] { #expect(!failing.output.contains(word), "\(failing.output)") }
        try faults.end()
        let well = try await hub.run(["doctor"], under: faults.environment)
        #expect(well.output.contains("ok       store      1 record"), "\(well.output)")
    }

    @Test func `doctor skips a check that hangs and runs the others`() async throws {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        let hub = try await TestHub(in: folder)
        #expect(try await hub.stop() == 0)
        try faults.begin("read hang hub.sqlite")
        let hanging = try await hub.run(["doctor"], under: faults.environment)
        #expect(hanging.code == HubExit.broken.rawValue)
        #expect(
            hanging.output.contains("error    store      the store: not checked, because no answer came for 5 seconds"))
        #expect(hanging.output.contains("machine    libzmq"))
        // Even `hub.conf` cannot be read.
        try faults.begin("read hang hub.conf")
        let blind = try await hub.run(["doctor"], under: faults.environment)
        #expect(blind.code == HubExit.broken.rawValue)
        #expect(blind.output.contains("error    config     \(hub.configuration): not checked"), "\(blind.output)")
    }

    /// Before and after all times that a number of microseconds holds; with `make test-all` also 250 years ahead, the year 9900 and later,
    /// the last year of such numbers, before 1970 and before all dates.
    private static let wrongClocks =
        [9_300_000_000_000, -9_300_000_000_000]
        + (Thoroughness.isWhole
            ? [7_889_400_000, 251_000_000_000, 9_200_000_000_000, -1_900_000_000, -70_000_000_000] : [])

    @Test(arguments: wrongClocks)
    func `a clock that is wrong by any number of years crashes neither the hub nor a command`(seconds: Int) async throws
    {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        try faults.begin("clock \(seconds)")
        let hub = try await TestHub(in: folder, under: faults.environment)
        try hub.give([DiskFaultTests.weight(1)])
        for command in [
            ["status"], ["samples"], ["stats", "weight"], ["days", "weight"], ["trace", "1"], ["check"], ["inbox"],
            ["log", "weight", "80kg", "--person", "me", "--yes"], ["backup", "\(folder.path)/copy"], ["doctor"],
        ] {
            let result = try await hub.run(command, under: faults.environment)
            #expect(result.code < 100, "\(command): \(result)")
        }
        #expect(try await hub.stop() == 0)
    }

    @Test func `R10.16 a retry asked for while the clock was a year ahead comes after the time it asked for`()
        async throws
    {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        try faults.begin("clock 31536000")
        let hub = try await TestHub(in: folder, under: faults.environment)
        let sink = try DoorPeer(hub.endpoints.door, instance: "test-sink", patience: .seconds(10))
        try sink.send("WANT", #"{"want":"all","start":"now","credit":{"records":10,"bytes":1048576}}"#)
        _ = try sink.receive("WANT")
        try hub.give([DiskFaultTests.weight(1)])
        _ = try sink.receive("DELIVER")
        try sink.send(
            "DONE",
            #"{"want":"all","delivery":1,"results":[{"result":"retry","after":1000,"reason":"busy"}],"credit":{"records":1,"bytes":1000}}"#
        )
        try faults.end()
        let again = String(decoding: try sink.receive("DELIVER"), as: UTF8.self)
        #expect(again.contains(#""delivery":2"#), "\(again)")
    }

    @Test func `R10.16 a retry comes after the time it asked for, also if the clock is set back while the hub starts`()
        async throws
    {
        let folder = try TemporaryFolder()
        let faults = Faults(in: folder)
        try faults.begin("clock 31536000")
        let hub = try await TestHub(in: folder, under: faults.environment)
        func want() throws -> DoorPeer {
            let sink = try DoorPeer(hub.endpoints.door, instance: "test-sink", patience: .seconds(30))
            try sink.send("WANT", #"{"want":"all","start":"now","credit":{"records":10,"bytes":1048576}}"#)
            _ = try sink.receive("WANT")
            return sink
        }
        func answerRetry() throws {
            let sink = try want()
            try hub.give([DiskFaultTests.weight(1)])
            _ = try sink.receive("DELIVER")
            let results = #"[{"result":"retry","after":1000,"reason":"busy"}]"#
            try sink.send(
                "DONE", #"{"want":"all","delivery":1,"results":\#(results),"credit":{"records":1,"bytes":1000}}"#)
            // The hub has processed `DONE` once it answers a later message.
            _ = try sink.ask(#""want":"status""#)
        }
        try answerRetry()
        _ = try await status(hub) { $0.sinks.first?.retrying == 1 }
        await hub.kill()

        // The store is open, with its waits by the clock that is ahead, but the rest of the hub has not started yet.
        try faults.begin("clock 31536000", "read hang secrets.db")
        let next = try hub.start(["run"], under: faults.environment)
        let files = "/proc/\(next.pid)/fd"
        while try !FileManager.default.contentsOfDirectory(atPath: files).contains(where: { file in
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(files)/\(file)"))?.hasSuffix("/secrets.db")
                == true
        }) { try await Task.sleep(for: .milliseconds(10)) }
        try faults.end()
        try await next.line { $0.hasPrefix("hub: ready: ") }
        let again = String(decoding: try want().receive("DELIVER"), as: UTF8.self)
        #expect(again.contains(#""key":"1""#), "\(again)")
        next.signal(SIGTERM)
        #expect(await next.waitForExit() == 0)
    }
}
