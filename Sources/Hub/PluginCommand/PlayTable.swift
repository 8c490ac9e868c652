import ArgumentParser
import Foundation
import HubClient
import HubCore
import HubWire

/// Runs a play from a file or from lines that a person types.
struct PlayTable {
    private let script: String?
    private let records: Int
    private let patience: Int
    private let client: [String]
    private let json: Bool

    /// - Parameters:
    ///   - script: the path of a file; `nil` to read the lines from stdin.
    ///   - client: the client and its arguments; empty if a person starts it.
    init(script: String?, records: Int, _ patience: Int, _ client: [String], _ json: Bool) {
        (self.script, self.records, self.patience, self.client, self.json) = (script, records, patience, client, json)
    }

    private struct Said: Encodable {
        var event, text: String
        var door, feed: String?
    }

    func run() async throws {
        var steps: [(line: String, step: PlayStep)] = []
        if let script {
            guard let text = try? String(contentsOfFile: script, encoding: .utf8) else {
                throw Failure(.badConfiguration, "--script \(script): there is no such file that can be read")
            }
            do throws(PluginError) { steps = try PlayStep.all(text, records: records) } catch {
                throw Failure(.badConfiguration, "\(script), \(error.description)")
            }
        }
        let json = json
        let hub = try await PlayHub(patience: .seconds(patience)) { line in try? Self.say("printed", line, json) }
        let interruption = Interruption()
        try say(hub)
        let watch = Task { try await Self.observe(hub, json) }
        let play = Task {
            defer { interruption.release() }
            return script == nil ? try await byHand(hub) : try await perform(steps, hub)
        }
        await interruption.wait()
        play.cancel()
        let hasEnded = interruption.renew()
        watch.cancel()
        await hub.close()
        // Ctrl-C ends a play early, whether its lines are typed or from a script.
        guard hasEnded else { throw ExitCode(HubExit.interrupted.rawValue) }
        if case .failed(let line, let seen) = try await play.value {
            try Self.say("failed", "\(line): \(seen.joined(separator: "; "))", json)
            throw ExitCode(HubExit.unhealthy.rawValue)
        }
        if script != nil { try Self.say("held", "all lines", json) }
    }

    private func say(_ hub: PlayHub) throws {
        let said = Said(event: "hub", text: "", door: hub.door, feed: hub.feed)
        try Output.print(
            ["A client finds it so: export HUB_DOOR=\(hub.door) HUB_FEED=\(hub.feed) HUB_INSTANCE=client"],
            json: json ? try JSON.line(said) : nil)
    }

    private static func say(_ event: String, _ text: String, _ json: Bool) throws {
        try Output.print(
            [event.padding(toLength: 11, withPad: " ", startingAt: 0) + text],
            json: json ? try JSON.line(Said(event: event, text: text)) : nil)
    }

    /// Plays the lines of stdin as they come.
    private func byHand(_ hub: PlayHub) async throws -> Play.Outcome {
        if isatty(STDIN_FILENO) == 1, !json {
            try Output.print("Type a line, such as silent, forget, kill or back; hub plugin play --lines lists all.")
        }
        for await line in Self.typed() {
            let words = line.prefix { $0 != "#" }.split(separator: " ").joined(separator: " ")
            guard !words.isEmpty else { continue }
            do {
                let step = try PlayStep(words, records: records)
                if let seen = try await hub.run(step) {
                    try Self.say("failed", "\(words): \(seen.joined(separator: "; "))", json)
                } else {
                    try Self.say("done", words, json)
                }
            } catch let refusal as PluginError { try Self.say("refused", refusal.description, json) }
        }
        return .held
    }

    private static func typed() -> AsyncStream<String> {
        let (lines, said) = AsyncStream<String>.makeStream()
        Thread {
            while let line = readLine() { said.yield(line) }
            said.finish()
        }.start()
        return lines
    }

    private func perform(_ steps: [(line: String, step: PlayStep)], _ hub: PlayHub) async throws -> Play.Outcome {
        do { return try await hub.run(steps, client: client, input: Play.lines(records)) } catch let refusal
            as PluginError
        {
            throw Failure(.badConfiguration, refusal.description)
        }
    }

    /// Prints changed counts, at most ten times a second.
    private static func observe(_ hub: PlayHub, _ json: Bool) async throws {
        var (known, told): ([PlayStep.Count: Int], Int) = ([:], 0)
        while !Task.isCancelled {
            for count in PlayStep.Count.allCases where ![.printed, .violations].contains(count) {
                let value = await hub.value(count)
                guard value != known[count, default: 0] else { continue }
                try say(count.rawValue, "\(value)", json)
                known[count] = value
            }
            let violations = await hub.violations
            for violation in violations.dropFirst(told) { try say("violation", violation, json) }
            told = violations.count
            try await Task.sleep(for: .milliseconds(100))
        }
    }
}
