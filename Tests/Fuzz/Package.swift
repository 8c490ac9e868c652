// swift-tools-version: 6.2
import PackageDescription

/// Runs libFuzzer against all code that reads foreign input: the record codec, the bodies of phones, and the parsers and dialogues of the scales.
///
/// It is a separate package, because it needs unsafe flags, and a package that others use may not have these.
///
///     swift build --package-path Tests/Fuzz -c release --sanitize fuzzer
///     Tests/Fuzz/corpus unpack Tests/Fuzz/Corpora/hsl.txt /tmp/seeds
///     Tests/Fuzz/.build/release/fuzz-hsl -max_len=4096 -rss_limit_mb=512 -runs=10000000 /tmp/corpus /tmp/seeds
///
/// For exports of Apple Health: `Tags`, `Zip`, and `Export`, which makes all records.
/// For `hub-http-ingest`: `Phones`, the bodies, and `Door`, whole requests and messages of a broker with their answers.
/// For scales: the parsers alone (`Frames`, `Decoders`, `Lines`), which read ten million inputs in minutes, and whole sessions.
let scales = ["Frames", "Decoders", "Lines", "HS3", "HS4", "HS5", "HSL"]

let exports = ["Tags", "Export", "Zip"]

/// The package's name for the compiler, which is that of its folder: with it the sources of a plugin may use `package` declarations.
let folder = Context.packageDirectory.split(separator: "/").dropLast(2).last ?? ""
let packageOfPlugin = String(folder.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" })

let protocols: [Target.Dependency] = [
    .product(name: "JSON", package: "health-hub"), .product(name: "ScaleProtocols", package: "health-hub"),
    .product(name: "ScaleStandIns", package: "health-hub"),
]

let package = Package(
    name: "fuzz",
    products: [
        .executable(name: "fuzz-records", targets: ["FuzzRecords"]),
        .executable(name: "fuzz-phones", targets: ["FuzzPhones"]),
        .executable(name: "fuzz-door", targets: ["FuzzDoor"]),
    ]
        + (scales + exports).map { .executable(name: "fuzz-\($0.lowercased())", targets: ["Fuzz\($0)"]) },
    dependencies: [
        .package(name: "health-hub", path: "../.."),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "FuzzRecords",
            dependencies: [
                .product(name: "HubWire", package: "health-hub"), .product(name: "JSON", package: "health-hub"),
                .product(name: "Samples", package: "health-hub"),
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
        .executableTarget(
            name: "FuzzPhones",
            dependencies: [
                .product(name: "HubWire", package: "health-hub"),
                .product(name: "PhonePayloads", package: "health-hub"),
                .product(name: "Samples", package: "health-hub"),
            ],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]),
        // Its folder Ingest has the plugin's sources, so that their declarations can stay internal.
        .executableTarget(
            name: "FuzzDoor",
            dependencies: [
                .product(name: "HTTPServing", package: "health-hub"), .product(name: "JSON", package: "health-hub"),
                .product(name: "Platform", package: "health-hub"),
                .product(name: "PhonePayloads", package: "health-hub"),
                .product(name: "PluginKit", package: "health-hub"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOEmbedded", package: "swift-nio"),
            ],
            exclude: ["Ingest/HTTPIngest.swift"],
            packageAccess: false,
            swiftSettings: [.unsafeFlags(["-parse-as-library", "-package-name", packageOfPlugin])]),
    ]
        + scales.map { name in
            .executableTarget(
                name: "Fuzz\(name)",
                dependencies: protocols + (["HS3", "HS4", "HS5"].contains(name) ? ["Sessions"] : []),
                swiftSettings: [.unsafeFlags(["-parse-as-library"])])
        }
        + exports.map { name in
            .executableTarget(
                name: "Fuzz\(name)",
                dependencies: [
                    .product(name: "AppleExport", package: "health-hub"),
                    .product(name: "HubWire", package: "health-hub"), .product(name: "Samples", package: "health-hub"),
                ],
                swiftSettings: [.unsafeFlags(["-parse-as-library"])])
        } + [
            .target(
                name: "Sessions", dependencies: protocols,
                swiftSettings: [.enableUpcomingFeature("InternalImportsByDefault")])
        ],
    swiftLanguageModes: [.v6]
)
