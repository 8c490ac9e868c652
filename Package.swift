// swift-tools-version: 6.2
import PackageDescription

// The layers: Platform, Health, Contract, Kit, Hub, in Sources/ and in this order, and the plugins. A target imports its own layer and those before
// it; a plugin imports anything but Hub. LayerTests holds the tree to that.

/// The settings of every target: Swift 6 with explicit imports and existentials, and warnings are errors.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .treatAllWarnings(as: .error),
]

func products(_ names: [String], of package: String) -> [Target.Dependency] {
    names.map { .product(name: $0, package: package) }
}

let argumentParser = products(["ArgumentParser"], of: "swift-argument-parser")
let logging = products(["Logging"], of: "swift-log")
let lifecycle = products(["ServiceLifecycle"], of: "swift-service-lifecycle")
let subprocess = products(["Subprocess"], of: "swift-subprocess")
let grdb = products(["GRDB"], of: "GRDB.swift")
let sqlite = products(["GRDBSQLite"], of: "GRDB.swift")
let coreMetrics = products(["CoreMetrics"], of: "swift-metrics")
let certificates =
    products(["Crypto"], of: "swift-crypto") + products(["SwiftASN1"], of: "swift-asn1")
    + products(["X509"], of: "swift-certificates")
let nio = products(["NIOCore"], of: "swift-nio")
let pages =
    products(["Hummingbird"], of: "hummingbird") + products(["HTTPTypes"], of: "swift-http-types") + nio + logging
// The modules of the client's error types.
let httpClient =
    products(["AsyncHTTPClient"], of: "async-http-client") + products(["NIOSSL"], of: "swift-nio-ssl")
    + products(["NIOCore", "NIOHTTP1", "NIOPosix"], of: "swift-nio")
let httpServer =
    pages + products(["HummingbirdCore"], of: "hummingbird")
    + products(["NIOHTTPTypes", "NIOHTTPTypesHTTP1"], of: "swift-nio-extras")
let webSocket = products(["NIOCore", "NIOHTTP1", "NIOWebSocket"], of: "swift-nio")

/// A library in a folder of its name.
func library(_ path: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(
        name: path.split(separator: "/").last.map(String.init) ?? path, dependencies: dependencies, path: path,
        exclude: exclude, swiftSettings: strict)
}

/// A library of C.
func c(_ name: String, exclude: [String] = [], links: [String] = []) -> Target {
    .target(
        name: name, path: "Sources/Platform/C/\(name)", exclude: exclude,
        cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)],
        linkerSettings: links.map { .linkedLibrary($0) })
}

/// A library of the system, by the package of Debian that has it.
func system(_ name: String, _ package: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/Platform/C/\(name)", providers: package.map { [.apt([$0])] })
}

func program(_ name: String, _ path: String, _ dependencies: [Target.Dependency], embeds: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: path, resources: embeds.map { .embedInCode($0) },
        swiftSettings: strict)
}

/// The tests in a folder, with the libraries that they import and the programs that they start.
func tests(
    _ name: String, at path: String? = nil, _ dependencies: [Target.Dependency], exclude: [String] = [],
    resources: [String] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: path ?? "Tests/\(name)", exclude: exclude,
        resources: resources.map { .copy($0) }, swiftSettings: strict)
}

/// A plugin: a program in `Plugins/NAME/Sources`, which needs PluginKit, and its tests beside it.
func plugin(
    _ name: String, _ dependencies: [Target.Dependency], embeds: [String] = [],
    tests more: [Target.Dependency], resources: [String] = []
) -> [Target] {
    let folder = "Plugins/\(name)"
    return [
        program(name, "\(folder)/Sources", ["PluginKit"] + dependencies, embeds: embeds),
        tests(
            "\(name)Tests", at: "\(folder)/Tests", [.target(name: name), "PluginKit", "PluginTesting"] + more,
            resources: resources),
    ]
}

