import Foundation
import HubClient
import HubProcess
import Testing

/// `hub bridge plugin`: a folder with a manifest and a shell program, started and confined by a hub.
@Suite(.serialized, .timeLimit(.minutes(4))) struct BridgePluginTests {
    /// Writes a folder with the plugin of the document; returns its section of `hub.conf`.
    static func make(
        _ folder: TemporaryFolder, manifest: String? = nil, program: String? = nil, options: String = ""
    ) throws -> String {
        try folder.write(try manifest ?? BridgeDocument.program("manifest.json"), to: "weight-lines/manifest.json")
        try folder.write(try program ?? BridgeDocument.program("program.sh"), to: "weight-lines/program.sh")
        let start = try BridgeDocument.program("hub-weight-lines").replacing(" -- ", with: " \(options) -- ")
        let path = try folder.write(start, to: "weight-lines/hub-weight-lines", isProgram: true)
        return "[person.me]\n[plugin.kitchen]\nexecutable = \"\(path)\"\n"
    }

    private static func samples(_ hub: TestHub, count: Int) async throws -> [String] {
        var lines: [String] = []
        try await eventually {
            lines = try await hub.run(["samples", "--json"]).output.split(separator: "\n").map(String.init)
            return lines.count >= count
        }
        return lines
    }

    @Test func `R14.30 R14.31 R13.15 the document's plugin passes check, gives records, runs a command, and restarts`()
        async throws
    {
        let folder = try TemporaryFolder()
        let file = try folder.write("2024-03-15T07:30:05+01:00 72.3\n2024-03-16T07:31:00+01:00 72.5\n", to: "w.txt")
        let hub = try await TestHub(try Self.make(folder) + "file = \"\(file)\"\n", in: folder)
        try await hub.succeed(["check"])
        let first = try await Self.samples(hub, count: 2)
        #expect(first.count == 2 && first.allSatisfy { $0.contains(#""source":{"plugin":"weight-lines"}"#) })
        let more = try FileHandle(forWritingTo: URL(filePath: file))
        try more.seekToEnd()
        try more.write(contentsOf: Data("2024-03-17T07:29:00+01:00 72.4\n".utf8))
        try await hub.succeed(["do", "kitchen", "refresh"])
        #expect(try await Self.samples(hub, count: 3).count == 3)
        try await hub.succeed(["restart", "kitchen"])
        try more.write(contentsOf: Data("2024-03-18T07:29:00+01:00 72.6\n".utf8))
        try await eventually { try await hub.run(["do", "kitchen", "refresh"]).code == 0 }
        #expect(try await Self.samples(hub, count: 4).count == 4)
        // It runs confined, and stops with the hub.
        let plugins = try await hub.run(["status", "--json"]).output
        #expect(plugins.contains(#""state":"running""#), "\(plugins)")
        #expect(try await hub.stop() == 0)
    }

    @Test func `R14.20 R14.32 a sink that the hub starts receives deliveries, answers to its queries, and results`()
        async throws
    {
        let folder = try TemporaryFolder()
        let program = """
            IFS= read -r first
            echo "$first" > "$HUB_STATE/first"
            echo '{"type":"height","value":180,"unit":"cm","start":"2024-03-15T07:30:05+01:00","key":"h"}'
            echo '{"type":"height","value":"tall","unit":"cm","start":"2024-03-15T07:30:05+01:00","key":"t"}'
            echo 'secret nonsense'
            echo '{"query":{"types":["weight"],"limit":1},"id":5}'
            echo '{"query":{"types":["nosuch"]},"id":6}'
            while IFS= read -r line; do
                echo "$line" >> "$HUB_STATE/lines"
                case $line in
                '{"delivery":'*) n=${line#*:}; echo "{\\"delivery\\":${n%%,*},\\"result\\":\\"delivered\\"}" ;;
                '{"stop":'*) exit 0 ;;
                esac
            done
            """
        let manifest = """
            {"name":"lines","summary":"Takes weights.","version":"1","reads":["weight"],"writes":["height"],"sink":{},
             "want":{"start":"beginning"}}
            """
        let hub = try await TestHub(
            try Self.make(folder, manifest: manifest, program: program, options: "--results"), in: folder)
        try hub.give(CareTests.weights(1...2))
        func state(_ name: String) -> String {
            let path = "\(hub.data)/plugins/kitchen/\(name)"
            return (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        }
        while state("lines").split(separator: "\n").count(where: { $0.contains("delivery") }) < 2
            || !state("lines").contains("answer\":6") || !state("lines").contains("rejected")
        {
            try await Task.sleep(for: .milliseconds(50))
        }
        let lines = state("lines")
        #expect(state("first").hasPrefix(#"{"instance":"kitchen","settings":{}"#))
        #expect(lines.contains(#"{"line":1,"key":"h","result":"stored""#), "\(lines)")
        #expect(lines.contains(#"{"line":2,"key":"t","result":"rejected","code":"value""#), "\(lines)")
        #expect(lines.contains(#"{"answer":5,"records":["#), "\(lines)")
        #expect(lines.contains(#"{"answer":6,"error":"field","reason":"#), "\(lines)")
        let log = try await hub.run(["logs", "kitchen"]).output
        #expect(log.contains("line 3 is not JSON") && !log.contains("secret"), "\(log)")
        #expect(try await hub.stop() == 0)
    }

    @Test func `R14.33 a program of lines gets, puts, leases and releases a token, and reports that its log-in failed`()
        async throws
    {
        let folder = try TemporaryFolder()
        let program = #"""
            IFS= read -r first
            ask() { echo "$1"; IFS= read -r answer; echo "$answer" >> "$HUB_STATE/lines"; }
            ask '{"token":{"account":"me","for":"use"},"id":1}'
            ask '{"tokenPut":{"account":"me","expect":0,"token":{"access_token":"a","n":0.1}},"id":2}'
            ask '{"tokenPut":{"account":"me","expect":0,"token":{"access_token":"b"}},"id":3}'
            ask '{"token":{"account":"me","for":"refresh"},"id":4}'
            ask '{"token":{"account":"me","for":"refresh"},"id":5}'
            ask '{"token":{"account":"me","for":"release","failure":"auth","reason":"invalid_grant","version":1},"id":6}'
            ask '{"token":{"account":"me","for":"nothing"},"id":7}'
            echo '{"event":{"event":"error","severity":"error","text":"the log-in failed"}}'
            echo end >> "$HUB_STATE/lines"
            while IFS= read -r line; do case $line in '{"stop":'*) exit 0 ;; esac; done
            """#
        let manifest = #"{"name":"lines","summary":"Gives heights.","version":"1","writes":["height"]}"#
        let hub = try await TestHub(try Self.make(folder, manifest: manifest, program: program), in: folder)
        let path = "\(hub.data)/plugins/kitchen/lines"
        var lines: [String] = []
        while lines.last != "end" {
            try await Task.sleep(for: .milliseconds(50))
            lines = ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
        }
        #expect(
            lines.prefix(2) + lines[3...5].map { $0.replacing(/"after":\d+/, with: #""after":N"#) } == [
                #"{"answer":1,"version":0}"#, #"{"answer":2,"version":1}"#,
                #"{"answer":4,"token":{"access_token":"a","n":0.1},"version":1,"lease":60000}"#,
                #"{"answer":5,"held":true,"after":N}"#, #"{"answer":6,"version":1}"#,
            ], "\(lines)")
        #expect(lines[2].hasPrefix(#"{"answer":3,"error":"field","reason":"TOKEN-PUT.expect"#), "\(lines)")
        #expect(lines[6].hasPrefix(#"{"answer":7,"error":"field","reason":"TOKEN.for"#), "\(lines)")
        try await eventually { try await hub.run(["status", "--json"]).output.contains("the log-in failed") }
        #expect(try await hub.stop() == 0)
    }

    @Test func `R14.31 the plugin's exit code is that of its program, and hub check rejects a wrong manifest`()
        async throws
    {
        let folder = try TemporaryFolder()
        let conf = try Self.make(
            folder, manifest: #"{"name":"lines","summary":"x","version":"1","writes":["wieght"]}"#, program: "exit 3")
        let hub = try await TestHub(conf, in: folder)
        let check = try await hub.expect(["check"], .badConfiguration)
        #expect((check.output + check.errors).contains("did you mean weight"), "\(check)")
        try folder.write(
            #"{"name":"lines","summary":"x","version":"1","writes":["weight"]}"#, to: "weight-lines/manifest.json")
        #expect(try await hub.run(["apply"]).code == 0)
        while true {
            let log = try await hub.run(["logs", "kitchen"]).output
            if log.contains("/bin/sh ended with exit code 3") { break }
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await hub.run(["status", "--json"]).output.contains("exit code 3"))
        #expect(try await hub.stop() == 0)
    }
}
