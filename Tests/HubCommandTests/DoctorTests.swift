import Foundation
import HubClient
import HubCore
import HubProcess
import HubSettings
import Testing

@testable import HubCommand

/// `hub doctor` finds faults and names the command that repairs each.
@Suite struct DoctorTests {
    private struct Report: Decodable {
        struct Finding: Decodable {
            let severity, subject, text: String
            let repair: String?
            let fixed: Bool?
        }
        let findings: [Finding]
        let worst: String

        func faults(_ subject: String) -> [Finding] {
            findings.filter { $0.subject == subject && ["warning", "error"].contains($0.severity) }
        }
    }

    private func report(_ result: ChildProcess.Result) throws -> Report {
        let report = try JSON.decode(Report.self, from: result.output.utf8)
        let codes: [String: Int32] = ["good": 0, "note": 0, "warning": 1, "error": 2]
        #expect(result.code == codes[report.worst], "the exit code is that of the worst finding")
        return report
    }

    /// The subjects that a test controls; clock, disk and limits depend on the machine.
    private static let ours = ["config", "endpoints", "modes", "store", "hub"]

    private static let weight =
        #"{"type":"weight","value":71.3,"unit":"kg","start":"2026-03-01T07:30:05+01:00","key":"a"}"#

    @Test func `doctor finds no fault in a healthy hub, running or stopped, and changes nothing`() async throws {
        let hub = try await TestHub()
        try hub.give([DoctorTests.weight])
        let running = try report(try await hub.run(["doctor", "--deep", "--json"]))
        for subject in DoctorTests.ours { #expect(running.faults(subject).isEmpty, "\(running.faults(subject))") }
        #expect(
            running.findings.contains { $0.subject == "store" && $0.text.contains("every index and counter is right") })
        #expect(running.findings.contains { $0.subject == "hub" && $0.text == "it runs, and says it is well" })
        #expect(try await hub.stop() == 0)
        let stopped = try report(try await hub.run(["doctor", "--json"]))
        for subject in DoctorTests.ours { #expect(stopped.faults(subject).isEmpty, "\(stopped.faults(subject))") }
        #expect(stopped.findings.contains { $0.subject == "hub" && $0.severity == "note" })
        try await hub.expect(["doctor"], output: "ok       store      1 record, newest ")
    }

    @Test func `files that others can read are an error, and --fix restricts their permissions`() async throws {
        let hub = try await TestHub()
        for (path, mode) in [("hub.sqlite", 0o644), ("", 0o755)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(hub.data)/\(path)")
        }
        let found = try report(try await hub.run(["doctor", "--json"]))
        #expect(found.worst == "error")
        #expect(
            Set(found.faults("modes").compactMap(\.repair)) == [
                "chmod 700 \(hub.data)", "chmod 600 \(hub.data)/hub.sqlite",
            ])
        let fixed = try report(try await hub.run(["doctor", "--fix", "--json"]))
        #expect(fixed.faults("modes").allSatisfy { $0.fixed == true })
        #expect(try report(try await hub.run(["doctor", "--json"])).faults("modes").isEmpty)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can write a file that belongs to another user"))
    func `a list of backups with another owner than the store is an error with its repair`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        #expect(try await hub.run(["backup", folder.path + "/one.sqlite"]).code == 0)
        #expect(try report(try await hub.run(["doctor", "--json"])).faults("modes").isEmpty)
        let store = hub.data + "/hub.sqlite"
        #expect(chown(store + ".backups", 65_534, 65_534) == 0)
        let found = try report(try await hub.run(["doctor", "--json"])).faults("modes")
        #expect(found.map(\.repair) == ["sudo chown --reference=\(store) \(store).backups"])
    }

