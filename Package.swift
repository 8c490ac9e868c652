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
    products: [
        .executable(name: "hub-scale-sim", targets: ["hub-scale-sim"])
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
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
        module("ScaleFrames"),
        tests("ScaleFramesTests", ["ScaleFrames"], resources: [.copy("vectors.jsonl"), .copy("Sessions")]),
        .target(
            name: "ScaleSimulation", dependencies: ["ScaleFrames"], path: "Simulators/Scales/Sources/ScaleSimulation",
            swiftSettings: strict),
        .executableTarget(
            name: "hub-scale-sim",
            dependencies: [
                "ScaleSimulation", "ScaleFrames", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Simulators/Scales/Sources/hub-scale-sim", swiftSettings: strict),
        .testTarget(
            name: "ScaleSimulationTests", dependencies: ["ScaleSimulation", "ScaleFrames"],
            path: "Simulators/Scales/Tests",
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
