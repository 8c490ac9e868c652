import Foundation
import HubProcess
import HubSettings
import HubWire

/// The number of mutations per seed, or `HUB_MUTATION_ROUNDS` for a long run.
let mutationRounds =
    ProcessInfo.processInfo.environment["HUB_MUTATION_ROUNDS"].flatMap { Int($0) } ?? (Thoroughness.isWhole ? 60 : 10)

extension SettingsEnvironment {
    /// An environment with a home, two variables and one file.
    static let sample = SettingsEnvironment(
        variables: [
            "HOME": "/home/anna", "XDG_RUNTIME_DIR": "/run/user/1000", "EXIST_SECRET": "s3cret-of-exist", "EMPTY": "",
        ],
        currentDirectory: "/etc/hub"
    ) { path in
        guard path == "/etc/hub/exist.key" else { throw UnreadableFile(reason: "it cannot be opened") }
        return Data("key-from-file\n".utf8)
    }
}

/// The settings that the test plugins declare.
let scaleSettings: [SettingDeclaration] = [
    SettingDeclaration(
        "address",
        .string(
            TextRule(
                pattern: "([0-9A-F]{2}:){5}[0-9A-F]{2}", expected: "six pairs of hex digits",
                example: "00:4D:32:1A:2B:3C")),
        help: "Bluetooth address of the scale.", required: true),
    SettingDeclaration(
        "retry_after", .duration(Bounds(SettingDuration("1s"), SettingDuration("1h"))),
        help: "Pause before the next attempt.", default: .string("30s")),
    SettingDeclaration("channel", .integer(Bounds(1, 30)), help: "RFCOMM channel.", default: .integer(1)),
    SettingDeclaration(
        "link", .choice(["rfcomm", "tcp", "serial"]), help: "How to reach the scale.", default: .string("rfcomm")),
]

let existSettings: [SettingDeclaration] = [
    SettingDeclaration("client_id", .string(), help: "The application's id."),
    SettingDeclaration("client_secret", .string(), help: "The application's secret.", secret: true),
    SettingDeclaration("base_url", .url(), help: "Base URL of Exist.", default: .string("https://exist.io/api/2/")),
    SettingDeclaration("log", .path, help: "Where to write the log."),
    SettingDeclaration("attributes", .list(of: .string()), help: "Attributes to write."),
    SettingDeclaration("factor", .number(Bounds(0, 1)), help: "Share."),
]

func sampleManifest(_ instance: String, _ executable: String) -> [SettingDeclaration]? {
    switch executable {
    case "hub-exist": existSettings
    case _ where executable.hasPrefix("hub-ihealth"): scaleSettings
    default: nil
    }
}

func load(_ text: String, mode: UInt16? = nil, environment: SettingsEnvironment = .sample) -> LoadedConfiguration {
    HubConfiguration.load(
        text: text, file: "hub.conf", fileMode: mode, environment: environment, manifests: sampleManifest)
}

extension LoadedConfiguration {
    var lines: [String] { problems.map(\.description) }
}

let goodFile = """
    # A household
    [hub]
    data = "~/hub"
    clock = "2026-01-01T00:00:00Z@1440"
    memory_limit = "256MiB"
    zone = "Europe/Berlin"

    [person.anna]
    height = 171.5
    birth_date = 1980-04-12
    sex = "female"
    unit = "kg"
    slots = { ihealth-hs3 = 3 }

    [person.ben]
    expected_weight = 82

    [plugin.ihealth-hs3]
    address = "00:4D:32:1A:2B:3C"
    retry_after = '2min'
    persons = ["anna"]
    grants = { write = ["weight"] }

    [plugin.exist]
    client_secret = "${EXIST_SECRET}"
    attributes = [
      "weight", # kept
      "steps",
    ]

    [plugin.later]
    enabled = false
    """
