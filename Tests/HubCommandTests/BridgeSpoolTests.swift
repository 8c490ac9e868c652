import Foundation
import HubClient
import HubProcess
import Testing

/// `hub bridge publish --spool`: which lines are kept on disk, and until when.
@Suite(.timeLimit(.minutes(2))) struct BridgeSpoolTests {
    @Test func `R14.5 a spool keeps lines while the hub is away, and the next start publishes them`() async throws {
        let hub = try await TestHub()
        #expect(try await hub.stop() == 0)
        let folder = try TemporaryFolder()
        let spool = "\(folder.path)/spool"
        let input = Pipe()
        let first = try hub.start(["bridge", "publish", "--spool", spool], input: input.fileHandleForReading)
        try input.fileHandleForWriting.write(
            contentsOf: Data("\(BridgePublishTests.line(1))\n\(BridgePublishTests.line(2))\nno\n".utf8))
        // The answer to the third line shows that the first two were read. At the end of stdin they are on disk.
        #expect(
            await first.lines(count: 1) == [
                #"{"line":3,"result":"error","reason":"line 3 is not JSON: at byte 1 expected a value; write one record a line, as jq -c does"}"#
            ])
        try input.fileHandleForWriting.close()
        let ended = await first.result()
        #expect(ended.code == 75)
        #expect(ended.errors.contains("2 records not stored yet, and kept in \(spool): hub bridge publish --spool"))
        try await hub.restart()
        let next = try await hub.succeed(["bridge", "publish", "--spool", spool])
        let answers = try BridgePublishTests.answers(next.output.split(separator: "\n").map(String.init))
        #expect(answers.map(\.key) == ["k1", "k2"] && answers.allSatisfy { $0.line == nil && $0.result == "stored" })
    }

    @Test func `R14.6 a refusal is kept until it has been reported, and the next start reports it with the record`()
        async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        let words = ["bridge", "publish", "--spool", "\(folder.path)/spool"]
        let heavy = #"{"type":"weight","value":"heavy","unit":"kg","start":"2026-03-10T10:00:00Z","key":"k1"}"#
        let file = try folder.write("\(heavy)\n\(BridgePublishTests.line(2))\n", to: "lines")
        // The reader of the answers has gone before the program begins.
        let command = "\(Programs.path("hub")) \(words.joined(separator: " ")) --config \(hub.configuration) < \(file)"
        let script = """
            mkfifo '\(folder.path)/gate'
            { read -r x < '\(folder.path)/gate'; \(command); echo "code $?" >&2; } |
                { exec <&-; echo gone > '\(folder.path)/gate'; }
            """
        let first = await (try ChildProcess("/bin/bash", ["-c", script])).result()
        #expect(first.errors.contains("the reader of the answers is gone"), "\(first)")
        #expect(first.errors.hasSuffix("code 75\n"), "\(first)")

        let second = try await hub.expect(words, .unhealthy, errors: "1 of 1 refused")
        let answers = try BridgePublishTests.answers(second.output.split(separator: "\n").map(String.init))
        #expect(answers.map(\.result) == ["rejected"] && answers.first?.code == "value", "\(answers)")
        #expect(answers.first?.line == nil && answers.first?.key == "k1")
        #expect(second.output.contains(#""record":\#(heavy)}"#), "\(second.output)")
        let third = try await hub.run(words)
        #expect(third.code == 0 && third.output == "", "\(third)")
        // A refusal that was reported at once is not reported again by the next start.
        let again = try hub.start(words, input: FileHandle(forReadingFrom: URL(filePath: file)))
        let told = await again.result()
        #expect(told.code == 1 && told.output.contains(#"{"line":1,"key":"k1","result":"rejected""#), "\(told)")
        #expect(try await hub.run(words).output == "")
    }
}
