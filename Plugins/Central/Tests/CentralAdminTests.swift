import Foundation
import HubProcess
import Testing

@testable import hub_central_admin

/// The centre with its own servers: the part of Tests/Central that needs no three hosts.
///
/// `make test-central` runs the part with three hosts.
@Suite(
    .enabled(if: Need.postgresql.isMet, "\(Need.postgresql.reason)"),
    .enabled(if: Need.psycopg.isMet, "\(Need.psycopg.reason)"))
struct CentralAdminTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Tests/Central"
    ).standardizedFileURL.path

    @Test(arguments: ["functions", "attack", "erasure", "admin", "follower"])
    func `the centre answers as its document says`(_ script: String) async throws {
        let program = ["erasure", "admin", "follower"].contains(script) ? [Programs.path("hub-central-admin")] : []
        var environment = ["HUB_CLUSTER": try await PostgreSQLServer.cluster.value]
        if !Thoroughness.isWhole { environment["HUB_BRIEF"] = "1" }
        let result = try await ChildProcess(
            "/usr/bin/python3", ["\(Self.folder)/\(script).py"] + program, environment: environment
        ).result()
        #expect(result.code == 0, "\(result.output)\n\(result.errors)")
    }

    @Test func `the program contains all migrations`() throws {
        let schema = URL(filePath: Self.folder).appending(path: "../../Plugins/Central/Schema").standardizedFileURL
        let names = try FileManager.default.contentsOfDirectory(atPath: schema.path).sorted()
        #expect(names == Migrations.all.map { "\($0.name).sql" })
        for migration in Migrations.all {
            let text = try Data(contentsOf: schema.appending(path: "\(migration.name).sql"))
            let isSame = Array(text) == migration.text
            #expect(isSame, "\(migration.name).sql is another than the program has")
        }
    }
}
