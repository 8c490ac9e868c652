import Foundation
import HubClient
import HubProcess
import Testing

/// `hub bridge sink` with a shell program on the other side.
@Suite(.timeLimit(.minutes(4))) struct BridgeSinkTests {

    /// A program that reads deliveries: in `body`, `$d` is the number of the delivery and `$n` that of the record.
    private static func program(_ body: String, in folder: TemporaryFolder) throws -> String {
        try folder.write(
            """
            while IFS= read -r line; do
                case $line in
                *'"delivery":'*) ;;
                *) echo "$line" >> '\(folder.path)/other'; continue ;;
                esac
                d=${line#*'"delivery":'}; d=${d%%,*}
                n=${line##*'"number":'}; n=${n%%,*}
                echo "$n" >> '\(folder.path)/seen'
                \(body)
            done
            """, to: "program.sh")
    }

    private static func seen(_ folder: TemporaryFolder, _ name: String = "seen") -> [String] {
        ((try? String(contentsOfFile: "\(folder.path)/\(name)", encoding: .utf8)) ?? "").split(separator: "\n")
            .map(String.init)
    }

    @Test func `R14.20 each record is delivered, and failed and postponed results are kept`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(CareTests.weights(1...4))
        let program = try Self.program(
            """
            case $n in
            1) echo "{\\"delivery\\":$d,\\"result\\":\\"delivered\\",\\"receipt\\":\\"r$n\\"}" ;;
            2) echo "{\\"delivery\\":$d,\\"result\\":\\"failed\\",\\"reason\\":\\"not wanted\\"}" ;;
            3) echo "{\\"delivery\\":$d,\\"result\\":\\"later\\",\\"after\\":86400000}" ;;
            4) echo nonsense; echo "{\\"delivery\\":$d,\\"result\\":\\"perhaps\\"}"; echo "{\\"delivery\\":99,\\"result\\":\\"delivered\\"}"
               echo "{\\"delivery\\":$d,\\"result\\":\\"delivered\\"}" ;;
            esac
            """, in: folder)
        let words = ["bridge", "sink", "--name", "office", "--once", "weight", "--", "/bin/sh", program]
        try await hub.expect(words, .tryAgain, errors: "some records are left for later")
        #expect(Self.seen(folder) == ["1", "2", "3", "4"])
        let faults = Self.seen(folder, "other")
        #expect(faults.count == 3, "\(faults)")
        #expect(faults.first?.contains("line 4 is not JSON") == true)
        #expect(faults.contains { $0.contains("result: expected delivered, failed, later or auth") })
        #expect(faults.contains { $0.contains("delivery 99 is not open") })
        // On a second run nothing is due.
        #expect(try await hub.run(words).code == 75)
        #expect(Self.seen(folder) == ["1", "2", "3", "4"])
        try await hub.expect(["trace", "2", "--json"], output: "not wanted")
        #expect(try await hub.run(["trace", "1", "--json"]).output.contains(#""receipt":"r1""#))
    }

    @Test func `R14.21 unanswered deliveries are repeated after the program or the hub ends, answered ones are not`()
        async throws
    {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(CareTests.weights(1...3))
        let dying = try Self.program(
            """
            [ "$n" = 2 ] && exit 5
            echo "{\\"delivery\\":$d,\\"result\\":\\"delivered\\"}"
            """, in: folder)
        let words = ["bridge", "sink", "--name", "office", "weight", "--", "/bin/sh"]
        try await hub.expect(words + [dying], .unhealthy, errors: "/bin/sh ended with exit code 5")
        #expect(Self.seen(folder) == ["1", "2"])

        let good = try TemporaryFolder()
        let sink = try hub.start(
            words + [try Self.program("echo \"{\\\"delivery\\\":$d,\\\"result\\\":\\\"delivered\\\"}\"", in: good)])
        try await eventually { Self.seen(good).count >= 2 }
        #expect(Set(Self.seen(good)) == ["2", "3"])
        await hub.kill()
        try await hub.restart()
        try hub.give(CareTests.weights(4...4))
        try await eventually { Self.seen(good).contains("4") }
        sink.signal(SIGTERM)
        #expect(await sink.result().code == 0)
    }

    @Test func `R14.20 after a failed log-in no more is delivered until the sink is started again`() async throws {
        let hub = try await TestHub()
        let folder = try TemporaryFolder()
        try hub.give(CareTests.weights(1...3))
        let words = ["bridge", "sink", "--name", "office", "--batch", "1", "weight", "--", "/bin/sh"]
        let refused = try hub.start(
            words + [
                try Self.program(
                    "echo \"{\\\"delivery\\\":$d,\\\"result\\\":\\\"auth\\\",\\\"reason\\\":\\\"it has expired\\\"}\"",
                    in: folder)
            ])
        try await eventually { try await hub.run(["status"]).output.contains("its log-in has failed") }
        #expect(try await hub.run(["status"]).output.contains("it has expired"))
        refused.signal(SIGTERM)
        #expect(await refused.result().code == 0)
        // Two records were already in flight.
        #expect(!Self.seen(folder).contains("3"))

        let good = try TemporaryFolder()
        let program = try Self.program("echo \"{\\\"delivery\\\":$d,\\\"result\\\":\\\"delivered\\\"}\"", in: good)
        try await hub.succeed(words.map { $0 == "--batch" ? "--once" : $0 }.filter { $0 != "1" } + [program])
        #expect(Self.seen(good).sorted() == ["1", "2", "3"])
    }

    @Test func `R14.22 a sink needs a name, and a sink without a program is answered through the terminal`()
        async throws
    {
        let hub = try await TestHub()
        try await hub.expect(["bridge", "sink", "weight"], .usage, errors: "--name is missing")
        try hub.give(CareTests.weights(1...1))
        let input = Pipe()
        let sink = try hub.start(
            ["bridge", "sink", "--name", "typed", "--once", "weight"], input: input.fileHandleForReading)
        let line = try #require(await sink.lines(count: 1).first)
        #expect(line.hasPrefix(#"{"delivery":1,"record":{"kind":"quantity","type":"weight""#), "\(line)")
        try input.fileHandleForWriting.write(contentsOf: Data(#"{"delivery":1,"result":"delivered"}"#.utf8 + [10]))
        #expect(await sink.result().code == 0)
    }
}
