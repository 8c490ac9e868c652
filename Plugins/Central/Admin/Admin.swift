import ArgumentParser
import HubWire

@main
struct Admin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "hub-central-admin", abstract: "The desk's side of the centre: hubs, studies, erasure, health.",
        discussion: """
            Runs on a machine that reaches the database: on the leader over the Unix socket, as
            postgres or a member of central_desk, or over TLS with a certificate (--host,
            --authority, --certificate, --key). PGHOST, PGPORT and PGUSER count if the options
            are not given.

            From nothing to a first record:
              hub-central-admin migrate
              hub-central-admin check
              hub-central-admin ca new
              hub-central-admin study new heart --title "Hearts" --type weight --type heartRate
              hub-central-admin invite house7 --study heart --hosts db1,db2,db3
              hub-central-admin sign --watch

            Its purpose, its promises and the contract with hubs: Docs/Central.md.

            Exit codes: 0; 1 it was not done, or check has found something; 64 wrong
            arguments.
            """,
        version: ProductVersion.current,
        subcommands: [
            MigrateCommand.self, CentralCheckCommand.self, HBACommand.self, AuthorityCommand.self, StudyCommand.self,
            InviteCommand.self, SignCommand.self, HubsCommand.self, CentralStopCommand.self, ResumeCommand.self,
            CentralEraseCommand.self, MonthsCommand.self, IncarnationCommand.self, CentralStatsCommand.self,
            CentralExportCommand.self,
            MetricsCommand.self,
        ])
}
