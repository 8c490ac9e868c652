import ArgumentParser
import HealthText
import HubClient
import HubCore
import HubSettings
import HubWire

struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check hub.conf, and show all its errors at once.",
        discussion: """
            Every plugin's program is asked for its manifest (--describe) and for faults of
            its settings in hub.conf (--check-settings). No device is opened and nothing is
            changed. Each problem names file, line and key, the found and the allowed
            value; if a program's answer is wrong, the member of its answer.

            Examples:
              hub check
              hub check --config /etc/health-hub/hub.conf
              hub check --json | jq -r '.problems[].message'

            Exit codes: 0 nothing is wrong (there may be warnings), 65 there are errors,
            66 there is no hub.conf.
            """)

    @OptionGroup var options: ConfigurationOptions
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let path = try options.path()
        let checked = await ConfigurationLoader(path: path, programPath: HubProgram.path).load()
        let report = CheckReport(file: path, checked.loaded, faults: checked.faults)
        try Output.print(report.lines, json: json ? try JSON.line(report) : nil)
        if !report.ok { throw ExitCode(HubExit.badConfiguration.rawValue) }
    }
}

extension [SettingsProblem] {
    /// One line for each program that cannot be asked, by instance, unless a problem already reports it.
    func further(_ faults: [String: String]) -> [String] {
        faults.filter { name, reason in !contains { $0.table == "plugin.\(name)" && $0.message == reason } }
            .sorted { $0.key < $1.key }.map { "plugin \($0.key): \($0.value)" }
    }
}

/// The report of `hub check`.
struct CheckReport: Encodable {
    let file: String
    let ok: Bool
    let errors: Int
    let warnings: Int
    /// The number of persons and of plugins, without refused instances.
    let persons: Int
    let plugins: Int
    let problems: [SettingsProblem]
    /// By instance: the reason why its program could not be asked.
    let faults: [String: String]
    private let retention: [RetentionSection]

    init(file: String, _ loaded: LoadedConfiguration, faults: [String: String] = [:]) {
        self.faults = faults
        self.file = file
        problems = loaded.problems
        errors = problems.count { $0.severity == .error }
        warnings = problems.count - errors
        ok = errors == 0
        persons = loaded.configuration?.persons.count ?? 0
        plugins = loaded.configuration?.plugins.count { $0.enabled } ?? 0
        retention = loaded.configuration?.retention ?? []
    }

    private enum CodingKeys: String, CodingKey { case file, ok, errors, warnings, persons, plugins, problems, faults }

    /// The problems, then faults of programs that no problem mentions, then a summary line.
    var lines: [String] {
        var parts: [String] = []
        if errors > 0 { parts.append(NumberText.count(errors, "error")) }
        if ok {
            parts.append(NumberText.count(persons, "person"))
            parts.append(NumberText.count(plugins, "plugin"))
        }
        if warnings > 0 { parts.append(NumberText.count(warnings, "warning")) }
        let rules = ok ? retention.map { "retention \(RetentionText.rule($0))" } : []
        return problems.map(\.description) + problems.further(faults) + rules + [
            "\(file): " + (ok ? "ok, " : "") + parts.joined(separator: ", ")
        ]
    }
}
