import ArgumentParser
import Foundation
import HubClient
import HubCore
import Platform

struct TestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test", abstract: "Examine a plugin: start it with a hub that misbehaves, and report its faults.",
        discussion: """
            The plugin runs as the hub would start it, confined, with a separate state
            directory, against a hub of this program that forgets sessions, is silent,
            stores nothing, rejects, and is killed; then in a whole hub, which is killed
            and restored from a backup. Each rule has a tier. A plugin has the highest tier
            whose rules it keeps, with those of all lower tiers.

              bronze    describes itself, connects, and ends when asked
              silver    loses nothing and duplicates nothing
              gold      copes with hubs, networks and people, and keeps secrets
              platinum  can be left alone for years

            The settings for the test are in test.conf beside the program, else in
            sample.conf: one section [plugin.NAME] of hub.conf, without executable. In it
            {folder} is the program's folder, {scratch} a new one for each run. A program
            named simulator beside it is started for each run and simulates the device or
            service. Its first line is a JSON object of names and texts, such as
            {"url":"http://127.0.0.1:4711"}, for {url} in test.conf; it ends when its stdin
            does.

            Examples:
              hub plugin test Plugins/JSONLines
              hub plugin test ./hub-weight-file --set 'file = "{folder}/weights.txt"'
              hub plugin test . --junit report.xml
              hub plugin test . --tier gold --keep
              hub plugin test . --rule killed --rule identity --all
              hub plugin test . --times 100 --at-once 4   does it hold each time?

            Exit codes: 0 it has the tier of --tier, and with --rule keeps those rules,
            each time; 1 it does not; 65 it cannot be examined.
            """)

    @Argument(help: "The plugin's program, or its folder.", completion: .file()) var path: String
    @Option(name: .customLong("set"), help: "A line of its section of hub.conf; may be given more than once.")
    var settings: [String] = []
    @Option(name: .customLong("rule"), help: "Only this rule; may be given more than once.") var rules: [String] = []
    @Option(help: "The tier that it must have: bronze, silver, gold or platinum.") var tier: TierArgument = .bronze
    @Option(help: "Seconds without a new record after which a source has given all.") var settle: Double = 2
    @Option(help: "Number of examinations; the worst one counts.") var times = 1
    @Option(help: "Number of examinations at the same time.") var atOnce = 1
    @Option(help: "Write a report for continuous integration to this file.", completion: .file()) var junit: String?
    @Flag(help: "Keep the tier beside the program, for hub plugins and hub plugin pack.") var keep = false
    @Flag(help: "Show the rules that it keeps too.") var all = false
    @Flag(help: "One JSON document.") var json = false

    func validate() throws {
        guard settle >= 0.1, settle <= 60 else { throw ValidationError("--settle takes 0.1 to 60 seconds") }
        guard (1...10_000).contains(times) else { throw ValidationError("--times takes 1 to 10000.") }
        guard (1...32).contains(atOnce) else { throw ValidationError("--at-once takes 1 to 32.") }
        guard !keep || rules.isEmpty else { throw ValidationError("--keep needs all rules: leave out --rule") }
        let names = Rule.all.map(\.name)
        for rule in rules where !names.contains(rule) {
            throw ValidationError("there is no rule \(rule); hub plugin rules lists them")
        }
    }

    func run() async throws {
        let subject: PluginUnderTest
        do { subject = try PluginUnderTest(path, settings: settings, settle: .seconds(settle)) } catch {
            throw Failure(.badConfiguration, error.description)
        }
        // All other rules depend on the first.
        let chosen = Rule.all.enumerated().filter { $0 == 0 || rules.isEmpty || rules.contains($1.name) }.map(\.element)
        let rounds = RepeatedConformanceTest(subject, chosen, times: times, atOnce: atOnce)
        // When interrupted, first end the plugin and remove its folders, because they contain its secrets.
        let interruption = Interruption()
        let watch = interruption.exit { await rounds.close() }
        defer { watch.cancel() }
        let reports: [ConformanceReport]
        do { reports = try await rounds.run() } catch let refusal as PluginError {
            throw Failure(.badConfiguration, refusal.description)
        } catch is CancellationError {
            // The watch ends the program as soon as everything is removed.
            await watch.value
            return
        }
        guard let report = reports.max(by: { $0.isBetter(than: $1) }) else { return }
        if let junit {
            do { try report.junit.write(toFile: junit, atomically: true, encoding: .utf8) } catch {
                throw Failure(.system, "--junit \(junit): \(error.localizedDescription)")
            }
        }
        if keep { try Self.keep(report) }
        let repeated = times > 1 ? RepeatedConformanceTest.lines(reports) : []
        try Output.print(
            report.lines(showsAll: all) + repeated, json: json ? try JSON.line(report.document) : nil)
        let isWell = rules.isEmpty ? report.tier.map { $0 >= tier.tier } ?? false : report.broken.isEmpty
        if !isWell { throw ExitCode(HubExit.unhealthy.rawValue) }
    }
}

extension TestCommand {
    /// Keeps the tier, which holds for this very file only; removes a kept tier if the report has none.
    private static func keep(_ report: ConformanceReport) throws(Failure) {
        let path = report.program + TierClaim.ending
        do throws(FileError) {
            guard let tier = report.tier, let version = report.version else {
                _ = try PrivateFile.remove(path)
                return
            }
            let claim = TierClaim(
                tier: tier.name, version: version, sha256: try FileDigest(report.program).sha256,
                examined: String(Date().formatted(.iso8601).prefix(10)))
            guard let line = try? JSON.line(claim) else { return }
            try PrivateFile.write(Array((line + "\n").utf8), to: path, mode: 0o644)
        } catch { throw Failure(.system, "--keep: \(error)") }
    }
}

/// A tier as it is typed.
struct TierArgument: ExpressibleByArgument {
    let tier: Tier

    static let bronze = TierArgument(tier: .bronze)

    init(tier: Tier) { self.tier = tier }

    init?(argument: String) {
        guard let tier = Tier.allCases.first(where: { $0.name == argument }) else { return nil }
        self.tier = tier
    }

    var defaultValueDescription: String { tier.name }
}

struct RulesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "The rules by which plugins are examined, and how each is kept.",
        discussion: """
            Examples:
              hub plugin rules
              hub plugin rules --json | jq -r 'select(.tier == "gold").rule'
            """)

    @Flag(help: "A JSON object a line.") var json = false

    func run() throws {
        struct Line: Encodable { var rule, tier, text, repair: String }
        for tier in Tier.allCases {
            if !json { try Output.print("\(tier.name): \(tier.text)") }
            for rule in Rule.all where rule.tier == tier {
                let line = Line(rule: rule.name, tier: tier.name, text: rule.text, repair: rule.repair)
                try Output.print(["  \(rule.name): \(rule.text)"], json: json ? try JSON.line(line) : nil)
            }
        }
    }
}
