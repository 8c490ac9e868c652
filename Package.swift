// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target: Swift 6 with explicit imports and existentials, and warnings are errors.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .treatAllWarnings(as: .error),
]

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let httpClient: [Target.Dependency] = [
    .product(name: "AsyncHTTPClient", package: "async-http-client"),
    // The modules of the client's error types.
    .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
]
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let subprocess: Target.Dependency = .product(name: "Subprocess", package: "swift-subprocess")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let webSocket: [Target.Dependency] = [
    nio, .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "NIOWebSocket", package: "swift-nio"),
]
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")

func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(name)", exclude: exclude, swiftSettings: strict)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], path: String? = nil, resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: path ?? "Tests/\(name)", resources: resources,
        swiftSettings: strict)
}

func program(
    _ name: String, _ dependencies: [Target.Dependency], path: String, embeds: [Resource] = []
) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: path, resources: embeds, swiftSettings: strict)
}

/// A plugin: a program in `Plugins/NAME/Sources`, which needs PluginKit, and its tests beside it.
func plugin(
    _ name: String, _ dependencies: [Target.Dependency], embeds: [Resource] = [], tests more: [Target.Dependency],
    resources: [Resource] = []
) -> [Target] {
    [
        program(name, ["PluginKit"] + dependencies, path: "Plugins/\(name)/Sources", embeds: embeds),
        tests(
            "\(name)Tests", [.target(name: name), "PluginKit", "PluginTesting"] + more, path: "Plugins/\(name)/Tests",
            resources: resources),
    ]
}

let scale: [Target.Dependency] = ["ScaleConnector", "ScaleProtocols", "ScaleLinks"]
let certificates: [Target.Dependency] = [
    .product(name: "Crypto", package: "swift-crypto"), .product(name: "SwiftASN1", package: "swift-asn1"),
    .product(name: "X509", package: "swift-certificates"),
]
let plugins = [
    plugin(
        "AppleHealth", ["AppleExport", "AppleImport", "HubWire", "Samples"],
        tests: ["HubCommand", "HubProcess", "HubSettings", "HubWire", "hub-confine"]),
    plugin(
        "Central", ["Digests", "Files", "JSON", "PostgreSQL"] + certificates,
        tests: ["HubCommand", "HubProcess", "JSON", "PostgreSQL", "Samples", "hub-confine"]),
    plugin("Exist", ["CloudClient"], tests: ["ExistSimulation", "WebFaults", "HubWire", "Samples"]),
    plugin(
        "GapFiller", ["DaySeries"],
        tests: ["Seeds", "DaySeries", "HubClient", "HubCommand", "HubProcess", "HubSettings", "HubWire", "Samples"]),
    plugin(
        "IHealthHS3", scale, tests: ["Seeds", "ScaleSimulation", "ScaleStandIns"] + scale, resources: [.copy("Cases")]),
    plugin(
        "HTTPIngest",
        [
            "Compression", "Digests", "Files", "HTTPServing", "JSON", "MQTT", "PhonePayloads", "QRCodes", hummingbird,
            httpTypes, logging, nio,
        ],
        tests: [
            "Compression", "Digests", "HTTPServing", "HubClient", "HubCommand", "HubProcess", "HubSettings", "HubWire",
            "JSON", "MQTT", "PhonePayloads", "PluginState", "QRCodes", "Samples", "Seeds", logging, nio,
        ], resources: [.copy("phone.py")]),
    plugin("IHealthHS4", scale, tests: ["ScaleBench", "ScaleStandIns"] + scale),
    plugin(
        "IHealthHS5", scale,
        tests: [
            "hub-ihealth-cloud", "IHealthCloudSimulation", "OpenAPIBench", "ScaleBench", "ScaleStandIns", "WebFaults",
        ]
            + scale),
    plugin(
        "JSONLines", ["Files", "HealthExports", "JSON"], tests: ["HealthExports", "HubSettings", "HubWire", "Samples"],
        resources: [.copy("Cases")]),
    plugin(
        "SAMI", ["CloudClient", "JSON", "WebSocketClient"], tests: ["HubSettings", "JSON", "SAMIExchange", "WebFaults"]),
    plugin(
        "Web",
        [
            "CHealthSchemas", "DaySeries", "Digests", "HTMLText", "HTTPServing", "HandEntries", "HealthCharts",
            "HealthExports", "HealthStatistics", "HealthText", "HubWords", "JSON", "PrometheusText", "Samples",
            coreMetrics, hummingbird, httpTypes, logging, nio,
        ],
        embeds: [
            .embedInCode("Assets/page.css"), .embedInCode("Assets/charts.css"), .embedInCode("Assets/charts.js"),
            .embedInCode("Assets/forms.js"), .embedInCode("Assets/live.js"), .embedInCode("Assets/logs.js"),
            .embedInCode("Assets/icon.svg"),
        ],
        tests: [
            "Exist", "GapFiller", "HubCommand", "HubProcess", "HubSettings", "HubWire", "JSON", "JSONLines",
            "PluginState", "PrometheusText", "Samples", "hub-confine", httpTypes, nio,
        ], resources: [.copy("events.py"), .copy("schemathesis.toml")]),
].flatMap { $0 }

