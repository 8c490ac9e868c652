import ArgumentParser
import PostgreSQL

struct HubsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hubs", abstract: "Show the hubs: last heard, what waits in the house, software, clock.",
        discussion: """
            BEHIND is by how many seconds its clock is behind the centre's.

            Examples:
              hub-central-admin hubs
              hub-central-admin hubs --silent 1 --json
            """)
    @OptionGroup var place: DatabaseOptions
    @Option(help: ArgumentHelp("Only hubs that were not heard from for this many days.", valueName: "days")) var silent:
        Int?
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        try await place.desk().show(
            """
            SELECT login AS hub, state, to_char(heard AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI"Z"') AS heard, backlog, software,
                round(extract(epoch FROM skew), 1) AS behind, versions,
                (SELECT count(DISTINCT person_no) FROM central.consent c WHERE c.hub_no = h.hub_no AND c.withdrawn IS NULL) AS persons
            FROM central.hub h WHERE $1::int IS NULL OR heard IS NULL OR heard < now() - make_interval(days => $1::int) ORDER BY login
            """, silent.map { "\($0)" }, json: json)
    }
}

struct CentralStopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Take a hub's log-in away, at once; or pause it.",
        discussion: """
            Its sessions end, and its certificate opens nothing from then on. Its records stay.
            A paused hub may log in, but has to wait.

            Examples:
              hub-central-admin stop house7
              hub-central-admin stop house7 --pause
            """)
    @OptionGroup var place: DatabaseOptions
    @Argument var hub: String
    @Flag(help: "Keep its log-in, but make it wait.") var pause = false
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let (login, desk) = (try hubLogin(hub), try await place.desk())
        try await change(login, to: pause ? "paused" : "stopped", mayLogIn: pause, desk)
        try say(
            "\(login) is \(pause ? "paused" : "stopped").",
            json: [("hub", login), ("state", pause ? "paused" : "stopped")], if: json)
    }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let a hub that was stopped or paused go on.",
        discussion: """
            With the certificate that it has. If that may be in other hands, invite it
            again instead, with --replaces.

            Example:
              hub-central-admin resume house7
            """)
    @OptionGroup var place: DatabaseOptions
    @Argument var hub: String
    @Flag(help: "One JSON document.") var json = false

    func run() async throws {
        let (login, desk) = (try hubLogin(hub), try await place.desk())
        try await change(login, to: "active", mayLogIn: true, desk)
        try say("\(login) is active.", json: [("hub", login), ("state", "active")], if: json)
    }
}

private func change(_ login: String, to state: String, mayLogIn: Bool, _ desk: AdminConnection) async throws {
    guard try await desk.ask("SELECT 1 FROM central.hub WHERE login = $1", login).rows.count == 1 else {
        throw AdminError("there is no \(login): hub-central-admin hubs")
    }
    try await desk.transaction {
        try await desk.ask("ALTER ROLE \(identifier(login)) \(mayLogIn ? "LOGIN" : "NOLOGIN")")
        try await desk.ask("UPDATE central.hub SET state = $2 WHERE login = $1", login, state)
    }
    if !mayLogIn {
        try await desk.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", login)
    }
}
