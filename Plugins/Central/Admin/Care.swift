import ArgumentParser
import PostgreSQL

struct CentralEraseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase", abstract: "Do the erasures that houses and studies have asked for, with proof.",
        discussion: """
            Deletes in pieces, counts what is left, and rewrites the files that had deleted
            rows: PostgreSQL leaves their bytes in its pages. While a file is rewritten its
            hubs wait. A file that some transaction still needs is left for the next run.
            For backups and the archived log see Docs/Central.md, Erasure.

            Examples:
              hub-central-admin erase --dry-run
              hub-central-admin erase
              hub-central-admin erase --keep-files       (the rewriting at a quiet hour)

            Exit codes: 0; 1 rows or files are left, which are listed.
            """)
    @OptionGroup var place: DatabaseOptions
    @Flag(help: "Rewrite no files.") var keepFiles = false
    @Flag(help: "Print what would be erased.") var dryRun = false
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let desk = try await place.desk()
        if dryRun {
            return try await desk.show(
                """
                SELECT e.erasure_no AS erasure, h.login AS hub, to_char(e.asked AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI"Z"') AS asked,
                    (SELECT count(*) FROM central.record r WHERE r.hub_no = e.hub_no AND r.person_no = e.person_no
                        AND NOT central.is_covered(r.hub_no, r.person_no, r.type_no, r.start_at, r.offset_min)) AS records,
                    (SELECT count(*) FROM central.history r WHERE r.hub_no = e.hub_no AND r.person_no = e.person_no
                        AND NOT central.is_covered(r.hub_no, r.person_no, r.type_no, r.start_at, r.offset_min)) AS history
                FROM central.erasure e JOIN central.hub h USING (hub_no) WHERE e.done IS NULL ORDER BY 1
                """, json: json)
        }
        // The procedure commits piece by piece, so it cannot run in a transaction.
        try await desk.ask("CALL central.erase_v1()", within: .seconds(86_400))
        var rewritten: [String] = []
        if !keepFiles {
            for row in try await desk.ask("SELECT place, xid FROM central.scrub_due WHERE ready").rows {
                let (file, xid) = (row[0] ?? "", row[1])
                try await desk.ask("VACUUM (FULL) \(file)", within: .seconds(86_400))
                try await desk.transaction { try await desk.ask("SELECT central.scrubbed_v1($1, $2)", file, xid) }
                rewritten.append(file)
            }
            try await desk.transaction { try await desk.ask("SELECT central.scrubbed_v1('', 0)") }
        }
        let left = try await desk.ask(
            """
            SELECT (SELECT count(*) FROM central.erasure WHERE done IS NULL) AS erasures, (SELECT coalesce(sum(remains), 0) FROM central.erasure WHERE done IS NULL) AS rows,
                (SELECT count(*) FROM central.scrub_due) AS files
            """)
        let (erasures, files) = (Int(left["erasures"] ?? "") ?? 0, Int(left["files"] ?? "") ?? 0)
        try say(
            "Files rewritten: \(rewritten.isEmpty ? "none" : rewritten.joined(separator: ", ")). Erasures that are open: \(erasures) (rows left: \(left["rows"] ?? "0")). Files that still have bytes of deleted rows: \(files).",
            json: [
                ("rewritten", rewritten), ("open", erasures), ("rowsLeft", Int(left["rows"] ?? "") ?? 0),
                ("filesLeft", files),
            ], if: json)
        if erasures > 0 || files > 0 && !keepFiles { throw ExitCode(1) }
    }
}

struct MonthsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "months", abstract: "Make the coming months of the history, and drop those that are old.",
        discussion: """
            Run it once a day. It touches only superseded versions, not records.

            Examples:
              hub-central-admin months --keep 24 --dry-run
              hub-central-admin months --keep 24
            """)
    @OptionGroup var place: DatabaseOptions
    @Option(help: "How many whole months are kept.") var keep = 24
    @Flag(help: "Print which months would go.") var dryRun = false
    @Flag(help: "One JSON document.") var json = false

    func validate() throws {
        guard (1...1_200).contains(keep) else {
            throw ValidationError("--keep: expected 1 to 1200 months, not \(keep)")
        }
    }

    func run() async throws {
        let desk = try await place.desk()
        let old = try await desk.ask(
            """
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'central.history'::regclass AND c.relname ~ '^history_[0-9]{6}$'
                AND to_date(right(c.relname, 6), 'YYYYMM') < date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $1::int) ORDER BY 1
            """, "\(keep)"
        ).rows.compactMap(\.first).compactMap { $0 }
        if !dryRun {
            try await desk.transaction {
                try await desk.ask("CALL central.months_v1(\(keep))", within: .seconds(86_400))
            }
        }
        try say(
            "\(dryRun ? "Would drop" : "Dropped"): \(old.isEmpty ? "none" : old.joined(separator: ", "))",
            json: [("dropped", old), ("dryRun", dryRun)], if: json)
    }
}

struct IncarnationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "incarnation", abstract: "After a restore of the centre: have hubs send lost records again.",
        discussion: """
            Run it after the restore and before a hub reaches the database. Hubs see another
            number, repeat their withdrawals, compare, and send again what differs.

            Examples:
              hub-central-admin incarnation
              hub-central-admin incarnation --why "restored to 2026-11-20 03:00"
            """)
    @OptionGroup var place: DatabaseOptions
    @Option(help: "Raise the number, for this reason.") var why: String?
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let desk = try await place.desk()
        if let why {
            try await desk.transaction {
                try await desk.ask(
                    "INSERT INTO central.incarnation (no, why) SELECT max(no) + 1, $1 FROM central.incarnation", why)
            }
        }
        try await desk.show(
            "SELECT no, to_char(began AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI\"Z\"') AS began, why FROM central.incarnation ORDER BY no",
            json: json)
    }
}

struct MetricsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metrics", abstract: "Print the centre's health as Prometheus reads it.",
        discussion: """
            For the text files of node_exporter. A role that is a member of central_watch is
            enough. No value, no person, no study.

            Example:
              hub-central-admin metrics > /var/lib/prometheus/node-exporter/central.prom
            """)
    @OptionGroup var place: DatabaseOptions
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        guard let desk = try? await place.desk(as: nil) else {
            try say("central_up 0", json: [("central_up", 0)], if: json)
            throw ExitCode(1)
        }
        if json {
            return try await desk.show("SELECT name, label, \"of\", value FROM central.metrics_v1()", json: true)
        }
        let answer = try await desk.ask(
            "SELECT name, label, \"of\", value FROM central.metrics_v1() ORDER BY name, \"of\"")
        print("# TYPE central_up gauge\ncentral_up 1")
        var last = ""
        for row in answer.rows {
            let name = row[0] ?? ""
            if name != last { print("# TYPE \(name) \(name.hasSuffix("_total") ? "counter" : "gauge")") }
            last = name
            let value = (row[2] ?? "").replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing(
                "\n", with: "\\n")
            print("\(name)\(row[1].map { "{\($0)=\"\(value)\"}" } ?? "") \(row[3] ?? "NaN")")
        }
    }
}
