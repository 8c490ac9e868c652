import ArgumentParser
import PostgreSQL

/// The migrations of the database, in order: Schema/NNNN-name.sql.
enum Migrations {
    static let all: [(name: String, text: [UInt8])] = [
        ("0001-tables", PackageResources._001_tables_sql), ("0002-hubs", PackageResources._002_hubs_sql),
        ("0003-enrolment", PackageResources._003_enrolment_sql), ("0004-studies", PackageResources._004_studies_sql),
        ("0005-care", PackageResources._005_care_sql), ("0006-rights", PackageResources._006_rights_sql),
        ("0007-followers", PackageResources._007_followers_sql), ("0008-erased", PackageResources._008_erased_sql),
        ("0009-arrays", PackageResources._009_arrays_sql),
    ]

    /// Number of applied migrations; 0 if there is no schema.
    static func applied(_ desk: AdminConnection) async throws -> Int {
        let table = try await desk.ask("SELECT to_regclass('central.migration') AS place")
        guard table["place"] != nil else { return 0 }
        return Int(try await desk.ask("SELECT coalesce(max(no), 0) AS no FROM central.migration")["no"] ?? "") ?? 0
    }
}

struct MigrateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate", abstract: "Make the database, or bring it to this program's version.",
        discussion: """
            Needs a superuser. Each migration is a transaction; two of these programs at a
            time wait for each other. Hubs may deliver meanwhile: the functions they call stay
            the same. Run again, it does nothing.

            Examples:
              sudo -u postgres hub-central-admin migrate
              hub-central-admin migrate --dry-run
            """)
    @OptionGroup var place: DatabaseOptions
    @Flag(help: "Say what would be applied.") var dryRun = false
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let postgres = try await place.desk("postgres", as: nil)
        let exists = try await postgres.ask("SELECT 1 FROM pg_database WHERE datname = 'central'").rows.count == 1
        if !exists, dryRun { return try report(from: 0) }
        if !exists { try await postgres.ask("CREATE DATABASE central") }
        let desk = try await place.desk(as: nil)
        // A lock of the session, which ends with the program in any case.
        if !dryRun { try await desk.ask("SELECT pg_advisory_lock(7233173)", within: .seconds(3_600)) }
        let from = try await Migrations.applied(desk)
        guard from <= Migrations.all.count else {
            throw AdminError(
                "the database has \(from) migrations, this program knows \(Migrations.all.count): use a newer one")
        }
        if !dryRun {
            for (index, migration) in Migrations.all.enumerated().dropFirst(from) {
                try await desk.transaction {
                    // The protocol allows one statement, which runs the whole file.
                    let text = String(decoding: migration.text, as: UTF8.self)
                    try await desk.connection.query(
                        "DO $migrate$ BEGIN EXECUTE $migration$\(text)$migration$; END $migrate$",
                        doing: migration.name,
                        within: .seconds(86_400))
                    try await desk.ask("RESET ROLE")
                    try await desk.ask(
                        "INSERT INTO central.migration (no, name) VALUES ($1, $2)", "\(index + 1)", migration.name)
                }
            }
        }
        try report(from: from)
    }

    private func report(from: Int) throws {
        let names = Migrations.all.dropFirst(from).map(\.name)
        let words =
            names.isEmpty
            ? "Nothing to do: migration \(from) is the newest."
            : "\(dryRun ? "Would apply" : "Applied"): \(names.joined(separator: ", "))"
        try say(words, json: [("applied", names), ("dryRun", dryRun), ("before", from)], if: json)
    }
}
