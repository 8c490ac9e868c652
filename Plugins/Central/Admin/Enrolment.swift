import ArgumentParser
import Foundation
import Platform
import PostgreSQL

/// Computes PostgreSQL's verifier for a password (SCRAM-SHA-256, RFC 5802), so that no statement contains the password.
func scramVerifier(of password: String, salt: [UInt8], rounds: Int = 4_096) -> String {
    let password = Array(password.utf8)
    var block = Digests.authenticate(salt + [0, 0, 0, 1], key: password)
    var salted = block
    for _ in 1..<rounds {
        block = Digests.authenticate(block, key: password)
        for index in salted.indices { salted[index] ^= block[index] }
    }
    let stored = Digests.sha256(Digests.authenticate(Array("Client Key".utf8), key: salted))
    let server = Digests.authenticate(Array("Server Key".utf8), key: salted)
    let texts = [salt, stored, server].map { Data($0).base64EncodedString() }
    return "SCRAM-SHA-256$\(rounds):\(texts[0])$\(texts[1]):\(texts[2])"
}

func randomBytes(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}

/// A random word of letters, digits, `-` and `_`.
func randomWord(bytes: Int) -> String {
    Data(randomBytes(bytes)).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
        "=", with: "")
}

/// The log-in of a hub; people may omit `hub_`.
func hubLogin(_ name: String) throws -> String {
    let login = name.hasPrefix("hub_") ? name : "hub_" + name
    guard login.wholeMatch(of: #/hub_[a-z0-9_]{1,40}/#) != nil else {
        throw ValidationError("\"\(name)\": expected lower-case letters, digits and _, at most 40")
    }
    return login
}

struct InviteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invite", abstract: "Invite a hub: one line to hand over, good for one enrolment.",
        discussion: """
            The hub makes its own key; nothing in the line is secret for longer than until
            it has enrolled. sign answers its request.

            Examples:
              hub-central-admin invite house7 --study heart --hosts db1,db2,db3
              hub-central-admin invite house7 --replaces --hosts db1,db2,db3
            """)
    @OptionGroup var place: DatabaseOptions
    @Argument(help: "The hub's name here: no family name, because other hubs can see it.") var login: String
    @Option(name: .customLong("study"), help: "A study to offer; once for each.") var studies: [String] = []
    @Option(help: "The hosts as the house reaches them, with commas; those of --host if not given.") var hosts: String?
    @Option(help: "For how long.") var days = 7
    @Flag(help: "The hub is enrolled already, and gets another key; also after a new installation.") var replaces =
        false
    @Flag(help: "One JSON document.") var json = false

    func validate() throws {
        guard hosts != nil || !place.host.hasPrefix("/") else {
            throw ValidationError("--hosts: the house does not reach a Unix socket")
        }
        guard (1...90).contains(days) else { throw ValidationError("--days: expected 1 to 90, not \(days)") }
    }

    func run() async throws {
        let login = try hubLogin(login)
        let desk = try await place.desk()
        let known = try await desk.ask("SELECT state FROM central.hub WHERE login = $1", login)["state"]
        guard (known != nil) == replaces else {
            throw AdminError(
                replaces
                    ? "there is no \(login) to replace"
                    : "\(login) is enrolled already; --replaces gives it another key")
        }
        let found = try await desk.ask(
            "SELECT count(*) AS n FROM central.study WHERE name = ANY ($1) AND ended IS NULL", array(studies))["n"]
        guard found == "\(Set(studies).count)" else {
            throw AdminError("not all of these are studies that go on: hub-central-admin study list")
        }
        let id = randomBytes(4).hexadecimal
        let token = randomWord(bytes: 24)
        let until =
            try await desk.ask(
                "SELECT to_char(now() + make_interval(days => $1::int), 'YYYY-MM-DD HH24:MI:SSOF') AS until", "\(days)")[
                "until"] ?? ""
        try await desk.transaction {
            // A hub has at most one invitation.
            for row in try await desk.ask("DELETE FROM central.invite WHERE login = $1 RETURNING role", login).rows {
                try await desk.ask("DROP ROLE IF EXISTS \(identifier(row[0] ?? ""))")
            }
            try await desk.ask(
                "CREATE ROLE invite_\(id) LOGIN CONNECTION LIMIT 2 IN ROLE invited VALID UNTIL \(literal(until)) PASSWORD \(literal(scramVerifier(of: token, salt: randomBytes(16))))"
            )
            try await desk.ask(
                """
                INSERT INTO central.invite (role, login, studies, replaces, until)
                SELECT $1, $2, coalesce(array_agg(study_no), '{}'), $4, $5 FROM central.study WHERE name = ANY ($3)
                """, "invite_\(id)", login, array(studies), "\(replaces)", until)
        }
        let port = place.port
        let names = (hosts ?? place.host).split(separator: ",").map { $0.contains(":") ? String($0) : "\($0):\(port)" }
            .joined(separator: ",")
        let line = "central://\(names)/central?invite=\(id).\(token)"
        try say(line, json: [("line", line), ("hub", login), ("until", until)], if: json)
        if !json { complain("Good until \(until), once. In the house: hub do central enrol invite='…'") }
    }
}

