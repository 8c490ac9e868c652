import Foundation
import HubProcess
import HubWire
import Testing

/// All programs of this project have one version.
@Suite struct VersionTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        .standardizedFileURL

    /// Programs that only other programs start; they take no options.
    private static let helpers: Set<String> = ["hub-confine", "hub-ihealth-cloud"]

    /// The programs that Package.swift lists, but for the helpers.
    private static func programs() throws -> [String] {
        let package = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        let list = try #require(package.firstMatch(of: /let programs = """\n([^"]+)"""/)).1
        let names = list.split(whereSeparator: \.isWhitespace).map { String($0.prefix { $0 != "=" }) }
        return names.filter { !helpers.contains($0) }
    }

    @Test func `every program prints the version of the project with --version`() async throws {
        let programs = try Self.programs()
        #expect(programs.contains("hub") && programs.contains("hub-plugin") && programs.contains("hub-central"))
        for program in programs {
            let printed = try await ChildProcess(program, ["--version"]).result()
            #expect(printed.code == 0 && printed.output == ProductVersion.current + "\n", "\(program): \(printed)")
        }
    }

    @Test func `hub plugin prints it, too`() async throws {
        #expect(try await Programs.hub(["plugin", "--version"]).output == ProductVersion.current + "\n")
    }

    @Test func `the client libraries have it, and no version of the changelog is newer`() async throws {
        let program = Self.root.appending(path: ".ci/version").path
        #expect(try await ChildProcess(program).result().output == ProductVersion.current + "\n")
        let check = try await ChildProcess(program, ["check"]).result()
        #expect(check.code == 0, "\(check.errors)")
    }
}
