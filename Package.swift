// swift-tools-version: 6.2
import PackageDescription

// The layers: Platform, Health, Contract, Kit, Hub, in Sources/ and in this order; then the plugins, the simulators, and what tests share. A target
// imports its own layer and those before it; a plugin imports anything but Hub. LayerTests holds the tree to that.

/// Other packages, each with the lowest version that is good enough and the products that targets import.
let packages: [(url: String, from: Version, products: String)] = [
    ("https://github.com/apple/swift-argument-parser", "1.8.2", "ArgumentParser"),
    ("https://github.com/apple/swift-asn1.git", "1.7.4", "SwiftASN1"),
    ("https://github.com/apple/swift-certificates.git", "1.21.1", "X509"),
    ("https://github.com/apple/swift-crypto.git", "4.5.2", "Crypto"),
    ("https://github.com/apple/swift-http-types", "1.8.0", "HTTPTypes"),
    ("https://github.com/apple/swift-log", "1.16.2", "Logging"),
    ("https://github.com/apple/swift-metrics", "2.13.0", "CoreMetrics"),
    ("https://github.com/apple/swift-nio", "2.101.0", "NIOCore NIOHTTP1 NIOPosix NIOWebSocket"),
    ("https://github.com/apple/swift-nio-extras", "1.34.3", "NIOHTTPTypes NIOHTTPTypesHTTP1"),
    ("https://github.com/apple/swift-nio-ssl.git", "2.37.6", "NIOSSL"),
    ("https://github.com/groue/GRDB.swift", "7.10.0", "GRDB GRDBSQLite"),
    ("https://github.com/hummingbird-project/hummingbird", "2.28.1", "Hummingbird HummingbirdCore HummingbirdTLS"),
    ("https://github.com/swift-server/async-http-client", "1.37.0", "AsyncHTTPClient"),
    ("https://github.com/swift-server/swift-service-lifecycle", "2.13.0", "ServiceLifecycle"),
    ("https://github.com/swiftlang/swift-subprocess", "1.0.2", "Subprocess"),
]

/// The libraries of the package: those that plugins, fuzzers and benchmarks import.
let libraries = """
    AppleExport CloudClient HTTPServing HubStore HubWire JSON PhonePayloads Platform PluginKit PluginTesting Samples
    ScaleProtocols ScaleStandIns
    """

/// The programs of the package; NAME=TARGET if the target has another name.
let programs = """
    hub=HubCommand hub-apple-health=AppleHealth hub-central=Central hub-central-admin hub-confine hub-demo=HubDemo
    hub-exist=Exist hub-exist-server hub-gap-filler=GapFiller hub-http-ingest=HTTPIngest hub-ihealth-cloud
    hub-ihealth-hs3=IHealthHS3 hub-ihealth-hs4=IHealthHS4 hub-ihealth-hs5=IHealthHS5 hub-json-lines=JSONLines
    hub-plugin=PluginCommand hub-sami=SAMI hub-sami-server hub-scale-sim hub-web=Web
    """

// Dependencies that several targets have together.
let certificates = "Crypto SwiftASN1 X509"
let pages = "HTTPTypes Hummingbird Logging NIOCore"
let httpServer = pages + " HummingbirdCore NIOHTTPTypes NIOHTTPTypesHTTP1"
let scales = "IHealthHS3 IHealthHS4 IHealthHS5"
let pluginTesting = "PluginKit PluginTesting"
/// For tests that start a hub.
let runningHub = "HubCommand HubProcess HubSettings HubWire"

/// The settings of every target: Swift 6 with explicit imports and existentials, and warnings are errors.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .treatAllWarnings(as: .error),
]
let strictC: [CSetting] = [.enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error)]

extension String {
    var words: [String] { split(whereSeparator: \.isWhitespace).map(String.init) }

    /// Of a path: `Web` for `Plugins/Web/Sources`, `WebTests` for `Plugins/Web/Tests`, else its last part.
    var name: String {
        let parts = split(separator: "/").suffix(2)
        let isCommon = ["Sources", "Tests"].contains(parts.last)
        return isCommon ? parts.joined().replacing("Sources", with: "") : String(parts.last ?? "")
    }
}

