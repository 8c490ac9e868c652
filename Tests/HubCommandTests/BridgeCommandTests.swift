import DoorPeer
import Foundation
import HubClient
import HubProcess
import Testing

/// The hub's requests to a plugin whose program speaks in lines: commands, settings and stop.
@Suite(.serialized, .timeLimit(.minutes(2))) struct BridgeCommandTests {
    private static func state(_ hub: TestHub, _ name: String) -> String {
        (try? String(contentsOfFile: "\(hub.data)/plugins/kitchen/\(name)", encoding: .utf8)) ?? ""
    }

    private static func wait(for text: String, in name: String, of hub: TestHub) async throws {
        while !state(hub, name).contains(text) { try await Task.sleep(for: .milliseconds(20)) }
    }

    /// The messages that the client of the first test sends and receives, on one thread.
    private static func ask(_ hub: TestHub) throws {
        let person = try DoorPeer(hub.endpoints.door, instance: "asker", patience: .seconds(20))
        func hear(_ verb: String) throws -> String { String(decoding: try person.receive(verb), as: UTF8.self) }
        try person.send("COMMAND", #"{"id":1,"instance":"kitchen","command":"slow"}"#)
        #expect(try hear("PROGRESS") == #"{"id":1,"done":3,"total":7,"text":"Monday"}"#)
        try person.send("COMMAND", #"{"id":1,"cancel":true}"#)
        #expect(try hear("OUTCOME") == #"{"id":1,"outcome":"cancelled"}"#)
        try person.send("COMMAND", #"{"id":2,"instance":"kitchen","command":"slow"}"#)
        #expect(try hear("OUTCOME") == #"{"id":2,"outcome":"failed","code":"tired","reason":"not today"}"#)
    }

    @Test
    func `a command reports progress and can be cancelled, and a late answer to it does not affect the next command`()
        async throws
    {
        let folder = try TemporaryFolder()
        let manifest = """
            {"name":"lines","summary":"Takes its time.","version":"1","writes":["weight"],
             "commands":[{"name":"slow","help":"Takes its time."}]}
            """
        let program = #"""
            IFS= read -r first
            echo "$first" > "$HUB_STATE/first"
            while IFS= read -r line; do
                echo "$line" >> "$HUB_STATE/lines"
                n=${line#*:}; n=${n%%[,\}]*}
                case $line in
                '{"command":1,'*) echo '{"command":1,"done":3,"total":7,"text":"Monday"}' ;;
                '{"command":'*)
                    echo "{\"command\":$n,\"done\":1}"
                    echo "{\"command\":$n,\"outcome\":\"failed\",\"code\":\"tired\",\"reason\":\"not today\"}" ;;
                '{"cancel":'*) echo "{\"command\":$n,\"outcome\":\"done\"}" ;;
                '{"stop":'*) exit 0 ;;
                esac
            done
            """#
        let hub = try await TestHub(
            try BridgePluginTests.make(folder, manifest: manifest, program: program), in: folder)
        try await Self.wait(for: "instance", in: "first", of: hub)
        try Self.ask(hub)
        let lines = Self.state(hub, "lines").split(separator: "\n")
        #expect(
            lines == [
                #"{"command":1,"name":"slow","args":{},"dryRun":false}"#, #"{"cancel":1}"#,
                #"{"command":2,"name":"slow","args":{},"dryRun":false}"#,
            ])
        try await hub.expect(["logs", "kitchen"], output: "command 1 is not open: it was answered or cancelled")
        #expect(try await hub.stop() == 0)
    }

    @Test func `the hub asks a program to check its settings if the manifest declares checksSettings`() async throws {
        let folder = try TemporaryFolder()
        let manifest = """
            {"name":"lines","summary":"Has a place.","version":"1","writes":["weight"],"checksSettings":true,
             "settings":[{"name":"place","type":"string","required":true,"help":"Where it is."}]}
            """
        let program = """
            if [ "$1" = --check-settings ]; then
                IFS= read -r settings
                case $settings in
                *'"nowhere"'*) echo '{"objections":[{"setting":"place","reason":"there is no such place"}]}' ;;
                *) echo '{"objections":[]}' ;;
                esac
                exit
            fi
            while IFS= read -r line; do :; done
            """
        let section = try BridgePluginTests.make(folder, manifest: manifest, program: program)
        let hub = try await TestHub(section + "place = \"somewhere\"\n", in: folder)
        try await hub.succeed(["check"])
        try folder.write(hub.settings.replacing("somewhere", with: "nowhere"))
        let bad = try await hub.run(["check"])
        #expect(bad.code == 65 && (bad.output + bad.errors).contains("there is no such place"), "\(bad)")
        #expect(try await hub.stop() == 0)
    }

    /// Whether the command line of any process contains this program.
    private static func runs(_ program: String) -> Bool {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.contains { name in
            guard Int(name) != nil, let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") else {
                return false
            }
            return words.range(of: Data(program.utf8)) != nil
        }
    }

    @Test func `R14.31 a program that ignores its stop is killed when the hub stops or dies`() async throws {
        let manifest = #"{"name":"lines","summary":"Goes on.","version":"1","writes":["weight"]}"#
        // The background `sleep` keeps the program's streams open.
        let program = "trap '' TERM\nsleep 60 &\necho on > \"$HUB_STATE/begun\"\nwhile :; do sleep 0.2; done\n"
        try await withThrowingTaskGroup(of: Void.self) { group in
            for isKilled in [false, true] {
                group.addTask {
                    let folder = try TemporaryFolder()
                    let section = try BridgePluginTests.make(folder, manifest: manifest, program: program)
                    let hub = try await TestHub(section + "confine = \(!isKilled)\n", in: folder)
                    try await Self.wait(for: "on", in: "begun", of: hub)
                    if isKilled {
                        await hub.kill()
                    } else {
                        #expect(try await hub.stop() == 0)
                    }
                    while Self.runs("\(folder.path)/weight-lines/") { try await Task.sleep(for: .milliseconds(50)) }
                    let log = try await hub.run(["logs", "kitchen"]).output
                    #expect(!log.contains("did not stop in time"), "\(log)")
                }
            }
            try await group.waitForAll()
        }
    }
}