struct SignCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sign", abstract: "Sign what invited hubs ask for.",
        discussion: """
            One pass, or with --watch for as long as it runs; then it also notifies followers
            of a study about new records (LISTEN central_live). Only its certificate opens a
            hub's log-in. Used and expired invitations are deleted.

            Examples:
              hub-central-admin sign
              hub-central-admin sign --watch
            """)
    @OptionGroup var place: DatabaseOptions
    @OptionGroup var files: AuthorityFiles
    @Option(help: "How long a certificate lasts.") var days = 825
    @Flag(help: "Keep running, and look every second.") var watch = false
    @Flag(help: "A JSON object on a line for each signed or refused request.") var json = false

    func run() async throws {
        let authority = try Authority(certificate: files.certificate, key: files.key)
        var desk: AdminConnection?
        var isAway = false
        var hints = Hints()
        repeat {
            do {
                let open = if let desk { desk } else { try await place.desk() }
                desk = open
                try await Signing(desk: open, authority: authority, days: days, json: json).pass()
                if watch { try await hints.give(on: open) }
                isAway = false
            } catch let error where watch && !(error is CancellationError) {
                if !isAway { complain("\(error); trying again") }
                (desk, isAway, hints) = (nil, true, Hints())
            }
            if watch { try await Task.sleep(for: .seconds(1)) }
        } while watch
    }
}

/// Notifies followers of a study (`LISTEN central_live`) of changes.
///
/// This runs once a second for all hubs: a NOTIFY in each of their transactions would make their commits wait for each other.
private struct Hints {
    /// Counts of records, consents and restores; the snapshot's position also moves with transactions of the followers.
    private var known = ""
    /// The position that a notification must reach to cover all changes; nil if none is due.
    private var goal: Int64?
    private var told: Int64 = 0

    mutating func give(on desk: AdminConnection) async throws {
        let answer = try await desk.ask(
            """
            SELECT pg_snapshot_xmin(s)::text AS horizon, pg_snapshot_xmax(s)::text AS next,
                concat_ws('/', (SELECT sum(versions) FROM central.hub), (SELECT sum(extract(epoch FROM given)) FROM central.consent), (SELECT sum(extract(epoch FROM withdrawn)) FROM central.consent),
                    (SELECT sum(extract(epoch FROM reconciled)) FROM central.era), (SELECT max(no) FROM central.incarnation)) AS known FROM pg_current_snapshot() s
            """)
        guard let horizon = answer["horizon"].flatMap({ Int64($0) }), let next = answer["next"].flatMap({ Int64($0) })
        else { return }
        if let now = answer["known"], now != known { (known, goal) = (now, next) }
        guard let goal, horizon != told else { return }
        try await desk.ask("SELECT pg_notify('central_live', $1)", "\(horizon)")
        told = horizon
        // An open transaction holds later changes above the position, so another notification follows.
        if horizon >= goal { self.goal = nil }
    }
}

/// One pass over the pending requests.
private struct Signing {
    let desk: AdminConnection
    let authority: Authority
    let days: Int
    let json: Bool

    func pass() async throws {
        let requests = try await desk.ask(
            """
            SELECT r.request_no, coalesce(i.login, r.asker) AS login, r.csr, r.hub_id, i.role, i.replaces FROM central.request r
            LEFT JOIN central.invite i ON i.role = r.asker WHERE r.signed IS NULL AND r.refused IS NULL ORDER BY r.request_no LIMIT 1000
            """)
        for row in requests.rows {
            let (number, login, role) = (row[0] ?? "", row[1] ?? "", row[4])
            do {
                let certificate = try authority.sign(row[2] ?? "", as: login, days: days)
                if role != nil,
                    try await desk.ask("SELECT 1 FROM central.hub WHERE hub_id = $1 AND login <> $2", row[3], login)
                        .rows.count > 0
                {
                    throw AdminError("this hub has another log-in already")
                }
                try await desk.transaction {
                    if let role { try await admit(login, hubID: row[3], by: role) }
                    try await desk.ask(
                        "UPDATE central.request SET certificate = $2, ca = $3, signed = now() WHERE request_no = $1",
                        number, certificate, authority.pem)
                }
                try say("signed \(login)", json: [("hub", login), ("signed", true)], if: json)
            } catch let refusal as AdminError {
                try await desk.transaction {
                    try await desk.ask(
                        "UPDATE central.request SET refused = $2 WHERE request_no = $1", number, refusal.description)
                }
                try say(
                    "refused \(login): \(refusal)",
                    json: [("hub", login), ("signed", false), ("reason", refusal.description)], if: json)
            }
        }
        // An invitation is used when the hub has said hello with its certificate.
        let over = try await desk.ask(
            """
            SELECT role FROM central.invite i WHERE until < now() OR EXISTS (SELECT FROM central.request r JOIN central.hub h ON h.login = i.login WHERE r.asker = i.role AND h.heard > r.signed)
            """)
        for row in over.rows {
            let role = row[0] ?? ""
            try await desk.transaction {
                try await desk.ask("DROP ROLE IF EXISTS \(identifier(role))")
                try await desk.ask("DELETE FROM central.request WHERE asker = $1", role)
                try await desk.ask("DELETE FROM central.invite WHERE role = $1", role)
            }
        }
    }

    /// Creates the hub or lets it log in, and offers it the studies of its invitation.
    private func admit(_ login: String, hubID: String?, by role: String) async throws {
        let exists = try await desk.ask("SELECT 1 FROM pg_roles WHERE rolname = $1", login).rows.count > 0
        try await desk.ask(
            exists
                ? "ALTER ROLE \(identifier(login)) LOGIN PASSWORD NULL"
                : "CREATE ROLE \(identifier(login)) LOGIN IN ROLE hub")
        try await desk.ask(
            "INSERT INTO central.hub (login, hub_id) VALUES ($1, $2) ON CONFLICT (login) DO UPDATE SET hub_id = EXCLUDED.hub_id, state = 'active'",
            login, hubID)
        try await desk.ask(
            """
            INSERT INTO central.offer SELECT h.hub_no, s FROM central.hub h, central.invite i, unnest(i.studies) s
            WHERE h.login = $1 AND i.role = $2 ON CONFLICT DO NOTHING
            """, login, role)
    }
}