/// Dependencies by their names, in lists: targets of this package and products of others.
func named(_ lists: [String]) -> [Target.Dependency] {
    lists.flatMap(\.words).map { name in
        let package = packages.first { $0.products.words.contains(name) }?.url.replacing(".git", with: "").name
        return package.map { .product(name: name, package: $0) } ?? .byName(name: name)
    }
}

/// A library of the system, by the package of Debian that has it.
func system(_ name: String, _ package: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Sources/Platform/C/\(name)", providers: package.map { [.apt([$0])] })
}

/// A library of C.
func c(_ name: String, exclude: [String] = [], links: [String] = []) -> Target {
    .target(
        name: name, path: "Sources/Platform/C/\(name)", exclude: exclude, cSettings: strictC,
        linkerSettings: links.map { .linkedLibrary($0) })
}

/// A library in a folder.
func library(_ path: String, as name: String? = nil, _ needs: String..., exclude: [String] = []) -> Target {
    .target(name: name ?? path.name, dependencies: named(needs), path: path, exclude: exclude, swiftSettings: strict)
}

func program(_ path: String, as name: String? = nil, _ needs: String..., embeds: [String] = []) -> Target {
    .executableTarget(
        name: name ?? path.name, dependencies: named(needs), path: path, resources: embeds.map { .embedInCode($0) },
        swiftSettings: strict)
}

/// The tests in a folder, with the libraries that they import and the programs that they start.
func tests(
    _ path: String, as name: String? = nil, _ needs: String..., exclude: [String] = [], resources: [String] = []
) -> Target {
    .testTarget(
        name: name ?? path.name, dependencies: named(needs), path: path, exclude: exclude,
        resources: resources.map { .copy($0) }, swiftSettings: strict)
}

let platform: [Target] = [
    system("CLinux"), system("CMD5", "libmd-dev"), system("CMosquitto", "libmosquitto-dev"),
    system("CPostgreSQL", "libpq-dev"), system("CQRencode", "libqrencode-dev"), system("CSodium", "libsodium-dev"),
    system("CZeroMQ", "libzmq3-dev"), system("CZlib", "zlib1g-dev"),
    c("CArguments"), c("CHealthSchemas"), c("CPageSums", links: ["sqlite3"]), c("CPluginFiles", exclude: ["Templates"]),
    c("CSampleConf"),
    library("Sources/Platform/JSON"),
    library("Sources/Platform/Platform", "CSodium CZlib"),
    library("Sources/Platform/ZeroMQ", "CZeroMQ"),
    tests("Tests/PlatformTests", "Platform"),
    tests("Tests/ZeroMQTests", "HubProcess Platform ZeroMQ"),
]

let health: [Target] = [
    library("Sources/Health/Samples", "JSON", exclude: ["Types/generate.py", "Types/Tables"]),
    tests(
        "Tests/SamplesTests", "HubProcess HubStore JSON Platform Samples",
        resources: ["Statistics/model.py", "Statistics/priority-vectors.json", "Series/vectors.json"]),
]

let contract: [Target] = [
    library("Sources/Contract/HubWire", "CArguments JSON Samples"),
    library("Sources/Contract/HealthText", "HubWire JSON Samples"),
    library("Sources/Contract/HealthExports", "JSON Platform Samples"),
    library("Sources/Contract/RecordDatabase", "GRDB HealthExports Samples"),
    tests("Tests/HubWireTests", "HubProcess HubSettings HubWire JSON Platform PluginKit Samples"),
    tests("Tests/HealthTextTests", "HealthText HubWire Samples", resources: ["formatter-vectors.csv"]),
    tests("Tests/HealthExportsTests", "HealthExports JSON Samples"),
]

let kit: [Target] = [
    library("Sources/Kit/PluginKit", "ArgumentParser GRDB HubWire Logging Platform Samples ZeroMQ"),
    // NIO has the client's error types.
    library("Sources/Kit/CloudClient", "AsyncHTTPClient JSON NIOCore NIOHTTP1 NIOPosix NIOSSL PluginKit"),
    library("Sources/Kit/HTTPServing", httpServer, "HummingbirdTLS NIOHTTP1 NIOSSL Platform PluginKit"),
    library("Sources/Kit/PluginTesting", "HubWire Logging PluginKit Samples ZeroMQ"),
    tests(
        "Tests/PluginKitTests", pluginTesting, "HubProcess HubWire Platform Samples ZeroMQ example-source",
        "spool-torture", resources: ["Cases"]),
    tests("Tests/CloudClientTests", "CloudClient HubProcess PluginKit"),
]

