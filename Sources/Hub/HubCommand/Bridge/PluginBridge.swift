import Foundation
import HubClient
package import HubWire
import JSON
package import Logging
package import PluginKit
import Synchronization

/// `hub bridge plugin --run`: connects a program that the hub has started, and that speaks in lines, to the hub.
package final class PluginBridge: Sendable {
    /// Maximum number of queries that the program may have open at a time.
    private static let maximumQueries = 16
    /// How long the program may take to end after the bridge asked it to.
    private static let grace = Duration.seconds(3)

    private let description: PluginDescription
    private let words: [String]
    private let state: PluginState
    private let logger: Logger
    private let reportsResults: Bool
    private let calls = CallTable()
    private let ending = Mutex((child: ChildProgram?.none, code: Int32?.none, queries: 0))
    private let results: SpooledLines

    package init(
        _ description: PluginDescription, _ words: [String], _ state: PluginState, reportsResults: Bool,
        _ logger: Logger
    ) throws {
        (self.description, self.words, self.state, self.logger) = (description, words, state, logger)
        self.reportsResults = reportsResults
        results = try SpooledLines(state)
    }

    /// The callback for the session's answers to spooled records.
    package var report: SpoolReport? {
        guard reportsResults else { return nil }
        return { [results] in results.answered($0, $1) }
    }

    /// The exit code of the program; nil if the bridge stopped it.
    package var code: Int32? { ending.withLock(\.code) }

    /// Kills the program if it still runs.
    package func cutOff() { ending.withLock(\.child)?.signal(SIGKILL) }

    package func run(_ link: HubLink) async throws {
        guard let welcome = await link.welcome() else { return }
        let child: ChildProgram
        do { child = try ChildProgram(words, writes: true, reads: true) } catch {
            throw PluginFailure(.failed, error.message)
        }
        ending.withLock { $0.child = child }
        guard let writing = child.input, let reading = child.output else { return }
        let (input, output) = (LineReader(reading), LineWriter(writing))
        let sink = LineSink(output)
        try? await output.write([Self.greeting(welcome)])
        await link.serveCommands { [calls, description] call in
            guard let command = description.manifest.commands.first(where: { $0.name == call.name }) else {
                return .failed(code: "command", reason: "\(call.name): the manifest has no such command")
            }
            guard command.canDryRun || !call.isDryRun else {
                return .failed(code: "command", reason: "\(call.name): the manifest has no dry run of it")
            }
            return await calls.run(call, output)
        }
        // A separate task, so that the bridge still reads the program's output while this task is being stopped.
        let hearing = Task { [self] in
            await hear(input, output, sink, link)
            sink.end()
            await link.finishDeliveries(within: .zero)
        }
        // Processes that the program started may hold its streams open; the bridge does not wait for them.
        let watching = Task {
            _ = await child.end()
            input.finish()
        }
        let telling = Task { [self] in try await reportResults(output) }
        let delivering = Task { [description] in
            guard let want = description.want else { return }
            try await link.serve([want], untilCaughtUp: false, sink.deliver)
        }
        await withTaskCancellationHandler {
            await hearing.value
        } onCancel: {
            Task {
                try? await output.write([.object([.init("stop", .truth(true))])])
                output.close()
            }
            // In a separate task, because a write to a program that does not read blocks.
            Task { await child.end(within: Self.grace) }
        }
        telling.cancel()
        watching.cancel()
        output.close()
        calls.end()
        let code = await child.end(within: Self.grace)
        let isStopping = Task.isCancelled
        ending.withLock { $0.code = isStopping ? nil : code }
        try await delivering.value
        if code != 0, !isStopping { throw PluginFailure(.failed, "\(words[0]) ended with exit code \(code)") }
    }

    /// The first line: the contents of WELCOME without the parts that the bridge handles.
    private static func greeting(_ welcome: Welcome) -> JSONTree {
        let all = JSONTree(HubMessage.welcome(welcome).body)
        let names = ["instance", "settings", "persons", "grants", "clock", "time"]
        return .object(names.compactMap { name in all?[name].map { .init(name, $0) } })
    }

    // MARK: - Lines of the program

    private func hear(_ input: LineReader, _ output: LineWriter, _ sink: LineSink, _ link: HubLink) async {
        var gatherer = GroupCollector()
        while let lines = await input.next() {
            for line in lines {
                let said = BridgeLine(line)
                gatherer.add(said)
                if let fault = await take(said, line.number, output, sink, link) {
                    // The message names the line and the member, and never a value.
                    logger.error("a line of the program was not understood", metadata: ["reason": "\(fault)"])
                }
            }
            await keep(&gatherer, link)
        }
        gatherer.end()
        await keep(&gatherer, link)
    }

    /// - Returns: a message if the line is invalid.
    private func take(
        _ said: BridgeLine, _ line: Int, _ output: LineWriter, _ sink: LineSink, _ link: HubLink
    ) async -> String? {
        switch said {
        case .nothing, .records: return nil
        case .fault(let reason): return reason
        case .passing(let message):
            await link.sendIfReady(message)
            return nil
        case .other("delivery", let answer): return sink.answer(answer, line: line)
        case .other("command", let answer): return calls.answer(answer, line: line)
        case .other(let verb, let question): return ask(verb, question, line, output, link)
        }
    }

    private func keep(_ gatherer: inout GroupCollector, _ link: HubLink) async {
        let (groups, refused) = gatherer.take()
        if let (record, reason) = refused.first {
            logger.error("a group was not given", metadata: ["line": "\(record.line)", "reason": "\(reason)"])
        }
        guard !groups.isEmpty else { return }
        while true {
            do throws(GiveError) { return try await results.keep(groups, link) } catch {
                switch error.code {
                case .full:
                    await link.waitForRoom()
                    // `waitForRoom` returns at once while the bridge is being stopped.
                    try? await Task.sleep(for: .milliseconds(100))
                case .storage: try? await Task.sleep(for: .seconds(1))
                default: return logger.error("records were not given", metadata: ["reason": "\(error)"])
                }
            }
        }
    }

    private func reportResults(_ output: LineWriter) async throws {
        for await (record, result) in results.answers {
            try await output.write([results.answer(record, result)])
            results.printed()
        }
    }

    /// The verbs of a program's questions, by the member that names them.
    private static let questions: [String: Verb] = ["query": .query, "token": .token, "tokenPut": .tokenPut]

    private func ask(_ name: String, _ line: RawJSON, _ number: Int, _ output: LineWriter, _ link: HubLink) -> String? {
        guard let verb = Self.questions[name], let whole = JSONTree(line.bytes), let question = whole[name],
            let id = whole["id"]?.integer,
            let body = RawJSON(trusted: question.bytes).setting(
                [("id", RawJSON(trusted: Array("0".utf8)))]
                    + (verb == .query && question["want"] == nil ? [("want", .string("records"))] : []))
        else { return "line \(number): \(name): expected an object, and beside it id, a whole number" }
        let isTaken = ending.withLock { state in
            guard state.queries < Self.maximumQueries else { return false }
            state.queries += 1
            return true
        }
        guard isTaken else { return "line \(number): \(Self.maximumQueries) queries are open; wait for an answer" }
        Task { [self] in
            try? await output.write(raw: [await Self.answer(to: verb, body, id, link)])
            ending.withLock { $0.queries -= 1 }
        }
        return nil
    }

    private static func answer(to verb: Verb, _ body: RawJSON, _ id: Int, _ link: HubLink) async -> [UInt8] {
        func fault(_ code: String, _ reason: String) -> [UInt8] {
            JSONTree.object([
                .init("answer", JSONTree(id)), .init("error", .text(code)), .init("reason", .text(reason)),
            ]).bytes
        }
        do {
            let answer = try await Self.answer(to: try ClientMessage(verb: verb, body: body), link)
            return Array("{\"answer\":\(id),".utf8) + answer.body.dropFirst(#"{"id":0,"#.utf8.count)
        } catch let error as WireError {
            return fault("\(error.code)", error.reason)
        } catch let error as AskError {
            return fault(error.error.map { "\($0.code)" } ?? "\(error.code)", error.error?.reason ?? error.message)
        } catch { return fault("stopping", "the plugin is being stopped") }
    }

    /// The hub's answer, with its id set to 0.
    private static func answer(to question: ClientMessage, _ link: HubLink) async throws -> HubMessage {
        switch question {
        case .query(let query):
            var result = try await link.ask(query)
            result.id = 0
            return .result(result)
        case .token(let request):
            var answer = try await link.token(request)
            answer.id = 0
            return .token(answer)
        case .tokenPut(let put):
            var answer = try await link.put(put)
            answer.id = 0
            return .token(answer)
        default: throw WireError(.verb, "\(question.verb.rawValue) is no question")
        }
    }
}

/// The file that describes a plugin whose program speaks in lines: its manifest (Protocol §13.3), and the records that it subscribes to.
package struct PluginDescription: Sendable {
    package let manifest: Manifest
    /// `nil` if the plugin is not a sink.
    let want: WantRequest?
    /// The output of `--describe`.
    package let json: String

    /// - Throws: ``PluginFailure``, which names the invalid member.
    package init(path: String) throws(PluginFailure) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw PluginFailure(.manifest, "\(path): the manifest cannot be read")
        }
        let bytes = Array(data)
        do throws(PrintedAnswer.InvalidAnswer) { manifest = try PrintedAnswer(bytes).read(Manifest.self) } catch {
            throw PluginFailure(.manifest, "\(path): \("\(error)".replacing("it printed", with: "it has"))")
        }
        if let fault = manifest.faults.first { throw PluginFailure(.manifest, "\(path): \(fault)") }
        do { json = try manifest.json } catch { throw PluginFailure(.manifest, "\(path): \(error)") }
        guard let abilities = manifest.sink else {
            want = nil
            return
        }
        let wished = JSONTree(bytes)?["want"] ?? .object([])
        var members: [(name: String, value: RawJSON)] = [
            ("want", .string("records")), ("batch", RawJSON(trusted: Array("\(abilities.batchRecords)".utf8))),
            ("credit", RawJSON(trusted: Array("{\"records\":\(2 * abilities.batchRecords),\"bytes\":1048576}".utf8))),
        ]
        if wished["start"] == nil { members.append(("start", .string("beginning"))) }
        if wished["types"] == nil, !manifest.reads.contains("*") {
            members.append(("types", RawJSON(trusted: JSONTree.list(manifest.reads.map(JSONTree.text)).bytes)))
        }
        guard let body = RawJSON(trusted: wished.bytes).setting(members) else {
            throw PluginFailure(.manifest, "\(path): want: expected an object with members of WANT (Protocol §10.1)")
        }
        let message: ClientMessage
        do throws(WireError) { message = try ClientMessage(verb: .want, body: body) } catch {
            throw PluginFailure(.manifest, "\(path): want: \(error.reason)")
        }
        guard case .want(var request) = message else {
            throw PluginFailure(.manifest, "\(path): want: expected an object")
        }
        (request.takes.pastDates, request.takes.edits) = (abilities.takesPastDates, abilities.takesEdits)
        (request.takes.deletions, request.takes.filled) = (abilities.takesDeletions, abilities.takesFilledValues)
        request.perHour = abilities.deliveriesPerHour
        want = request
    }
}
