// swift-tools-version: 6.2
import PackageDescription

/// The programs of `make bench`: the driver, and programs that measure the store and the decoders without a hub.
///
/// This is a separate package, so that tests do not build it. The load generators and the programs to compare with are in C, in Programs/.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"), .treatAllWarnings(as: .error),
]

let package = Package(
    name: "benchmarks",
    dependencies: [.package(name: "health-hub", path: "..")],
    targets: [
        .executableTarget(
            name: "apple-read",
            dependencies: [.product(name: "AppleExport", package: "health-hub")], swiftSettings: strict),
        .executableTarget(name: "bench", swiftSettings: strict),
        .executableTarget(
            name: "day-fill",
            dependencies: [.product(name: "Samples", package: "health-hub")],
            swiftSettings: strict),
        .executableTarget(
            name: "store-ingest",
            dependencies: [
                .product(name: "HubStore", package: "health-hub"), .product(name: "Samples", package: "health-hub"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "store-statistics",
            dependencies: [
                .product(name: "HubStore", package: "health-hub"), .product(name: "Samples", package: "health-hub"),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