let hub: [Target] = [
    library("Sources/Hub/HubSettings", "HealthText HubWire Samples"),
    library("Sources/Hub/HubStore", "CPageSums GRDB GRDBSQLite HubWire JSON Platform Samples"),
    library(
        "Sources/Hub/HubCore", "CLinux HealthText HubSettings HubStore HubWire JSON Logging Platform Samples",
        "ServiceLifecycle Subprocess ZeroMQ"),
    library("Sources/Hub/HubClient", "ArgumentParser HubSettings HubWire Platform Samples ZeroMQ"),
    program(
        "Sources/Hub/HubCommand", "ArgumentParser CLinux CSampleConf HealthExports HealthText HubClient",
        "HubCore HubSettings HubStore HubWire JSON Logging Platform PluginKit RecordDatabase Samples ServiceLifecycle",
        "ZeroMQ hub-confine"),
    program(
        "Sources/Hub/PluginCommand", "ArgumentParser CPluginFiles CloudClient HealthText HubClient HubCore HubSettings",
        "HubStore HubWire JSON Platform PluginKit PluginTesting Samples ZeroMQ hub-confine"),
    .executableTarget(name: "hub-confine", path: "Sources/Hub/hub-confine", cSettings: strictC),
    tests("Tests/HubSettingsTests", "HubProcess HubSettings HubWire Platform Samples", resources: ["tagged.py"]),
    tests("Tests/HubStoreTests", "CPageSums GRDB HubProcess HubStore HubWire JSON Platform Samples store-torture"),
    tests(
        "Tests/HubCoreTests", "CLinux FunctionTrace GRDB HubCore HubProcess HubSettings HubStore HubWire JSON",
        "JSONLines Logging Platform PluginKit Samples ServiceLifecycle ZeroMQ example-source hub-confine zoo"),
    tests(
        "Tests/HubCommandTests", runningHub, "AppleHealth ArgumentParser DoorPeer GRDB HealthText HubClient HubCore",
        "HubStore IHealthHS3 JSONLines Logging PluginKit Samples Web ZeroMQ hub-scale-sim", exclude: ["Help"],
        resources: ["Exports/records.jsonl", "Exports/judges.py"]),
    tests(
        "Tests/PluginCommandTests", runningHub, scales, "HubCore JSONLines Platform PluginCommand Samples hub-confine",
        "hub-scale-sim", resources: ["hub-lines.py", "Help"]),
]