    @Test func `a damaged store is an error whose repair is to restore a backup`() async throws {
        let hub = try await TestHub()
        try hub.give([DoctorTests.weight])
        #expect(try await hub.stop() == 0)
        let file = try FileHandle(forUpdating: URL(filePath: hub.data + "/hub.sqlite"))
        for page in UInt64(2)..<12 {
            try file.seek(toOffset: page * 4_096)
            try file.write(contentsOf: Data(repeating: 0xA5, count: 2_048))
        }
        try file.close()
        let found = try report(try await hub.run(["doctor", "--json"]))
        #expect(found.faults("store").first?.repair?.contains("hub restore BACKUP") == true)
    }

    @Test(arguments: [true, false])
    func `a hub whose store is lost does not start an empty one, and runs on a restored one`(
        isGone: Bool
    ) async throws {
        let hub = try await TestHub()
        try hub.give([DoctorTests.weight])
        #expect(try await hub.stop() == 0)
        let backup = hub.configuration + ".kept.sqlite"
        #expect(try await hub.run(["backup", backup]).code == 0)
        let store = hub.data + "/hub.sqlite"
        try FileManager.default.removeItem(atPath: store)
        if !isGone { try Data().write(to: URL(filePath: store)) }
        let found = try report(try await hub.run(["doctor", "--json"]))
        #expect(found.faults("store").first?.text.contains("it held sequences up to 1; nothing was changed") == true)
        let refused = try await hub.run(["run"])
        #expect(refused.code != 0)
        #expect(refused.errors.contains("hub restore BACKUP"))
        #expect(FileManager.default.fileExists(atPath: store) == !isGone)
        #expect(try await hub.run(["restore", backup, "--yes"]).code == 0)
        #expect(try report(try await hub.run(["doctor", "--json"])).faults("store").isEmpty)
    }

    @Test func `records of the future are a warning: the clock went back or a device's clock is wrong`() async throws {
        let hub = try await TestHub()
        try hub.give([
            #"{"type":"weight","value":71,"unit":"kg","start":"2026-01-01T00:00:00Z","key":"past"}"#,
            #"{"type":"weight","value":71,"unit":"kg","start":"2061-01-01T00:00:00Z","key":"future"}"#,
        ])
        let found = try report(try await hub.run(["doctor", "--json"]))
        #expect(found.faults("store").map(\.severity) == ["warning"])
        #expect(found.faults("store")[0].text.contains("samples in the future, up to 2061-01-01"))
    }