let package = Package(
    name: "health-hub",
    products: [
        .library(name: "AppleExport", targets: ["AppleExport"]),
        .library(name: "JSON", targets: ["JSON"]),
        .library(name: "Samples", targets: ["Samples"]),
        .library(name: "DaySeries", targets: ["DaySeries"]),
        .library(name: "HealthStatistics", targets: ["HealthStatistics"]),
        .library(name: "HubStore", targets: ["HubStore"]),
        .library(name: "HubWire", targets: ["HubWire"]),
        .library(name: "PluginKit", targets: ["PluginKit"]),
        .library(name: "CloudClient", targets: ["CloudClient"]),
        .library(name: "PhonePayloads", targets: ["PhonePayloads"]),
        // The parts of hub-http-ingest, for Tests/Fuzz.
        .library(name: "HTTPServing", targets: ["Compression", "Digests", "Files", "HTTPServing", "MQTT"]),
        .library(name: "ScaleProtocols", targets: ["ScaleProtocols"]),
        .library(name: "ScaleStandIns", targets: ["ScaleStandIns"]),
        .library(name: "PluginTesting", targets: ["PluginTesting"]),
        .executable(name: "hub", targets: ["HubCommand"]),
        .executable(name: "hub-confine", targets: ["hub-confine"]),
        .executable(name: "hub-plugin", targets: ["hub-plugin"]),
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
    targets: [
        // Vocabulary and leaves.
        module("JSON"),
        module("Files"),
        tests("FilesTests", ["Files"]),
        module("Samples", ["JSON"], exclude: ["Types/generate.py", "Types/Tables"]),
        tests("SamplesTests", ["Seeds", "HubProcess", "Samples"]),
        module("HealthStatistics", ["Samples"]),
        tests(
            "HealthStatisticsTests", ["HealthStatistics", "HubProcess", "HubStore", "Samples", "Seeds"],
            resources: [.copy("model.py"), .copy("priority-vectors.json")]),
        module("AppleExport", ["Compression", "Digests", "Files", "HubWire", "JSON", "Samples"]),
        tests(
            "AppleExportTests", ["AppleExport", "HubProcess", "HubWire", "JSON", "Samples", "Seeds"],
            resources: [.copy("Exports")]),
        module("HealthText", ["Samples"]),
        tests("HealthTextTests", ["HealthText", "Samples"], resources: [.copy("formatter-vectors.csv")]),
        module("HandEntries", ["HealthText", "HubSettings", "HubWire", "Samples"]),
        tests("HandEntriesTests", ["HandEntries", "HubSettings", "Samples"]),
        module("HTMLText"),
        tests("HTMLTextTests", ["HTMLText", "HubProcess", "JSON", "Seeds"], resources: [.copy("tree.py")]),
        module("HealthCharts", ["HTMLText", "HealthStatistics", "HealthText", "Samples"]),
        tests(
            "HealthChartsTests",
            ["HTMLText", "HealthCharts", "HealthStatistics", "HealthText", "Samples", "Seeds"]),
        module("HealthExports", ["Digests", "JSON", "Samples"]),
        module("RecordDatabase", ["HealthExports", "Samples", grdb]),
        tests("HealthExportsTests", ["HealthExports", "JSON", "Samples"]),
        module("DaySeries", ["HealthStatistics", "Samples"]),
        tests(
            "DaySeriesTests", ["Seeds", "DaySeries", "HealthStatistics", "Samples"], resources: [.copy("vectors.json")]),
        .systemLibrary(name: "CMD5", providers: [.apt(["libmd-dev"])]),
        .systemLibrary(name: "CMosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .systemLibrary(name: "CPostgreSQL", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "CQRencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CSodium", providers: [.apt(["libsodium-dev"])]),
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        module("Compression", ["CZlib"]),
        tests("CompressionTests", ["Compression", "Seeds"]),
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(name: "CLinux"),
        module("Seeds"),
        module("QRCodes", ["CQRencode"]),
        module("MQTT", ["CMosquitto"]),
        module("PostgreSQL", ["CPostgreSQL"]),
        tests("PostgreSQLTests", ["HubProcess", "PostgreSQL"]),
        .executableTarget(
            name: "hub-central-admin",
            dependencies: ["Digests", "Files", "HealthExports", "HubWire", "PostgreSQL", "Samples", argumentParser]
                + certificates,
            path: "Plugins/Central", exclude: ["README.md", "Sources", "Tests", "sample.conf"], sources: ["Admin"],
            resources: [
                .embedInCode("Schema/0001-tables.sql"), .embedInCode("Schema/0002-hubs.sql"),
                .embedInCode("Schema/0003-enrolment.sql"), .embedInCode("Schema/0004-studies.sql"),
                .embedInCode("Schema/0005-care.sql"), .embedInCode("Schema/0006-rights.sql"),
                .embedInCode("Schema/0007-followers.sql"), .embedInCode("Schema/0008-erased.sql"),
                .embedInCode("Schema/0009-arrays.sql"),
            ], swiftSettings: strict),
        tests("CentralAdminTests", ["HubProcess", "hub-central-admin"]),
        module("PhonePayloads", ["Digests", "HubSettings", "HubWire", "JSON", "Samples"]),
        tests(
            "PhonePayloadsTests", ["HubWire", "JSON", "PhonePayloads", "Samples", "Seeds"],
            resources: [.copy("Fixtures")]),
        module("Digests", ["CSodium"]),
        tests("DigestsTests", ["Digests"]),
        module("ZeroMQ", ["CZeroMQ"]),
        tests("ZeroMQTests", ["Seeds", "ZeroMQ"]),
        .target(name: "CArguments", path: "Sources/CArguments"),
        module("HubSettings", ["CArguments", "HealthText", "Samples"]),
        tests(
            "HubSettingsTests", ["OldFormats", "Seeds", "HubProcess", "HubSettings", "Samples"],
            resources: [.copy("tagged.py")]),
        module("HubWire", ["JSON", "Samples", "HubSettings"]),
        module("HubSessions", ["HubSettings", "HubWire"]),
        module("HubWords", ["HealthText", "HubWire", "Samples"]),
        module("PrometheusText", [coreMetrics]),
        tests(
            "PrometheusTextTests",
            ["HubProcess", "PrometheusText", coreMetrics]),
        tests("HubWireTests", ["Seeds", "HubSessions", "HubWire", "JSON", "PluginKit", "Samples", "HubSettings"]),

        // The hub.
        .executableTarget(
            name: "hub-confine", path: "Sources/PluginLauncher",
            cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
        .target(name: "CPageSums", path: "Sources/CPageSums", linkerSettings: [.linkedLibrary("sqlite3")]),
        module("HubStore", ["CPageSums", "Digests", "Files", "HealthStatistics", "JSON", "Samples", grdb, sqlite]),
        tests(
            "HubStoreTests",
            ["CPageSums", "OldFormats", "Seeds", "HubProcess", "HubStore", "Samples", "store-torture", grdb]),
        program("store-torture", ["HubStore", "Samples"], path: "Tests/Support/StoreTorture"),
        module(
            "HubCore",
            [
                "CLinux", "Digests", "Files", "HealthStatistics", "HealthText", "HubSessions", "HubSettings",
                "HubStore",
                "HubWire",
                "JSON", "Samples", "ZeroMQ", logging, lifecycle, subprocess,
            ]),
        tests(
            "HubCoreTests",
            [
                "CLinux", "Seeds", "HubCore", "HubSessions", "HubSettings", "HubStore", "HubWire", "JSON", "Samples",
                "ZeroMQ",
                logging, lifecycle, grdb,
                "HubProcess", "zoo", "example-source", "hub-confine", "JSONLines",
            ]),
        module("HubClient", ["Files", "HubSettings", "HubWire", "Samples", "ZeroMQ"]),
        module(
            "HubBridge",
            ["Files", "HubClient", "HubWire", "JSON", "PluginKit", "PluginState", "Samples", "ZeroMQ", logging]),
        program(
            "HubCommand",
            [
                "DaySeries", "Digests", "Files", "HandEntries", "HealthExports", "HealthStatistics", "HealthText",
                "HubClient", "HubCore",
                "PhonePayloads", "RecordDatabase", "HubWords", "HubSettings", "HubStore", "HubWire",
                "JSON", "AppleExport", "AppleImport", "HubBridge", "PluginKit", "PluginState",
                "Samples", "ZeroMQ", argumentParser, logging, lifecycle, "CLinux", "CSampleConf", "hub-confine",
            ],
            path: "Sources/HubCommand"),
        tests(
            "SetupTests",
            [
                "HubCommand", "HubClient", "HubProcess", "HubSettings", "IHealthHS3", "JSONLines", "Web",
                "hub-scale-sim",
            ]),
        tests(
            "HubCommandTests",
            [
                "HubCommand", "HandEntries", "HealthText", "HubBridge", "HubClient", "HubProcess", "DaySeries",
                "DoorPeer", "HubCore",
                "HubSettings",
                "HubStore", "HubWire", "OldFormats", "PluginKit", "HubWords", "Samples", "ZeroMQ", argumentParser,
                grdb, logging,
            ],
            resources: [.copy("Help"), .copy("Exports/records.jsonl"), .copy("Exports/judges.py")]),
        program(
            "HubDemo", ["HealthText", "HubClient", "HubWire", "Samples", "Seeds", argumentParser],
            path: "Simulators/Demo/Sources"),
        tests(
            "DemoTests",
            [
                "HubDemo", "HubCommand", "HubClient", "HubCore", "HubProcess", "HubWire", "Samples", "ScaleProtocols",
                "Exist", "GapFiller", "IHealthHS3", "IHealthHS4", "IHealthHS5", "Web", "hub-exist-server",
                "hub-scale-sim",
            ],
            path: "Simulators/Demo/Tests", resources: [.copy("help.txt")]),

        program("zoo", ["CLinux", "ZeroMQ"], path: "Tests/Support/Zoo"),

        // The plugin's side.
        module("PluginState", ["Files", grdb]),
        tests("PluginStateTests", ["OldFormats", "Seeds", "PluginState", "spool-torture"]),
        program("spool-torture", ["PluginState"], path: "Tests/Support/SpoolTorture"),
        module(
            "PluginKit",
            ["Digests", "HubSettings", "HubWire", "PluginState", "Samples", "ZeroMQ", argumentParser, logging]),
        module(
            "PluginTesting",
            [
                "PluginKit", "HealthStatistics", "HubSessions", "HubSettings", "HubWire", "PluginState", "Samples",
                "ZeroMQ", logging,
            ]),
        tests(
            "PluginKitTests",
            [
                "Digests", "PluginKit", "PluginTesting", "HubSessions", "HubSettings", "HubWire", "PluginState",
                "Samples", "ZeroMQ",
                "example-source",
            ],
            resources: [.copy("Cases")]),
        module(
            "PluginConformance",
            [
                "HubClient", "HubCore", "HubSettings", "HubStore", "HubWire", "JSON", "PluginTesting", "Samples",
                "ZeroMQ",
            ]),
        module(
            "HTTPServing",
            [
                "Files", "PluginKit", hummingbird, .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"), httpTypes, logging, nio,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        module("AppleImport", ["AppleExport", "HubWire", "PluginKit", "Samples"]),
        module("PluginPacks", ["Compression", "Digests", "Files", "HubCore", "HubSettings", "HubWire"]),
        tests(
            "PluginPacksTests",
            [
                "Compression", "Digests", "Files", "HubCore", "HubCommand", "HubProcess", "HubSettings", "HubWire",
                "PluginPacks",
                "Seeds", "hub-plugin", "hub-confine",
            ]),
        .target(
            name: "CSampleConf", path: "Sources/CSampleConf",
            cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
        .target(
            name: "CPluginFiles", path: "Sources/CPluginFiles", exclude: ["Templates"],
            cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
        .target(
            name: "CHealthSchemas", path: "Sources/CHealthSchemas",
            cSettings: [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]),
        program(
            "hub-plugin",
            [
                "CloudClient", "CPluginFiles", "Digests", "Files", "HealthText", "HubClient", "HubCore", "HubSettings",
                "HubWire",
                "PluginConformance", "PluginKit", "PluginPacks", "Samples", "hub-confine", argumentParser,
            ],
            path: "Sources/PluginCommand"),
        tests(
            "PluginConformanceTests",
            [
                "HubProcess", "PluginConformance", "Samples", "hub-plugin", "HubCommand", "IHealthHS3", "IHealthHS4",
                "IHealthHS5",
                "JSONLines", "hub-scale-sim",
            ],
            resources: [.copy("hub-lines.py"), .copy("Help")]),
        module("CloudClient", ["JSON", "PluginKit"] + httpClient),
        tests("CloudClientTests", ["CloudClient", "PluginKit"]),
        module(
            "WebSocketClient",
            webSocket + [
                .product(name: "NIOPosix", package: "swift-nio"), .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ]),
        program("example-source", ["PluginKit"], path: "Tests/Support/ExampleSource"),

        // Across programs.
        .target(name: "HubProcess", path: "Tests/Support/HubProcess", swiftSettings: strict),
        .target(
            name: "OldFormats", dependencies: ["HubProcess"], path: "Tests/Support/OldFormats",
            exclude: ["README.md", "Maker", "Files", "expectation.sql"], swiftSettings: strict),
        .target(
            name: "DoorPeer", dependencies: ["ZeroMQ"], path: "Tests/Support/DoorPeer", swiftSettings: strict),
        program(
            "hub-attack", ["DoorPeer", "HubProcess", "HubStore", "Samples", "ZeroMQ", argumentParser],
            path: "Tests/Attack/Sources"),
        tests("AttackTests", ["HubCommand", "HubProcess", "hub-attack"], path: "Tests/Attack/Tests"),
        tests(
            "InteropTests",
            [
                "Seeds", "DaySeries", "HubProcess", "HubCommand", "HubStore", "Samples", "example-source",
                "hub-sami-server",
            ],
            path: "Tests/Interop",
            resources: [
                .copy("clients.py"), .copy("clients_fake.py"), .copy("clients_sessions.py"), .copy("days.py"),
                .copy("hostile.py"),
                .copy("sami_sdk.py"), .copy("stranger.py"),
            ]),
        tests(
            "BrowserTests",
            [
                "HubCommand", "HubDemo", "HubProcess", "Web", "Exist", "GapFiller", "JSONLines", "IHealthHS3",
                "IHealthHS4", "IHealthHS5", "hub-confine", "hub-exist-server", "hub-scale-sim",
            ],
            path: "Tests/Web", resources: [.copy("Browser")]),
        tests(
            "SchemaTests",
            [
                "DoorPeer", "HubCommand", "HubCore", "HubProcess", "HubSessions", "HubSettings", "HubWire", "JSON",
                "Samples",
                "ZeroMQ", "AppleHealth", "Exist", "GapFiller", "IHealthHS3", "IHealthHS4", "IHealthHS5", "JSONLines",
                "SAMI",
            ],
            resources: [.copy("validate.py")]),
        program(
            "hub-torture",
            [
                "DoorPeer", "HubClient", "HubProcess", "HubWire", "JSONLines", "Samples", "Seeds", "TortureDiary",
                "hub-plugin", "torture-source", "torture-sink",
                argumentParser,
            ],
            path: "Tests/Torture/Sources"),
        tests(
            "TortureTests", ["HubCommand", "HubProcess", "TortureDiary", "hub-torture"], path: "Tests/Torture/Tests"),
        .target(name: "TortureDiary", path: "Tests/Torture/Diary", swiftSettings: strict),
        program("torture-source", ["Seeds", "PluginKit", "TortureDiary"], path: "Tests/Torture/Source"),
        program("torture-sink", ["PluginKit", "TortureDiary"], path: "Tests/Torture/Sink"),
        .target(name: "OAuthServer", path: "Tests/Support/OAuthServer", swiftSettings: strict),
        program("example-cloud", ["CloudClient", "PluginKit"], path: "Tests/Support/ExampleCloud"),
        tests(
            "JourneyTests",
            [
                "Seeds", "HubProcess", "HubClient", "HubCommand", "HubCore", "HubWire", "Samples", "example-source",
                "example-cloud",
                "JSONLines", "OAuthServer", "SAMI", "hub-sami-server", "Exist", "GapFiller", "IHealthHS3",
                "IHealthHS4", "ScaleBench", "ScaleProtocols", "ScaleStandIns", "WebFaults", "WebSocketClient",
                "hub-exist-server",
                "hub-scale-sim",
            ],
            resources: [.copy("sami_weigh.py")]),

        // Scales.
        module("ScaleProtocols", ["Digests", "JSON", "Samples"]),
        tests(
            "ScaleProtocolsTests", ["JSON", "Seeds", "ScaleProtocols", "ScaleStandIns", "ScaleLinks"],
            resources: [.copy("vectors.jsonl"), .copy("sdk.csv"), .copy("Sessions")]),
        module("ScaleLinks"),
        tests("ScaleLinksTests", ["ScaleLinks"]),
        module("ScaleConnector", ["JSON", "PluginKit", "ScaleProtocols", "ScaleLinks"]),
        program(
            "hub-ihealth-cloud", ["CloudClient", "HubWire", "PluginKit", "ScaleConnector"],
            path: "Sources/IHealthCloud"),
        tests(
            "ScaleConnectorTests",
            ["ScaleConnector", "PluginKit", "ScaleBench", "ScaleProtocols", "ScaleStandIns", "ScaleLinks"]),
        .target(
            name: "ScaleStandIns", dependencies: ["Digests", "JSON", "ScaleProtocols"],
            path: "Simulators/Scales/Sources/ScaleStandIns", swiftSettings: strict),
        .target(
            name: "ScaleSimulation",
            dependencies: ["Seeds", "Samples", "ScaleLinks", "ScaleProtocols", "ScaleStandIns"],
            path: "Simulators/Scales/Sources/ScaleSimulation",
            swiftSettings: strict),
        program(
            "hub-scale-sim", ["ScaleSimulation", "ScaleProtocols", "ScaleStandIns", argumentParser],
            path: "Simulators/Scales/Sources/hub-scale-sim"),
        tests(
            "ScaleSimulationTests", ["ScaleSimulation", "ScaleLinks", "ScaleProtocols", "ScaleStandIns"],
            path: "Simulators/Scales/Tests"),

        // Services.
        .target(
            name: "WebFaults",
            dependencies: [
                "Seeds", "JSON", "Samples", hummingbird, .product(name: "HummingbirdCore", package: "hummingbird"),
                httpTypes,
                logging,
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
            ] + webSocket,
            path: "Simulators/WebFaults/Sources", swiftSettings: strict),
        .target(
            name: "ExistSimulation", dependencies: ["Files", "WebFaults", "Samples", grdb],
            path: "Simulators/ExistServer/Sources/ExistSimulation", swiftSettings: strict),
        program(
            "hub-exist-server", ["ExistSimulation", "WebFaults", argumentParser],
            path: "Simulators/ExistServer/Sources/hub-exist-server"),
        .target(
            name: "SAMIExchange",
            dependencies: ["CMD5", "Digests", "Files", "WebFaults", grdb],
            path: "Simulators/SAMIServer/Sources/SAMIExchange", swiftSettings: strict),
        program(
            "hub-sami-server", ["SAMIExchange", "WebFaults", argumentParser],
            path: "Simulators/SAMIServer/Sources/hub-sami-server"),
        tests(
            "SAMIExchangeTests",
            ["SAMIExchange", "HubProcess", "WebFaults", "WebSocketClient", "hub-sami-server", grdb],
            path: "Simulators/SAMIServer/Tests"),
        tests(
            "WebFaultsTests", ["Seeds", "WebFaults", "HubProcess", "hub-exist-server", "hub-sami-server"],
            path: "Simulators/WebFaults/Tests"),
        tests(
            "ExistSimulationTests", ["ExistSimulation", "WebFaults", "HubProcess", "hub-exist-server"],
            path: "Simulators/ExistServer/Tests"),

        .target(
            name: "IHealthCloudSimulation", dependencies: ["WebFaults"], path: "Simulators/IHealthCloud/Sources",
            swiftSettings: strict),

        // Shared by the tests of plugins. The targets of each plugin are in `plugins`.
        tests(
            "ScalePluginTests",
            [
                "hub-ihealth-cloud", "IHealthCloudSimulation", "IHealthHS3", "IHealthHS4", "IHealthHS5", "OpenAPIBench",
                "PluginTesting",
                "ScaleBench", "ScaleConnector", "ScaleProtocols", "ScaleStandIns", "WebFaults",
            ]),
        .target(
            name: "OpenAPIBench", dependencies: ["IHealthCloudSimulation", "PluginTesting", "ScaleBench", "WebFaults"],
            path: "Tests/Support/OpenAPIBench", swiftSettings: strict),
        .target(
            name: "ScaleBench",
            dependencies: ["PluginTesting", "ScaleConnector", "ScaleProtocols", "ScaleStandIns", "ScaleLinks"],
            path: "Tests/Support/ScaleBench", swiftSettings: strict),
    ] + plugins,
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