let plugins: [Target] = [
    library("Plugins/IHealth/ScaleProtocols", "JSON Platform PluginKit Samples"),
    program("Plugins/IHealth/Cloud", as: "hub-ihealth-cloud", "CloudClient HubWire PluginKit ScaleProtocols"),
    program("Plugins/IHealth/HS3/Sources", as: "IHealthHS3", "PluginKit ScaleProtocols"),
    program("Plugins/IHealth/HS4/Sources", as: "IHealthHS4", "PluginKit ScaleProtocols"),
    program("Plugins/IHealth/HS5/Sources", as: "IHealthHS5", "PluginKit ScaleProtocols"),
    tests(
        "Plugins/IHealth/Tests", pluginTesting, scales, "HubProcess IHealthCloudSimulation JSON Platform ScaleBench",
        "ScaleProtocols ScaleSimulation ScaleStandIns WebFaults hub-ihealth-cloud",
        resources: ["HS3/Cases", "Protocols/vectors.jsonl", "Protocols/sdk.csv", "Protocols/Sessions"]),
    library("Plugins/AppleHealth/AppleExport", "HubWire JSON Platform PluginKit Samples"),
    program("Plugins/AppleHealth/Sources", "AppleExport HubWire Platform PluginKit Samples"),
    tests(
        "Plugins/AppleHealth/Tests", pluginTesting, runningHub, "AppleExport AppleHealth JSON Platform Samples",
        "hub-confine", resources: ["Export/Exports"]),
    library("Plugins/HTTPIngest/PhonePayloads", "CMosquitto CQRencode HubWire JSON Platform Samples"),
    program("Plugins/HTTPIngest/Sources", pages, "HTTPServing JSON PhonePayloads Platform PluginKit"),
    tests(
        "Plugins/HTTPIngest/Tests", pluginTesting, runningHub, "HTTPIngest HTTPServing HubClient JSON Logging NIOCore",
        "PhonePayloads Platform Samples", resources: ["phone.py", "Payloads/Fixtures"]),
    program(
        "Plugins/Web/Sources", pages, "CHealthSchemas CoreMetrics HTTPServing HealthExports HealthText JSON",
        "Platform PluginKit Samples",
        embeds: "page.css charts.css charts.js forms.js live.js logs.js icon.svg".words.map { "Assets/\($0)" }),
    tests(
        "Plugins/Web/Tests", pluginTesting, runningHub, "CoreMetrics Exist GapFiller HTTPTypes HealthText",
        "IHealthHS3 JSON JSONLines NIOCore Platform Samples Web hub-confine",
        resources: ["events.py", "schemathesis.toml", "Drawing/tree.py"]),
    library("Plugins/SAMI/WebSocketClient", "NIOCore NIOHTTP1 NIOPosix NIOSSL NIOWebSocket"),
    program("Plugins/SAMI/Sources", "CloudClient JSON PluginKit WebSocketClient"),
    tests("Plugins/SAMI/Tests", pluginTesting, "HubSettings HubWire JSON SAMI SAMIExchange WebFaults"),
    program("Plugins/Exist/Sources", "CloudClient PluginKit"),
    tests("Plugins/Exist/Tests", pluginTesting, "Exist ExistSimulation HubWire Samples WebFaults"),
    program("Plugins/GapFiller/Sources", "PluginKit Samples"),
    tests("Plugins/GapFiller/Tests", pluginTesting, runningHub, "GapFiller HubClient Platform Samples"),
    program("Plugins/JSONLines/Sources", "HealthExports JSON Platform PluginKit"),
    tests("Plugins/JSONLines/Tests", pluginTesting, "HealthExports HubWire JSONLines Samples", resources: ["Cases"]),
    library("Plugins/Central/PostgreSQL", "CPostgreSQL"),
    program("Plugins/Central/Sources", certificates, "JSON Platform PluginKit PostgreSQL"),
    .executableTarget(
        name: "hub-central-admin",
        dependencies: named([certificates, "ArgumentParser HealthExports HubWire Platform PostgreSQL Samples"]),
        path: "Plugins/Central", exclude: ["README.md", "PostgreSQL", "Sources", "Tests", "sample.conf"],
        sources: ["Admin"],
        resources:
            "0001-tables 0002-hubs 0003-enrolment 0004-studies 0005-care 0006-rights 0007-followers 0008-erased 0009-arrays"
            .words.map { .embedInCode("Schema/\($0).sql") }, swiftSettings: strict),
    tests(
        "Plugins/Central/Tests", pluginTesting, "Central HubCommand HubProcess JSON PostgreSQL Samples",
        "hub-central-admin hub-confine"),
]

let simulators: [Target] = [
    library("Simulators/Scales/Sources/ScaleStandIns", "HubWire JSON Platform ScaleProtocols"),
    library("Simulators/Scales/Sources/ScaleSimulation", "JSON Platform Samples ScaleProtocols ScaleStandIns"),
    program(
        "Simulators/Scales/Sources/hub-scale-sim", "ArgumentParser HubWire ScaleProtocols ScaleSimulation ScaleStandIns"
    ),
    library("Simulators/WebFaults/Sources", httpServer, "JSON NIOHTTP1 NIOWebSocket Platform Samples"),
    library("Simulators/IHealthCloud/Sources", as: "IHealthCloudSimulation", "WebFaults"),
    library("Simulators/ExistServer/Sources/ExistSimulation", "GRDB Platform Samples WebFaults"),
    program("Simulators/ExistServer/Sources/hub-exist-server", "ArgumentParser ExistSimulation HubWire WebFaults"),
    library("Simulators/SAMIServer/Sources/SAMIExchange", "CMD5 GRDB Platform WebFaults"),
    program("Simulators/SAMIServer/Sources/hub-sami-server", "ArgumentParser HubWire SAMIExchange WebFaults"),
    program("Simulators/Demo/Sources", as: "HubDemo", "ArgumentParser HealthText HubClient HubWire Platform Samples"),
    tests(
        "Simulators/Tests", as: "SimulatorTests", scales, "Exist ExistSimulation GRDB GapFiller HealthText HubClient",
        "HubCommand HubCore HubDemo HubProcess HubWire Platform SAMIExchange Samples ScaleProtocols ScaleSimulation",
        "ScaleStandIns Web WebFaults WebSocketClient hub-exist-server hub-sami-server hub-scale-sim",
        resources: ["Demo/help.txt"]),
]