    @Test func `sockets left by a killed hub are no fault, but a hub that hangs is one`() async throws {
        let hub = try await TestHub()
        hub.signal(SIGSTOP)
        let hanging = try report(try await hub.run(["doctor", "--json"]))
        #expect(hanging.faults("endpoints").first?.text.contains("does not answer") == true)
        #expect(hanging.faults("endpoints").first?.text.contains("(process ") == true)
        await hub.kill()
        let killed = try report(try await hub.run(["doctor", "--json"]))
        #expect(killed.faults("endpoints").isEmpty)
        #expect(
            killed.findings.contains { $0.subject == "endpoints" && $0.text.contains("left by a hub that was killed") })
    }

    @Test func `a hub.conf with errors is reported without a guess where the data are`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("[hub]\nlog_level = \"loud\"\n")
        let found = try report(try await Programs.hub(["doctor", "--json", "--config", folder.configuration]))
        #expect(found.worst == "error")
        #expect(found.faults("config").first?.repair == "hub check")
        #expect(!found.findings.contains { ["store", "disk", "modes"].contains($0.subject) })
        let missing = try await Programs.hub(["doctor", "--config", "/nonexistent"])
        #expect(missing.code == HubExit.noConfiguration.rawValue)
    }

    @Test func `the file system of a folder is that of the deepest mount above it`() {
        let mounts = """
            22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
            30 22 0:26 / /home rw - nfs4 server:/home rw
            31 30 0:27 / /home/me/my\\040disk rw,nosuid master:2 shared:5 - vfat /dev/sdb1 rw
            32 22 0:28 / /homeless rw - tmpfs tmpfs rw
            """
        #expect(Doctor.fileSystem(of: "/var/lib", mounts: mounts) == "ext4")
        #expect(Doctor.fileSystem(of: "/home/me", mounts: mounts) == "nfs4")
        #expect(Doctor.fileSystem(of: "/home/me/my disk/hub", mounts: mounts) == "vfat")
        #expect(Doctor.fileSystem(of: "/homeless", mounts: mounts) == "tmpfs")
        #expect(Doctor.fileSystem(of: "/x", mounts: "") == nil)
    }

    @Test func `a person without a distinguishing trait is listed if there are other people`() {
        var (anna, ben) = (PersonSection(name: "anna"), PersonSection(name: "ben"))
        func indistinct(_ persons: [PersonSection]) -> [String] {
            Doctor.indistinct(HubConfiguration(hub: HubSectionStub.section, persons: persons, plugins: []))
        }
        #expect(indistinct([anna]) == [] && indistinct([anna, ben]) == ["anna", "ben"])
        anna.expectedWeight = 62
        ben.slots = ["ihealth-hs5": 1]
        #expect(indistinct([anna, ben, PersonSection(name: "carl")]) == ["carl"] && indistinct([anna, ben]) == [])
    }

    @Test func `doctor reads plugins and sinks from a status that has unknown members`() async throws {
        let status = #"""
            {"hub":"h","version":"9","epoch":"k7qz2m5a","head":1,"time":"2026-03-15T07:00:00Z","clock":"system","uptime":1,
             "store":{"path":"/d","state":"full","error":"no room; make some","warning":"little room"},"inbox":2,
             "new":{"x":1},"endpoints":{"door":"d","feed":"f"},"sessions":[],"accounts":[],"persons":[],"devices":[],
             "residentBytes":1,"dropped":0,"plugins":[PLUGINS],"sinks":[SINKS]}
            """#
        let plugins = [
            #""name":"a","alive":false,"state":"quarantined","advice":"crashed; hub release a""#,
            #""name":"b","alive":false,"state":"restarting""#, #""name":"d","alive":false,"state":"finished""#,
            #""name":"i","alive":false,"state":"resting""#,
            #""name":"g","alive":true,"state":"running","tokens":[{"account":"me","state":"expired","advice":"expired; hub login g"}]"#,
            #""name":"h","alive":true,"state":"x","hasError":true,"lastError":"this person may not use the scale""#,
        ].map { #"{\#($0),"kind":"k","enabled":true,"restarts":0,"records":0,"sessions":1}"# }
        let off =
            #"{"name":"c","kind":"k","enabled":false,"alive":false,"state":"disabled","restarts":0,"records":0,"sessions":0}"#
        let sinks = [#""name":"e","well":false,"note":"3 refused""#, #""name":"f","well":true"#].map {
            #"{\#($0),"instance":"e","open":true,"wanted":3,"delivered":0,"pending":0,"retrying":0,"refused":3,"superseded":0,"#
                + #""skipped":0,"cursor":"k7qz2m5a-1","skips":{}}"#
        }
        let json = status.replacing("PLUGINS", with: (plugins + [off]).joined(separator: ","))
            .replacing("SINKS", with: sinks.joined(separator: ","))
        let checked = await ConfigurationLoader(path: "/nonexistent", programPath: "").load()
        let doctor = Doctor(
            configurationPath: "hub.conf", checked: checked, configuration: nil,
            files: HubFiles(HubSectionStub.section), status: Array(json.utf8), isDeep: false, now: Date())
        let found = doctor.hub().map { "\($0.severity) \($0.text)" }
        #expect(
            found == [
                "error the store is full: no room; make some", "warning the store: little room",
                "note 2 records waiting for a person", "error a: crashed; hub release a", "warning b has no session",
                "warning g: expired; hub login g", "warning h says: this person may not use the scale",
                "warning e: 3 refused",
            ])
    }
}
