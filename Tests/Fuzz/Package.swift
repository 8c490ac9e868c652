// swift-tools-version: 6.2
import PackageDescription

/// libFuzzer against the record codec.
///
/// A package of its own: its flags are unsafe ones, which no package that others
/// use may have.
///
///     swift build --package-path Tests/Fuzz -c release --sanitize fuzzer
///     Tests/Fuzz/.build/release/fuzz-records -max_len=4096 -max_total_time=300 /tmp/corpus Tests/Fuzz/Corpus
let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v15)],
    products: [.executable(name: "fuzz-records", targets: ["FuzzRecords"])],
    dependencies: [.package(name: "health-hub", path: "../..")],
    targets: [
        .executableTarget(
            name: "FuzzRecords",
            dependencies: [
                .product(name: "HubWire", package: "health-hub"), .product(name: "Samples", package: "health-hub"),
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])])
    ],
    swiftLanguageModes: [.v6]
)
