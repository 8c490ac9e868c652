// swift-tools-version: 6.2
import PackageDescription

/// libFuzzer against everything that reads what others send: the record codec, the bodies of phones, and the parsers and dialogues of the scales.
///
/// A package of its own: its flags are unsafe ones, which no package that others
/// use may have.
///
///     swift build --package-path Tests/Fuzz -c release --sanitize fuzzer
///     Tests/Fuzz/corpus unpack Tests/Fuzz/Corpora/hsl.txt /tmp/seeds
///     Tests/Fuzz/.build/release/fuzz-hsl -max_len=4096 -rss_limit_mb=512 -runs=10000000 /tmp/corpus /tmp/seeds
///
/// What an export of Apple Health may be: `Tags`, `Zip`, and `Export`, all that is made of it.
/// What comes to `hub-http-ingest`: `Phones`, the bodies, and `Door`, whole requests and messages of a broker with their answers.
/// Parsers alone (`Frames`, `Decoders`, `Lines`, `SIG`), which see ten million inputs in minutes, and whole sessions.
let scales = ["Frames", "Decoders", "Lines", "SIG", "HS3", "HS4", "HS5", "HSL"]

let exports = ["Tags", "Export", "Zip"]

/// What the sources of a plugin may use of the package that they are of, by the name that it has there: that of its folder.
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
        // Its folder Ingest is the plugin's sources: what they have stays their own.
        .executableTarget(
            name: "FuzzDoor",
            dependencies: [
                .product(name: "HTTPServing", package: "health-hub"), .product(name: "JSON", package: "health-hub"),
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