let platform: [Target] = [
    system("CLinux"), system("CMD5", "libmd-dev"), system("CMosquitto", "libmosquitto-dev"),
    system("CPostgreSQL", "libpq-dev"), system("CQRencode", "libqrencode-dev"), system("CSodium", "libsodium-dev"),
    system("CZeroMQ", "libzmq3-dev"), system("CZlib", "zlib1g-dev"),
    c("CArguments"), c("CHealthSchemas"), c("CPageSums", links: ["sqlite3"]), c("CPluginFiles", exclude: ["Templates"]),
    c("CSampleConf"),
    library("Sources/Platform/JSON"),
    library("Sources/Platform/Platform", ["CSodium", "CZlib"]),
    tests("PlatformTests", ["Platform"]),
    library("Sources/Platform/ZeroMQ", ["CZeroMQ"]),
    tests("ZeroMQTests", ["Platform", "ZeroMQ"]),
]

let health: [Target] = [
    library("Sources/Health/Samples", ["JSON"], exclude: ["Types/generate.py", "Types/Tables"]),
    tests(
        "SamplesTests", ["HubProcess", "HubStore", "JSON", "Platform", "Samples"],
        resources: ["Statistics/model.py", "Statistics/priority-vectors.json", "Series/vectors.json"]),
]

let contract: [Target] = [
    library("Sources/Contract/HubWire", ["CArguments", "JSON", "Samples"]),
    tests("HubWireTests", ["HubSettings", "HubWire", "JSON", "Platform", "PluginKit", "Samples"]),
    library("Sources/Contract/HealthText", ["HubWire", "JSON", "Samples"]),
    tests("HealthTextTests", ["HealthText", "HubWire", "Samples"], resources: ["formatter-vectors.csv"]),
    library("Sources/Contract/HealthExports", ["JSON", "Platform", "Samples"]),
    tests("HealthExportsTests", ["HealthExports", "JSON", "Samples"]),
    library("Sources/Contract/RecordDatabase", ["HealthExports", "Samples"] + grdb),
]

let kit: [Target] = [
    library(
        "Sources/Kit/PluginKit", ["HubWire", "Platform", "Samples", "ZeroMQ"] + argumentParser + grdb + logging),
    tests(
        "PluginKitTests",
        [
            "HubProcess", "HubWire", "Platform", "PluginKit", "PluginTesting", "Samples", "ZeroMQ", "example-source",
            "spool-torture",
        ], resources: ["Cases"]),
    library("Sources/Kit/CloudClient", ["JSON", "PluginKit"] + httpClient),
    tests("CloudClientTests", ["CloudClient", "PluginKit"]),
    library(
        "Sources/Kit/HTTPServing",
        ["Platform", "PluginKit"] + httpServer + products(["HummingbirdTLS"], of: "hummingbird")
            + products(["NIOHTTP1"], of: "swift-nio") + products(["NIOSSL"], of: "swift-nio-ssl")),
    library("Sources/Kit/PluginTesting", ["HubWire", "PluginKit", "Samples", "ZeroMQ"] + logging),
]

