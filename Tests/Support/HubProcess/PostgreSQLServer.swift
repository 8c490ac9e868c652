import Foundation
import Glibc
import Synchronization

/// A real PostgreSQL server for one test, at 127.0.0.1 with TLS and at a Unix socket that trusts everyone.
///
/// A test can kill the server and start it again on the same files, which are removed with this object.
///
/// Roles of the group `hub` log in with a certificate of its authority, those of `invited` with a password; `postgres` owns it.
public final class PostgreSQLServer: Sendable {
    private let folder: TemporaryFolder
    public let port: Int
    private let process = Mutex<ChildProcess?>(nil)

    /// The folder of the programs of the newest installed version; `nil` if none is installed.
    static let programs: String? = {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        return versions.compactMap(Int.init).sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }
            .first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    /// The user that runs PostgreSQL if the tests run as root, because PostgreSQL refuses to run as root.
    private static let owner: (user: uid_t, group: gid_t)? =
        geteuid() == 0 ? getpwnam("postgres").map { ($0.pointee.pw_uid, $0.pointee.pw_gid) } : nil

    public static let isInstalled = programs != nil && (geteuid() != 0 || owner != nil)

    /// Makes a cluster and starts it.
    ///
    /// - Parameters:
    ///   - files: a result of ``stopAndKeepFiles()``, which the server begins with; an empty cluster if not given.
    ///   - settings: lines of `postgresql.conf` beside the usual ones.
    public init(copying files: String? = nil, settings: [String] = []) async throws {
        folder = try TemporaryFolder()
        port = try FreePort.next()
        try Self.own(folder.path)
        let cluster = try await Self.cluster.value
        try await Self.run("cp", ["-a", "--reflink=auto", files ?? cluster, data])
        try await Self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
            "-subj", "/CN=An authority", "-keyout", authorityKey, "-out", authority,
        ])
        let own = try await certificate("localhost", alternative: "DNS:localhost,IP:127.0.0.1")
        for file in [authority, own.certificate, own.key] { try Self.own(file) }
        try append(
            [
                "listen_addresses = '127.0.0.1'", "port = \(port)", "unix_socket_directories = '\(folder.path)'",
                "max_connections = 30", "shared_buffers = '32MB'", "ssl = on", "ssl_ca_file = '\(authority)'",
                "ssl_cert_file = '\(own.certificate)'", "ssl_key_file = '\(own.key)'",
            ] + settings, to: "\(data)/postgresql.conf")
        try await setAccess()
        try await start()
    }

    deinit { kill() }

    private var data: String { folder.path + "/data" }
    /// The folder of the Unix socket.
    public var socket: String { folder.path }
    /// The certificate of the authority that signs the others.
    public var authority: String { folder.path + "/authority.pem" }
    public var authorityKey: String { folder.path + "/authority.key" }

    private static func own(_ path: String) throws {
        guard let owner else { return }
        guard chown(path, owner.user, owner.group) == 0 else { throw Tool.Missing(description: "chown \(path) failed") }
    }

    private func append(_ lines: [String], to path: String) throws {
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(lines.map { "\($0)\n" }.joined().utf8))
        try file.close()
    }

    /// Writes the rules for log-ins, which a running server reads at `SELECT pg_reload_conf()`.
    private func setAccess() async throws {
        let lines = ["local all all trust", "hostssl all +hub all cert", "hostssl all +invited all scram-sha-256"]
        try (lines.joined(separator: "\n") + "\n").write(
            toFile: "\(data)/pg_hba.conf", atomically: false, encoding: .utf8)
    }

    /// The folder of a cluster that no server has used, and that each server copies, because initdb takes ten times as long.
    public static let cluster = Task {
        let folder = "/tmp/hub-cluster-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // `atexit` takes no closure with a context.
        unusedCluster.withLock { $0 = folder }
        atexit { PostgreSQLServer.unusedCluster.withLock { _ = try? FileManager.default.removeItem(atPath: $0) } }
        try own(folder)
        try await run(
            "initdb",
            ["--no-sync", "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C.UTF-8", "-D", folder + "/data"])
        return folder + "/data"
    }
    private static let unusedCluster = Mutex("")

    /// The command line of a program, `cp` or one of PostgreSQL, run by the user of the server.
    private static func words(_ program: String, _ arguments: [String]) -> [String] {
        let words = [program == "cp" ? program : "\(programs ?? "")/\(program)"] + arguments
        guard let owner else { return words }
        return ["/usr/bin/setpriv", "--reuid=\(owner.user)", "--regid=\(owner.group)", "--clear-groups"] + words
    }

    private static func child(_ program: String, _ arguments: [String]) throws -> ChildProcess {
        let words = words(program, arguments)
        // The server's user may not be allowed to enter the current folder of the tests.
        return try ChildProcess("/usr/bin/env", ["--chdir=/", "--"] + words)
    }

    @discardableResult private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let result = try await child(program, arguments).result()
        guard result.code == 0 else {
            throw Tool.Missing(description: "\(program) ended with \(result.code): \(result.errors)")
        }
        return result.output
    }

    private static func openssl(_ arguments: [String]) async throws {
        let result = try await ChildProcess("/usr/bin/env", ["openssl"] + arguments).result()
        guard result.code == 0 else { throw Tool.Missing(description: "openssl: \(result.errors)") }
    }

    // MARK: - Starting and stopping

    /// Starts the server and returns when it accepts connections.
    public func start() async throws {
        while true {
            let child = try Self.child("postgres", ["-D", data])
            if await !child.errorLines(count: 1, where: { $0.contains("ready to accept connections") }).isEmpty {
                return process.withLock { $0 = child }
            }
            // A killed server may still hold its memory for a moment.
            let said = child.errorLines.joined(separator: "\n")
            guard said.contains("pre-existing shared memory") || said.contains("lock file \"postmaster.pid\"") else {
                throw Tool.Missing(description: "PostgreSQL did not start:\n\(said)")
            }
        }
    }

    /// Kills every process of the server at once, as a power cut would.
    public func kill() {
        guard let child = process.withLock({ $0.take() }) else { return }
        let all = [child.pid] + Self.children(of: child.pid)
        for pid in all { Glibc.kill(pid, SIGKILL) }
    }

    /// Ends the server in order.
    ///
    /// - Returns: its files, which stay until the end of the tests, for servers that begin with a copy of them.
    public func stopAndKeepFiles() async throws -> String {
        let child = process.withLock { $0.take() }
        child?.signal(SIGINT)
        _ = await child?.waitForExit()
        let files = "\(try await Self.cluster.value)-\(port)"
        try FileManager.default.moveItem(atPath: data, toPath: files)
        return files
    }

    /// Stops every process of the server, or lets them continue.
    public func freeze(_ isFrozen: Bool) {
        guard let pid = process.withLock({ $0?.pid }) else { return }
        for pid in [pid] + Self.children(of: pid) { Glibc.kill(pid, isFrozen ? SIGSTOP : SIGCONT) }
    }

    private static func children(of parent: pid_t) -> [pid_t] {
        let path = "/proc/\(parent)/task/\(parent)/children"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        return text.split(separator: " ").compactMap { pid_t($0) }
    }

    // MARK: - Use by tests

    /// Runs statements, or commands of psql, as `postgres` or another role at the Unix socket; returns rows with `|` between columns.
    ///
    /// - Throws: an error with the output of psql if one fails.
    @discardableResult public func sql(_ text: String, database: String = "postgres", as user: String = "postgres")
        async throws -> [String]
    {
        let file = try folder.write(text, to: "\(UInt64.random(in: 0 ... .max)).sql")
        defer { unlink(file) }
        try Self.own(file)
        let output = try await Self.run(
            "psql",
            [
                "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", socket, "-p", "\(port)", "-U", user, "-d",
                database, "-f", file,
            ])
        return output.split(separator: "\n").map(String.init)
    }

    /// Makes a key and a certificate, signed by the authority, for a role of this name; only their owner can read the files.
    public func certificate(
        _ name: String, alternative: String? = nil
    ) async throws -> (certificate: String, key: String) {
        let files = (certificate: "\(folder.path)/\(name).pem", key: "\(folder.path)/\(name).key")
        try await Self.openssl(
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
                "-CA", authority, "-CAkey", authorityKey, "-subj", "/CN=\(name)", "-addext",
                "basicConstraints=critical,CA:FALSE", "-keyout", files.key, "-out", files.certificate,
            ] + (alternative.map { ["-addext", "subjectAltName=\($0)"] } ?? []))
        chmod(files.key, 0o600)
        return files
    }
}
