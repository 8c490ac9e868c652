import ArgumentParser
import Foundation
import PostgreSQL

/// A server setting that a person should change.
struct ServerFinding {
    /// Whether the setting makes receipts untrue; otherwise it has another cost.
    let isLie: Bool
    let setting: String
    let found: String
    let advice: String
}

struct CentralCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Name each setting that makes receipts lie, and what to set.",
        discussion: """
            A receipt says that a record survives the loss of a host. These settings make
            that untrue without an error anywhere; Docs/Central.md says how. Patroni's own
            settings are read from what patronictl prints.

            Examples:
              hub-central-admin check
              patronictl show-config | hub-central-admin check --patroni -

            Exit codes: 0 no receipt lies; 1 some do.
            """)
    @OptionGroup var place: DatabaseOptions
    @Option(help: ArgumentHelp("What patronictl show-config has printed; - is stdin.", valueName: "file"))
    var patroni: String?
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let desk = try await place.desk(as: nil)
        let settings = Dictionary(
            try await desk.ask("SELECT name, setting FROM pg_settings").rows.map { ($0[0] ?? "", $0[1] ?? "") },
            uniquingKeysWith: { first, _ in first })
        var findings = Self.findings(in: settings)
        findings += try await overrides(desk)
        findings += try await surroundings(desk, settings)
        if let patroni {
            let data =
                patroni == "-"
                ? FileHandle.standardInput.readDataToEndOfFile() : try Data(contentsOf: URL(filePath: patroni))
            findings += Self.findings(inPatroni: String(decoding: data, as: UTF8.self))
        }
        let isTrue = !findings.contains(where: \.isLie)
        let list = findings.map {
            ["lie": $0.isLie, "setting": $0.setting, "found": $0.found, "advice": $0.advice] as [String: Any]
        }
        let lines = findings.map {
            "\($0.isLie ? "RECEIPTS LIE" : "warning"): \($0.setting) is \($0.found.isEmpty ? "empty" : $0.found): \($0.advice)"
        }
        let end =
            isTrue
            ? "No setting makes a receipt lie."
                + (patroni == nil ? " Patroni's own were not looked at (--patroni)." : "")
            : "Receipts of this server are not true."
        try say((lines + [end]).joined(separator: "\n"), json: [("ok", isTrue), ("findings", list)], if: json)
        if !isTrue { throw ExitCode(1) }
    }

    /// Findings in the server's own settings.
    static func findings(in settings: [String: String]) -> [ServerFinding] {
        var findings: [ServerFinding] = []
        func expect(_ name: String, _ good: Set<String>, lie: Bool, _ advice: String) {
            guard let found = settings[name], !good.contains(found) else { return }
            findings.append(ServerFinding(isLie: lie, setting: name, found: found, advice: advice))
        }
        expect(
            "synchronous_commit", ["on", "remote_apply"], lie: true,
            "a commit returns before another host's disk has it; set it to on")
        expect("fsync", ["on"], lie: true, "a host that loses power loses confirmed records; set it to on")
        expect("full_page_writes", ["on"], lie: true, "a host that loses power may have torn pages; set it to on")
        expect(
            "data_sync_retry", ["off"], lie: true,
            "after a failed write PostgreSQL would go on as if it had been done; set it to off")
        expect(
            "statement_timeout", ["0"], lie: true,
            "a COMMIT within a procedure that it ends while it waits for a replica is on the leader alone; set it to 0")
        expect("log_error_verbosity", ["terse"], lie: false, "an error may bring values into the log; set it to terse")
        expect(
            "log_statement", ["none", "ddl"], lie: false,
            "statements of people bring the searched values into the log; set it to ddl or none")
        expect("log_parameter_max_length", ["0"], lie: false, "slow statements bring values into the log; set it to 0")
        expect("log_parameter_max_length_on_error", ["0"], lie: false, "errors bring values into the log; set it to 0")
        expect(
            "password_encryption", ["scram-sha-256"], lie: false,
            "an invitation proves the server by SCRAM; set it to scram-sha-256")
        expect(
            "ssl", ["on"], lie: false, "hubs connect only by TLS; set ssl, ssl_cert_file, ssl_key_file and ssl_ca_file")
        expect(
            "data_checksums", ["on"], lie: false, "a damaged page is not noticed; make the cluster with data-checksums")
        if settings["synchronous_standby_names"] == "" {
            findings.append(
                ServerFinding(
                    isLie: false, setting: "synchronous_standby_names", found: "",
                    advice:
                        "one node alone: its disk is the receipt. With replicas: Patroni's synchronous_mode and synchronous_mode_strict"
                ))
        }
        return findings
    }

    /// Findings in Patroni's configuration, which determines the behaviour when a replica is lost.
    static func findings(inPatroni text: String) -> [ServerFinding] {
        func value(_ name: String) -> String {
            for line in text.split(separator: "\n") {
                let parts = line.split(separator: ":", maxSplits: 1).map {
                    $0.trimmingCharacters(in: .whitespaces.union(.init(charactersIn: "'\"")))
                }
                if parts.count == 2, parts[0] == name { return parts[1].lowercased() }
            }
            return ""
        }
        var findings: [ServerFinding] = []
        let (mode, strict) = (value("synchronous_mode"), value("synchronous_mode_strict"))
        if !["on", "true", "quorum"].contains(mode) {
            findings.append(
                ServerFinding(
                    isLie: true, setting: "synchronous_mode", found: mode,
                    advice:
                        "Patroni may promote a host that lacks confirmed records; set it to quorum (Patroni 4) or true"
                ))
        }
        if !["on", "true"].contains(strict) {
            findings.append(
                ServerFinding(
                    isLie: true, setting: "synchronous_mode_strict", found: strict,
                    advice:
                        "when no replica is left, Patroni lets commits return that only the leader has; set it to true")
            )
        }
        return findings
    }

    /// Findings in settings of single roles or databases.
    private func overrides(_ desk: AdminConnection) async throws -> [ServerFinding] {
        let rows = try await desk.ask(
            """
            SELECT concat_ws(' in ', nullif(setrole, 0)::regrole::text, (SELECT datname FROM pg_database d WHERE d.oid = setdatabase)), split_part(c, '=', 1), split_part(c, '=', 2)
            FROM pg_db_role_setting, unnest(setconfig) c
            """
        ).rows
        return rows.flatMap { row in
            Self.findings(in: [row[1] ?? "": row[2] ?? ""]).map {
                ServerFinding(
                    isLie: $0.isLie, setting: "\($0.setting) of \(row[0] ?? "")", found: $0.found, advice: $0.advice)
            }
        }
    }

    private func surroundings(_ desk: AdminConnection, _ settings: [String: String]) async throws -> [ServerFinding] {
        var findings: [ServerFinding] = []
        let replicas = try await desk.ask(
            "SELECT count(*) AS n FROM pg_stat_replication WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')"
        )["n"]
        if settings["synchronous_standby_names"]?.isEmpty == false, replicas == "0" {
            findings.append(
                ServerFinding(
                    isLie: false, setting: "replicas", found: "none",
                    advice: "commits wait until one is back: patronictl list"))
        }
        let applied = try await Migrations.applied(desk)
        if applied != Migrations.all.count {
            findings.append(
                ServerFinding(
                    isLie: false, setting: "migrations", found: "\(applied)",
                    advice: "this program has \(Migrations.all.count): hub-central-admin migrate"))
        }
        // Only the superuser may read the rules in pg_hba.conf.
        let rules = try? await desk.ask(
            """
            SELECT type, array_to_string(user_name, ','), auth_method FROM pg_hba_file_rules
            WHERE error IS NULL AND type <> 'local' AND auth_method IN ('trust', 'password', 'md5', 'ident') AND (database && '{central,all}')
            """)
        for row in rules?.rows ?? [] {
            findings.append(
                ServerFinding(
                    isLie: false, setting: "pg_hba.conf", found: row.map { $0 ?? "" }.joined(separator: " "),
                    advice:
                        "lets someone in without a certificate or SCRAM: hub-central-admin hba prints the lines that are needed"
                ))
        }
        return findings
    }
}

struct HBACommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hba", abstract: "Print the lines of pg_hba for hubs, invitations and studies.",
        discussion: """
            They go into pg_hba of Patroni's file on each host, before a line that rejects
            the rest. Names of roles with + are groups.

            Example:
              hub-central-admin hba
            """)
    @Flag(help: "One JSON document.") var json = false

    static let lines = [
        "hostssl central +hub all cert", "hostssl central +invited all scram-sha-256",
        "hostssl central +staff all scram-sha-256",
        "hostssl central +central_desk all cert", "hostssl central +central_watch all cert",
        "hostssl all all all reject",
    ]
    func run() throws { try say(Self.lines.joined(separator: "\n"), json: [("lines", Self.lines)], if: json) }
}