/// What several test targets use.
let support: [Target] = [
    library("Tests/Support/HubProcess"),
    library("Tests/Support/DoorPeer", "ZeroMQ"),
    library("Tests/Support/ScaleBench", pluginTesting, "IHealthCloudSimulation ScaleProtocols ScaleStandIns WebFaults"),
    .target(name: "FunctionTrace", path: "Tests/Support/FunctionTrace", cSettings: strictC),
    program("Tests/Support/Zoo", as: "zoo", "CLinux ZeroMQ"),
    program("Tests/Support/SpoolTorture", as: "spool-torture", "PluginKit"),
    program("Tests/Support/StoreTorture", as: "store-torture", "HubStore HubWire Samples"),
    program("Tests/Support/ExampleCloud", as: "example-cloud", "CloudClient PluginKit"),
    program("Tests/Support/ExampleSource", as: "example-source", "PluginKit"),
]

/// Tests of several programs together.
let together: [Target] = [
    program("Tests/Attack/Sources", as: "hub-attack", "ArgumentParser DoorPeer HubProcess HubStore Samples ZeroMQ"),
    library("Tests/Torture/Diary", as: "TortureDiary"),
    program("Tests/Torture/Source", as: "torture-source", "Platform PluginKit TortureDiary"),
    program("Tests/Torture/Sink", as: "torture-sink", "PluginKit TortureDiary"),
    program(
        "Tests/Torture/Sources", as: "hub-torture", "ArgumentParser DoorPeer HubClient HubProcess HubWire JSONLines",
        "Platform PluginCommand Samples TortureDiary torture-sink torture-source"),
    tests(
        "Tests/SystemTests", runningHub, scales, "AppleHealth Central DoorPeer Exist GapFiller HTTPIngest HubClient",
        "HubCore HubDemo HubStore JSON JSONLines Platform PluginCommand SAMI Samples ScaleBench ScaleProtocols",
        "ScaleStandIns TortureDiary Web WebFaults WebSocketClient ZeroMQ example-cloud example-source hub-attack",
        "hub-central-admin hub-confine hub-exist-server hub-sami-server hub-scale-sim hub-torture",
        exclude: ["Browser/Programs", "Interop/Programs", "Journeys/sami_weigh.py", "Schemas/validate.py"]),
]

var targets = platform + health + contract + kit + hub + plugins + simulators + support + together

// HUB_TARGETS="HubWireTests ZeroMQTests" keeps only these targets and their dependencies, so that one part builds quickly (make test ONLY="…").
if var rest = Context.environment["HUB_TARGETS"]?.words, !rest.isEmpty {
    var needed: Set<String> = []
    while let name = rest.popLast() {
        let target = targets.first { $0.name == name } ?? { fatalError("HUB_TARGETS: there is no target \(name)") }()
        guard needed.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { rest.append(dependency) }
    }
    targets.removeAll { !needed.contains($0.name) }
}

let names = Set(targets.map(\.name))
let package = Package(
    name: "health-hub",
    products: libraries.words.filter(names.contains).map { .library(name: $0, targets: [$0]) }
        + programs.words.map { $0.split(separator: "=").map(String.init) }.filter { names.contains($0.last ?? "") }
        .map { .executable(name: $0[0], targets: [$0[$0.count - 1]]) },
    dependencies: packages.map { .package(url: $0.url, from: $0.from) },
    targets: targets, swiftLanguageModes: [.v6]
)