let hub: [Target] = [
    library("Sources/Hub/HubSettings", ["HealthText", "HubWire", "Samples"]),
    tests(
        "HubSettingsTests", ["HubProcess", "HubSettings", "HubWire", "Platform", "Samples"],
        resources: ["tagged.py"]),
    library("Sources/Hub/HubStore", ["CPageSums", "JSON", "Platform", "Samples"] + grdb + sqlite),
    tests(
        "HubStoreTests",
        ["CPageSums", "HubProcess", "HubStore", "JSON", "Platform", "Samples", "store-torture"] + grdb),
    library(
        "Sources/Hub/HubCore",
        ["CLinux", "HealthText", "HubSettings", "HubStore", "HubWire", "JSON", "Platform", "Samples", "ZeroMQ"]
            + lifecycle + logging + subprocess),
    tests(
        "HubCoreTests",
        [
            "CLinux", "HubCore", "HubProcess", "HubSettings", "HubStore", "HubWire", "JSON", "JSONLines", "Platform",
            "Samples", "ZeroMQ", "example-source", "hub-confine", "zoo",
        ] + grdb + lifecycle + logging),
    library("Sources/Hub/HubClient", ["HubSettings", "HubWire", "Platform", "Samples", "ZeroMQ"]),
    program(
        "HubCommand", "Sources/Hub/HubCommand",
        [
            "CLinux", "CSampleConf", "HealthExports", "HealthText", "HubClient", "HubCore",
            "HubSettings", "HubStore", "HubWire", "JSON", "Platform", "PluginKit", "RecordDatabase",
            "Samples", "ZeroMQ", "hub-confine",
        ] + argumentParser + lifecycle + logging),
    tests(
        "HubCommandTests",
        [
            "AppleHealth", "DoorPeer", "HealthText", "HubClient", "HubCommand", "HubCore", "HubProcess", "HubSettings",
            "HubStore",
            "HubWire", "IHealthHS3", "JSONLines", "PluginKit", "Samples", "Web", "ZeroMQ",
            "hub-scale-sim",
        ] + argumentParser + grdb + logging,
        resources: ["Help", "Exports/records.jsonl", "Exports/judges.py"]),
    program(
        "PluginCommand", "Sources/Hub/PluginCommand",
        [
            "CPluginFiles", "CloudClient", "HealthText", "HubClient", "HubCore", "HubSettings", "HubStore", "HubWire",
            "JSON", "Platform", "PluginKit", "PluginTesting", "Samples", "ZeroMQ", "hub-confine",
        ] + argumentParser),
    tests(
        "PluginCommandTests",
        [
            "HubCommand", "HubCore", "HubProcess", "HubSettings", "HubWire", "IHealthHS3", "IHealthHS4", "IHealthHS5",
            "JSONLines", "Platform", "PluginCommand", "Samples", "hub-confine", "hub-scale-sim",
        ], resources: ["hub-lines.py", "Help"]),
    .executableTarget(
        name: "hub-confine", path: "Sources/Hub/hub-confine",
        cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
]

let plugins: [Target] = [
    [
        library("Plugins/IHealth/ScaleProtocols", ["JSON", "Platform", "PluginKit", "Samples"]),
        tests(
            "IHealthTests", at: "Plugins/IHealth/Tests",
            [
                "IHealthCloudSimulation", "IHealthHS3", "IHealthHS4", "IHealthHS5", "JSON", "Platform",
                "PluginKit", "PluginTesting", "ScaleBench", "ScaleProtocols", "ScaleSimulation", "ScaleStandIns",
                "WebFaults", "hub-ihealth-cloud",
            ], resources: ["HS3/Cases", "Protocols/vectors.jsonl", "Protocols/sdk.csv", "Protocols/Sessions"]),
        program(
            "hub-ihealth-cloud", "Plugins/IHealth/Cloud", ["CloudClient", "HubWire", "PluginKit", "ScaleProtocols"]),
        program("IHealthHS3", "Plugins/IHealth/HS3/Sources", ["PluginKit", "ScaleProtocols"]),
        program("IHealthHS4", "Plugins/IHealth/HS4/Sources", ["PluginKit", "ScaleProtocols"]),
        program("IHealthHS5", "Plugins/IHealth/HS5/Sources", ["PluginKit", "ScaleProtocols"]),
    ],
    [library("Plugins/AppleHealth/AppleExport", ["HubWire", "JSON", "Platform", "PluginKit", "Samples"])],
    plugin(
        "AppleHealth", ["AppleExport", "HubWire", "Platform", "Samples"],
        tests: [
            "AppleExport", "HubCommand", "HubProcess", "HubSettings", "HubWire", "JSON", "Platform", "Samples",
            "hub-confine",
        ],
        resources: ["Export/Exports"]),
    [
        library(
            "Plugins/HTTPIngest/PhonePayloads",
            ["CMosquitto", "CQRencode", "HubWire", "JSON", "Platform", "Samples"])
    ],
    plugin(
        "HTTPIngest", ["HTTPServing", "JSON", "PhonePayloads", "Platform"] + pages,
        tests: [
            "HTTPServing", "HubClient", "HubCommand", "HubProcess", "HubSettings", "HubWire", "JSON", "PhonePayloads",
            "Platform", "Samples",
        ] + logging + nio, resources: ["phone.py", "Payloads/Fixtures"]),
    plugin(
        "Web",
        ["CHealthSchemas", "HTTPServing", "HealthExports", "HealthText", "JSON", "Platform", "Samples"] + coreMetrics
            + pages,
        embeds: ["page.css", "charts.css", "charts.js", "forms.js", "live.js", "logs.js", "icon.svg"].map {
            "Assets/\($0)"
        },
        tests: [
            "Exist", "GapFiller", "HealthText", "HubCommand", "HubProcess", "HubSettings", "HubWire", "JSON",
            "JSONLines", "Platform",
            "Samples", "hub-confine",
        ] + coreMetrics + products(["HTTPTypes"], of: "swift-http-types") + nio,
        resources: ["events.py", "schemathesis.toml", "Drawing/tree.py"]),
    [
        library(
            "Plugins/SAMI/WebSocketClient",
            webSocket + products(["NIOPosix"], of: "swift-nio") + products(["NIOSSL"], of: "swift-nio-ssl"))
    ],
    plugin(
        "SAMI", ["CloudClient", "JSON", "WebSocketClient"],
        tests: ["HubSettings", "HubWire", "JSON", "SAMIExchange", "WebFaults"]),
    plugin("Exist", ["CloudClient"], tests: ["ExistSimulation", "HubWire", "Samples", "WebFaults"]),
    plugin(
        "GapFiller", ["Samples"],
        tests: ["HubClient", "HubCommand", "HubProcess", "HubSettings", "HubWire", "Platform", "Samples"]),
    plugin(
        "JSONLines", ["HealthExports", "JSON", "Platform"], tests: ["HealthExports", "HubWire", "Samples"],
        resources: ["Cases"]),
    [
        library("Plugins/Central/PostgreSQL", ["CPostgreSQL"]),
        .executableTarget(
            name: "hub-central-admin",
            dependencies: ["HealthExports", "HubWire", "Platform", "PostgreSQL", "Samples"] + argumentParser
                + certificates,
            path: "Plugins/Central", exclude: ["README.md", "PostgreSQL", "Sources", "Tests", "sample.conf"],
            sources: ["Admin"],
            resources: [
                "0001-tables", "0002-hubs", "0003-enrolment", "0004-studies", "0005-care", "0006-rights",
                "0007-followers",
                "0008-erased", "0009-arrays",
            ].map { .embedInCode("Schema/\($0).sql") }, swiftSettings: strict),
    ],
    plugin(
        "Central", ["JSON", "Platform", "PostgreSQL"] + certificates,
        tests: ["HubCommand", "HubProcess", "JSON", "PostgreSQL", "Samples", "hub-central-admin", "hub-confine"]),
].flatMap { $0 }

let simulators: [Target] = [
    library("Simulators/Scales/Sources/ScaleStandIns", ["JSON", "Platform", "ScaleProtocols"]),
    library(
        "Simulators/Scales/Sources/ScaleSimulation", ["Platform", "Samples", "ScaleProtocols", "ScaleStandIns"]),
    program(
        "hub-scale-sim", "Simulators/Scales/Sources/hub-scale-sim",
        ["ScaleProtocols", "ScaleSimulation", "ScaleStandIns"] + argumentParser),
    .target(
        name: "WebFaults", dependencies: ["JSON", "Platform", "Samples"] + httpServer + webSocket,
        path: "Simulators/WebFaults/Sources", swiftSettings: strict),
    .target(
        name: "IHealthCloudSimulation", dependencies: ["WebFaults"], path: "Simulators/IHealthCloud/Sources",
        swiftSettings: strict),
    library("Simulators/ExistServer/Sources/ExistSimulation", ["Platform", "Samples", "WebFaults"] + grdb),
    program(
        "hub-exist-server", "Simulators/ExistServer/Sources/hub-exist-server",
        ["ExistSimulation", "WebFaults"] + argumentParser),
    library("Simulators/SAMIServer/Sources/SAMIExchange", ["CMD5", "Platform", "WebFaults"] + grdb),
    program(
        "hub-sami-server", "Simulators/SAMIServer/Sources/hub-sami-server",
        ["SAMIExchange", "WebFaults"] + argumentParser),
    program(
        "HubDemo", "Simulators/Demo/Sources",
        ["HealthText", "HubClient", "HubWire", "Platform", "Samples"] + argumentParser),
    tests(
        "SimulatorTests", at: "Simulators/Tests",
        [
            "Exist", "ExistSimulation", "GapFiller", "HubClient", "HubCommand", "HubCore", "HubDemo", "HubProcess",
            "HubWire", "IHealthHS3", "IHealthHS4", "IHealthHS5", "Platform", "SAMIExchange", "Samples",
            "ScaleProtocols", "ScaleSimulation", "ScaleStandIns", "Web", "WebFaults", "WebSocketClient",
            "hub-exist-server", "hub-sami-server", "hub-scale-sim",
        ] + grdb, resources: ["Demo/help.txt"]),
]

let support: [Target] = [
    library("Tests/Support/HubProcess"),
    library("Tests/Support/DoorPeer", ["ZeroMQ"]),
    library(
        "Tests/Support/ScaleBench",
        ["IHealthCloudSimulation", "PluginKit", "PluginTesting", "ScaleProtocols", "ScaleStandIns", "WebFaults"]),
    program("zoo", "Tests/Support/Zoo", ["CLinux", "ZeroMQ"]),
    program("spool-torture", "Tests/Support/SpoolTorture", ["PluginKit"]),
    program("store-torture", "Tests/Support/StoreTorture", ["HubStore", "Samples"]),
    program("example-cloud", "Tests/Support/ExampleCloud", ["CloudClient", "PluginKit"]),
    program("example-source", "Tests/Support/ExampleSource", ["PluginKit"]),
]

/// Tests of several programs together.
let together: [Target] = [
    program(
        "hub-attack", "Tests/Attack/Sources",
        ["DoorPeer", "HubProcess", "HubStore", "Samples", "ZeroMQ"] + argumentParser),
    .target(name: "TortureDiary", path: "Tests/Torture/Diary", swiftSettings: strict),
    program("torture-source", "Tests/Torture/Source", ["Platform", "PluginKit", "TortureDiary"]),
    program("torture-sink", "Tests/Torture/Sink", ["PluginKit", "TortureDiary"]),
    program(
        "hub-torture", "Tests/Torture/Sources",
        [
            "DoorPeer", "HubClient", "HubProcess", "HubWire", "JSONLines", "Platform", "PluginCommand", "Samples",
            "TortureDiary", "torture-sink", "torture-source",
        ] + argumentParser),
    tests(
        "SystemTests",
        [
            "AppleHealth", "DoorPeer", "Exist", "GapFiller", "HubClient", "HubCommand", "HubCore", "HubDemo",
            "HubProcess", "HubSettings", "HubStore", "HubWire", "IHealthHS3", "IHealthHS4", "IHealthHS5", "JSON",
            "JSONLines", "Platform", "SAMI", "Samples", "ScaleBench", "ScaleProtocols", "ScaleStandIns",
            "TortureDiary", "Web", "WebFaults", "WebSocketClient", "ZeroMQ", "example-cloud", "example-source",
            "hub-attack", "hub-confine", "hub-exist-server", "hub-sami-server", "hub-scale-sim", "hub-torture",
        ],
        exclude: ["Browser/Programs", "Interop/Programs", "Journeys/sami_weigh.py", "Schemas/validate.py"]),
]

let package = Package(
    name: "health-hub",
    products: [
        .library(name: "AppleExport", targets: ["AppleExport"]),
        .library(name: "JSON", targets: ["JSON"]),
        .library(name: "Samples", targets: ["Samples"]),
        .library(name: "HubStore", targets: ["HubStore"]),
        .library(name: "HubWire", targets: ["HubWire"]),
        .library(name: "PluginKit", targets: ["PluginKit"]),
        .library(name: "CloudClient", targets: ["CloudClient"]),
        .library(name: "PhonePayloads", targets: ["PhonePayloads"]),
        .library(name: "HTTPServing", targets: ["HTTPServing"]),
        .library(name: "Platform", targets: ["Platform"]),
        .library(name: "ScaleProtocols", targets: ["ScaleProtocols"]),
        .library(name: "ScaleStandIns", targets: ["ScaleStandIns"]),
        .library(name: "PluginTesting", targets: ["PluginTesting"]),
        .executable(name: "hub", targets: ["HubCommand"]),
        .executable(name: "hub-confine", targets: ["hub-confine"]),
        .executable(name: "hub-plugin", targets: ["PluginCommand"]),
        .executable(name: "hub-demo", targets: ["HubDemo"]),
        .executable(name: "hub-central-admin", targets: ["hub-central-admin"]),
        .executable(name: "hub-apple-health", targets: ["AppleHealth"]),
        .executable(name: "hub-central", targets: ["Central"]),
        .executable(name: "hub-exist", targets: ["Exist"]),
        .executable(name: "hub-exist-server", targets: ["hub-exist-server"]),
        .executable(name: "hub-gap-filler", targets: ["GapFiller"]),
        .executable(name: "hub-http-ingest", targets: ["HTTPIngest"]),
        .executable(name: "hub-ihealth-cloud", targets: ["hub-ihealth-cloud"]),
        .executable(name: "hub-ihealth-hs3", targets: ["IHealthHS3"]),
        .executable(name: "hub-ihealth-hs4", targets: ["IHealthHS4"]),
        .executable(name: "hub-ihealth-hs5", targets: ["IHealthHS5"]),
        .executable(name: "hub-sami", targets: ["SAMI"]),
        .executable(name: "hub-sami-server", targets: ["hub-sami-server"]),
        .executable(name: "hub-json-lines", targets: ["JSONLines"]),
        .executable(name: "hub-scale-sim", targets: ["hub-scale-sim"]),
        .executable(name: "hub-web", targets: ["Web"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.34.3"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: platform + health + contract + kit + hub + plugins + simulators + support + together,
    swiftLanguageModes: [.v6]
)

// HUB_TARGETS="HubWireTests ZeroMQTests" keeps only these targets and their dependencies, so that one part builds quickly (make test ONLY="…").
if let wanted = Context.environment["HUB_TARGETS"]?.split(separator: " ").map(String.init), !wanted.isEmpty {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    for name in wanted where targets[name] == nil { fatalError("HUB_TARGETS: there is no target \(name)") }
    var (needed, rest) = (Set<String>(), wanted)
    while let name = rest.popLast() {
        guard needed.insert(name).inserted else { continue }
        for dependency in targets[name]?.dependencies ?? [] {
            switch dependency {
            case .targetItem(let name, _), .byNameItem(let name, _): rest.append(name)
            default: break
            }
        }
    }
    package.targets.removeAll { !needed.contains($0.name) }
    package.products.removeAll { product in
        let targets = (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets ?? []
        return !needed.isSuperset(of: targets)
    }
}
