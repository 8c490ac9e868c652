// swift-tools-version: 6.2
import PackageDescription

/// One list for every target: Swift 6, explicit imports and existentials, and no warning survives.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .treatAllWarnings(as: .error),
]

func module(_ name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Sources/\(name)", exclude: exclude, swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", resources: resources, swiftSettings: strict)
}

let package = Package(
    name: "health-hub",
    platforms: [.macOS(.v15)],
    products: [],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0")
    ],
    targets: [
        module("Samples", exclude: ["Types/generate.py", "Types/Tables"]),
        tests("SamplesTests", ["Samples"]),
        module("PluginState", [.product(name: "GRDB", package: "GRDB.swift")]),
        tests("PluginStateTests", ["PluginState", "spool-torture"]),
        .executableTarget(
            name: "spool-torture", dependencies: ["PluginState"], path: "Tests/Support/SpoolTorture",
            swiftSettings: strict),
        .systemLibrary(name: "CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        module("ZeroMQ", ["CZeroMQ"]),
        tests("ZeroMQTests", ["ZeroMQ"]),
        module("HubSettings", ["TOMLKit"]),
        tests("HubSettingsTests", ["HubSettings", "TOMLKit"]),
    ],
    swiftLanguageModes: [.v6]
)
