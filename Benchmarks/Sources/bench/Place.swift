import Foundation

/// The paths of a benchmark, and its programs.
final class Place {
    let hub: String
    let programs: String
    let storeIngest: String
    /// The files of stores and brokers, all on one file system.
    let data: URL
    /// The sockets, whose paths must be short.
    let run: URL

    init(hub: String, programs: String, storeIngest: String, data: String) throws {
        func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
        (self.hub, self.programs) = (absolute(hub), absolute(programs))
        self.storeIngest = absolute(storeIngest)
        self.data = URL(fileURLWithPath: absolute(data))
        run = URL(fileURLWithPath: "/tmp/hub-bench-\(getpid())")
        for folder in [self.data, run] { try renew(folder) }
    }

    func renew(_ folder: URL) throws {
        try? FileManager.default.removeItem(at: folder)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    func cleanUp() {
        for folder in [data, run] { try? FileManager.default.removeItem(at: folder) }
    }

    func program(_ name: String) -> String { "\(programs)/\(name)" }

    // MARK: - The hub

    var door: String { "ipc://\(run.path)/hub/door" }
    var feed: String { "ipc://\(run.path)/hub/feed" }
    var store: String { data.appendingPathComponent("hub/hub.sqlite").path }
    var configuration: String { run.appendingPathComponent("hub.conf").path }

    /// Writes a hub.conf with one person and removes the old store.
    ///
    /// - Parameter plugins: the tables of plugins in TOML.
    func prepareHub(livePerSecond: Int? = nil, plugins: String = "") throws {
        try renew(data.appendingPathComponent("hub"))
        let text = """
            [hub]
            data = "\(data.path)/hub"
            run = "\(run.path)/hub"
            log_level = "warning"
            \(livePerSecond.map { "live_per_second = \($0)" } ?? "")
            [person.me]
            \(plugins)
            """
        try text.write(toFile: configuration, atomically: true, encoding: .utf8)
    }

    /// Runs a hub during `body`, with an empty store unless `fill` makes one at its path.
    func withHub<Value>(
        livePerSecond: Int? = nil, plugins: String = "", fill: (_ store: String) throws -> Void = { _ in },
        _ body: (Child) throws -> Value
    ) throws -> Value {
        try prepareHub(livePerSecond: livePerSecond, plugins: plugins)
        try fill(store)
        try? FileManager.default.removeItem(at: run.appendingPathComponent("hub"))
        let child = try Child(hub, ["run", "--config", configuration], in: run)
        defer { child.stop() }
        let log = run.appendingPathComponent("log")
        try wait(upTo: 60, for: "the hub") {
            (try? String(contentsOf: log, encoding: .utf8))?.contains("hub: ready") ?? false
        }
        return try body(child)
    }

    /// Returns the records a second of a source that gives `records` in batches of `size` to an empty hub.
    func ingest(_ records: Int, batch size: Int) throws -> Double {
        try withHub { _ in try figure("records_per_s", "source", door, "\(records)", "\(size)") }
    }

    func figure(_ name: String, _ program: String, _ arguments: String...) throws -> Double {
        guard let value = try figures(self.program(program), arguments)[name] else {
            throw Trouble("\(program) did not say \(name)")
        }
        return value
    }

    // MARK: - Others

    /// Runs `relay` (a C program) or `proxy` (zmq_proxy) during `body`, for messages that `live` counts.
    func withRouter<Value>(_ kind: String, _ body: (_ door: String, _ feed: String) throws -> Value) throws -> Value {
        let (door, feed) = (run.appendingPathComponent("in"), run.appendingPathComponent("out"))
        for socket in [door, feed] { try? FileManager.default.removeItem(at: socket) }
        let child = try Child(program("router"), [kind, "ipc://\(door.path)", "ipc://\(feed.path)"], in: run)
        defer { child.stop() }
        try wait(upTo: 5, for: kind) { FileManager.default.fileExists(atPath: feed.path) }
        return try body("ipc://\(door.path)", "ipc://\(feed.path)")
    }

    static let mosquittoSettings = """
        allow_anonymous true
        persistence true
        autosave_interval 1800
        max_inflight_messages 1000
        max_queued_messages 0
        """

    func mosquitto(_ records: Int) throws -> Double {
        guard let server = find("mosquitto") else { throw Trouble("mosquitto is not installed") }
        let folder = data.appendingPathComponent("mosquitto")
        try renew(folder)
        let socket = run.appendingPathComponent("mqtt").path
        let text =
            "listener 0 \(socket)\n\(Self.mosquittoSettings)\npersistence_location \(folder.path)/\nuser \(NSUserName())\n"
        try text.write(to: folder.appendingPathComponent("conf"), atomically: true, encoding: .utf8)
        let child = try Child(server, ["-c", folder.path + "/conf"], in: folder)
        defer { child.stop() }
        try wait(upTo: 5, for: "mosquitto") { FileManager.default.fileExists(atPath: socket) }
        return try figure("records_per_s", "mqtt", socket, "\(records)")
    }

    func jetStream(_ records: Int) throws -> Double {
        guard let server = find("nats-server") else { throw Trouble("nats-server is not installed") }
        let folder = data.appendingPathComponent("jetstream")
        try renew(folder)
        let port = "\(20_000 + getpid() % 20_000)"
        let child = try Child(server, ["-js", "-sd", folder.path, "-a", "127.0.0.1", "-p", port], in: folder)
        defer { child.stop() }
        return try figure("records_per_s", "jetstream", "nats://127.0.0.1:\(port)", "\(records)")
    }

    /// The path of a program in the folders of PATH and in the usual folders of servers.
    func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/sbin", "/usr/local/sbin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
