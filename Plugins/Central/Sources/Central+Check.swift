import PluginKit
import PostgreSQL

// `--check` queries every host of the centre and writes nothing.
extension Central {
    private static let question = """
        SELECT pg_is_in_recovery() AS follows, current_setting('server_version') AS version, (now() - $1::timestamptz)::text AS skew,
            extract(epoch FROM now() - $1::timestamptz)::bigint AS seconds, current_setting('synchronous_commit') AS commit,
            current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
            current_setting('synchronous_standby_names') AS replicas, coalesce(has_schema_privilege('central', 'USAGE'), false) AS schema
        """

    /// The result for one host.
    private struct Finding {
        var text: String
        var leads = false
        var lies: [String] = []
    }

    func check(_ hub: CheckContext) async throws -> String {
        let settings = try CentralSettings(hub.settings)
        guard settings.files != nil || hub.stateDirectory != nil else {
            throw PluginFailure(
                .settings, "the certificate is not known: add --state DIR, or set certificate, key and authority")
        }
        let enrolment = try Enrolment(settings, in: hub.stateDirectory ?? "/")
        let options: ConnectionOptions
        do { options = try await enrolment.options() } catch let failure as CentreError {
            throw PluginFailure(.settings, failure.description)
        }
        var findings: [Finding] = []
        var failures: [PostgreSQLError] = []
        for host in options.hosts {
            do { findings.append(try await Self.ask(host, options, settings.patience, hub)) } catch let error
                as PostgreSQLError
            {
                failures.append(error)
                findings.append(Finding(text: "\(error)"))
            }
        }
        let said = findings.map(\.text).joined(separator: ". ")
        let lies = findings.flatMap(\.lies)
        guard lies.isEmpty else {
            throw PluginFailure(.failed, "receipts would be untrue: \(lies.joined(separator: "; ")). \(said)")
        }
        if failures.contains(where: { $0.kind == .identity }) { throw PluginFailure(.refused, said) }
        guard findings.contains(where: \.leads) else {
            throw PluginFailure(
                .unavailable, "no host of the centre leads, so that nothing can be delivered now. \(said)")
        }
        let single = options.hosts.count == 1 ? " A warning: \(UnsafeServerSettings.single)." : ""
        return "\(options.user) can log in. \(said).\(single) Nothing was written."
    }

    private static func ask(
        _ host: ConnectionOptions.Host, _ all: ConnectionOptions, _ patience: Duration, _ hub: CheckContext
    ) async throws -> Finding {
        var options = all
        (options.hosts, options.mustWrite) = ([host], false)
        let connection = try await Connection.open(options)
        let answer = try await connection.query(
            question, [Timestamp(microseconds: hub.clock.now()).text], doing: "looking at its settings",
            within: patience)
        let follows = answer["follows"] == "t"
        var words: [String] = []
        if !["on", "remote_apply"].contains(answer["commit"] ?? "") { words.append("synchronous_commit") }
        if answer["fsync"] != "on" { words.append("fsync") }
        if answer["pages"] != "on" { words.append("full_page_writes") }
        // Only the leader's setting matters here.
        if !follows, answer["replicas"] == "" { words.append("single") }
        let lies = words.compactMap { UnsafeServerSettings.reason($0, hostCount: all.hosts.count) }.map {
            "\(host): \($0)"
        }
        let skew = answer["seconds"].flatMap { Int($0) } ?? 0
        var text = "\(host) \(follows ? "follows" : "leads"), PostgreSQL \(answer["version"] ?? "")"
        if answer["schema"] != "t" { text += ", but this log-in may not use the schema central" }
        if abs(skew) > 30 { text += ", whose clock is \(abs(skew)) s \(skew > 0 ? "ahead of" : "behind") this hub's" }
        return Finding(text: text, leads: !follows && answer["schema"] == "t", lies: lies)
    }
}
